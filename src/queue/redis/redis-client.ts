import { Redis, ReplyError, type RedisOptions } from 'ioredis';
import { HaloError } from '../../core/failure/errors.ts';
import { tryDecodeComponent } from '../../core/text/address-credentials.ts';
import { doubledDelay, withTimeout } from '../../lib/async.ts';
import { isConfidential } from '../../lib/network/credential-target.ts';

const PING_TIMEOUT_MS = 4000;
/** How long a closing connection waits for the server and keeps the process alive. */
const DISCONNECT_MS = 100;

/**
 * A connection without a reply for this time counts as dead and is reopened, because a peer may vanish without closing
 * it. Longer than the ten seconds for which a worker blocks while it waits for jobs.
 */
const SILENCE_TIMEOUT_MS = 15_000;

/** Opens a client that reconnects without limit. Commands wait for the connection unless options change that. */
export function openRedisClient(address: RedisAddress, options: RedisOptions = {}): Redis {
  const client = new Redis({
    retryStrategy: (times) => doubledDelay(times, 50, 2000),
    disconnectTimeout: DISCONNECT_MS,
    socketTimeout: SILENCE_TIMEOUT_MS,
    ...address.options,
    ...options,
    replyMapping: 'legacy',
  });
  // Without a listener a lost connection would end the process. Callers notice it by failing commands.
  client.on('error', () => undefined);
  return client;
}

/** Opens a client and waits for its first reply. Throws REDIS_UNAVAILABLE within seconds. */
export async function connectRedisClient(address: RedisAddress, options: RedisOptions = {}): Promise<Redis> {
  const { client, failure } = await tryConnect(address, options);
  if (failure === undefined) return client;
  disconnectClient(client);
  throw unavailable(address, failure.error);
}

/** Why a server did not answer a ping: it was silent, still loads its data, or refused the connection or command. */
export interface PingFailure {
  kind: 'silent' | 'loading' | 'refused';
  error: Error;
}

/** Pings a server. Returns undefined when the server answered. */
export async function findPingFailure(address: RedisAddress): Promise<PingFailure | undefined> {
  const { client, failure } = await tryConnect(address, {});
  disconnectClient(client);
  return failure;
}

/** The first connection is tried once. */
const FIRST = {
  connectTimeout: PING_TIMEOUT_MS,
  retryStrategy: () => null,
  maxRetriesPerRequest: 0,
  // So that a server that is still loading its data replies with LOADING immediately.
  enableReadyCheck: false,
} satisfies RedisOptions;

/** Opens a client and pings. Unless that fails, the client behaves from then on as one of `openRedisClient`. */
async function tryConnect(
  address: RedisAddress,
  options: RedisOptions,
): Promise<{ client: Redis; failure?: PingFailure }> {
  let failure: Error | undefined;
  const client = openRedisClient(address, { ...options, lazyConnect: true });
  const lasting = { ...client.options };
  Object.assign(client.options, FIRST);
  const note = (error: Error) => (failure = error);
  client.on('error', note);
  try {
    const ping = client.connect().then(() => client.ping());
    if ((await withTimeout(PING_TIMEOUT_MS, ping)) !== 'late') {
      client.off('error', note);
      Object.assign(client.options, lasting);
      return { client };
    }
    const error = failure ?? silence();
    return { client, failure: { kind: failure === undefined ? 'silent' : 'refused', error } };
  } catch (thrown) {
    const error = failure ?? (thrown as Error);
    const loads = isReplyError(error) && error.message.startsWith('LOADING');
    return { client, failure: { kind: loads ? 'loading' : 'refused', error } };
  }
}

/** Disconnects, unless the connection has ended: ioredis would keep the process alive for `DISCONNECT_MS` to end it again. */
export function disconnectClient(client: Redis): void {
  if (client.status !== 'end') client.disconnect();
}

function silence(): Error {
  return new Error(`no answer within ${PING_TIMEOUT_MS / 1000} s`);
}

/** What an error of a command of Redis means to users. `name`: of its address. */
export function toRedisError(name: string, error: unknown): HaloError {
  if (error instanceof HaloError) return error;
  const refused = (why: string, hint: string) =>
    new HaloError('REDIS_UNAVAILABLE', `Redis at ${name} ${why}.`, { hint, cause: error });
  if (isOutOfMemory(error))
    return refused(
      'is out of memory and accepts no more jobs',
      'Raise its maxmemory, then try again. No data is lost, and active runs continue.',
    );
  if (isReplyError(error) && error.message.startsWith('MISCONF'))
    return refused(`cannot write to its disk: ${error.message}`, 'Free space on its disk. No data is lost.');
  if (isReplyError(error))
    return refused(`accepts no jobs: ${error.message}`, 'Fix the cause, then try again. No data is lost.');
  return refused('does not answer', 'Check that Redis is running, then try again. No data is lost.');
}

function unavailable(address: RedisAddress, cause: Error): HaloError {
  if (isReplyError(cause) && cause.message.startsWith('MISCONF')) return toRedisError(address.name, cause);
  const code = (cause as NodeJS.ErrnoException).code ?? '';
  const what = /NOAUTH|WRONGPASS|invalid password/.test(cause.message)
    ? 'it rejects the user or password'
    : REASONS[code];
  return new HaloError(
    'REDIS_UNAVAILABLE',
    `Could not connect to Redis at ${address.name}: ${what ?? cause.message}.`,
    {
      hint: 'Check HALO_REDIS_URL and that Redis is running there, or unset it so that halo starts its own server.',
      cause,
    },
  );
}

const REASONS: Record<string, string> = {
  ECONNREFUSED: 'the connection was refused',
  ENOENT: 'the socket does not exist',
  ENOTFOUND: 'the host name does not exist',
  EAI_AGAIN: 'the host name could not be resolved',
  EACCES: 'permission was denied',
  ECONNRESET: 'it closed the connection',
};

/** Whether Redis received the command and replied with an error, for example because its memory or disk is full. */
export function isReplyError(error: unknown): error is Error {
  return error instanceof ReplyError;
}

/** Whether Redis rejected the command because it is out of memory. */
function isOutOfMemory(error: unknown): boolean {
  return isReplyError(error) && /\bOOM\b/.test(error.message);
}

/** The address of a Redis server: client options, and a name for users without secrets. */
export interface RedisAddress {
  options: RedisOptions;
  name: string;
}

const HINT =
  'Set it to redis://host:6379, redis://:password@host:6379/0, rediss://host:6379 or unix:///path/redis.sock.';

/** Parses HALO_REDIS_URL. Throws REDIS_UNAVAILABLE when it is not a Redis address. */
export function parseRedisUrl(text: string): RedisAddress {
  const [, user = '', password = '', socket] = /^(?:unix:\/\/(?:([^:@/]*):([^@/]*)@)?)?(\/.*)$/.exec(text) ?? [];
  if (socket !== undefined) {
    const { options, name } = socketAddress(tryDecodeComponent(socket));
    return { options: { ...options, ...credentialsOf(user, password) }, name };
  }
  let url: URL;
  try {
    url = new URL(text);
  } catch (error) {
    throw new HaloError('REDIS_UNAVAILABLE', 'HALO_REDIS_URL is not a URL.', { hint: HINT, cause: error });
  }
  const db = url.pathname.replace(/^\//, '');
  if (!['redis:', 'rediss:'].includes(url.protocol) || url.hostname === '' || !/^\d{0,5}$/.test(db))
    throw new HaloError('REDIS_UNAVAILABLE', `HALO_REDIS_URL (${url.protocol}//…) is not a Redis address.`, {
      hint: HINT,
    });
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const port = url.port === '' ? 6379 : Number(url.port);
  const tls = url.protocol === 'rediss:' ? { tls: { servername: host } } : {};
  return {
    options: { host, port, db: Number(db), ...credentialsOf(url.username, url.password), ...tls },
    name: `${url.protocol}//${url.hostname}:${port}/${db === '' ? 0 : db}`,
  };
}

/** Whether the password crosses the network without encryption. */
export function sendsReadablePassword({ options }: RedisAddress): boolean {
  const { password, tls, host } = options;
  if (password === undefined || tls !== undefined || host === undefined) return false;
  return !isConfidential(new URL(`http://${host.includes(':') ? `[${host}]` : host}`));
}

function credentialsOf(user: string, password: string): { username?: string; password?: string } {
  return {
    ...(user === '' ? {} : { username: tryDecodeComponent(user) }),
    ...(password === '' ? {} : { password: tryDecodeComponent(password) }),
  };
}

export function socketAddress(path: string): RedisAddress {
  return { options: { path }, name: `unix://${path}` };
}
