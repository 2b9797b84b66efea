import { Redis, type RedisOptions } from 'ioredis';
import { HaloError } from '../core/failure/errors.ts';
import { atMost } from '../lib/at-most.ts';
import type { RedisAddress } from './redis/redis-address.ts';

const ANSWER_MS = 4000;
/** How long a connection that is left waits for the server's goodbye: it keeps the process alive meanwhile. */
const GOODBYE_MS = 100;

/**
 * How long a server may owe an answer before its connection counts as dead and is opened anew: a peer that is gone
 * without a word would be waited for for ever. Longer than the ten seconds for which a worker's wait for jobs blocks.
 */
const SILENCE_MS = 15_000;

/** A client that reconnects for ever; its commands wait for the connection unless options say otherwise. */
export function openClient(address: RedisAddress, options: RedisOptions = {}): Redis {
  const client = new Redis({
    retryStrategy: (times) => Math.min(50 * 2 ** Math.min(times, 6), 2000),
    disconnectTimeout: GOODBYE_MS,
    socketTimeout: SILENCE_MS,
    ...address.options,
    ...options,
    replyMapping: 'legacy',
  });
  // Without a listener a lost connection would end the process; users of the client see failing commands.
  client.on('error', () => undefined);
  return client;
}

/** A client that has answered. Throws REDIS_UNAVAILABLE within seconds when it does not. */
export async function openTested(address: RedisAddress, options: RedisOptions = {}): Promise<Redis> {
  const failure = await tryPing(address);
  if (failure !== undefined) throw unavailable(address, failure);
  const client = openClient(address, options);
  try {
    await answered(client.ping(), SILENCE_MS);
    return client;
  } catch (error) {
    client.disconnect();
    throw unavailable(address, error as Error);
  }
}

/** Why a server does not answer a ping, or undefined when it does. */
export async function tryPing(address: RedisAddress): Promise<Error | undefined> {
  let failure: Error | undefined;
  const client = new Redis({
    ...address.options,
    lazyConnect: true,
    connectTimeout: ANSWER_MS,
    disconnectTimeout: GOODBYE_MS,
    retryStrategy: () => null,
    maxRetriesPerRequest: 0,
    // A server that still reads its files answers so, instead of keeping us.
    enableReadyCheck: false,
    replyMapping: 'legacy',
  });
  client.on('error', (error: Error) => (failure = error));
  try {
    await answered(
      client.connect().then(() => client.ping()),
      ANSWER_MS,
    );
    return undefined;
  } catch (error) {
    return failure ?? (error as Error);
  } finally {
    client.disconnect();
  }
}

async function answered(ping: Promise<unknown>, ms: number): Promise<void> {
  if ((await atMost(ms, ping)) === 'late') throw new Error(`no answer within ${ms / 1000} s`);
}

function unavailable(address: RedisAddress, cause: Error): HaloError {
  const code = (cause as NodeJS.ErrnoException).code ?? '';
  const what = /NOAUTH|WRONGPASS|invalid password/.test(cause.message)
    ? 'it refuses the user or password'
    : REASONS[code];
  return new HaloError('REDIS_UNAVAILABLE', `Redis at ${address.name} is not usable: ${what ?? cause.message}.`, {
    hint: 'Check HALO_REDIS_URL and that Redis runs there, or unset it to let halo start its own.',
    cause,
  });
}

const REASONS: Record<string, string> = {
  ECONNREFUSED: 'nothing listens there',
  ENOENT: 'the socket is not there',
  ENOTFOUND: 'no such host',
  EAI_AGAIN: 'the host name cannot be looked up',
  EACCES: 'permission denied',
  ECONNRESET: 'it closed the connection',
};
