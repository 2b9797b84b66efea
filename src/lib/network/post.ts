import { lookup } from 'node:dns/promises';
import { isIP, type LookupFunction } from 'node:net';
import { networkInterfaces } from 'node:os';
import { describeNonPublic } from '../ip-range.ts';
import type { Connections } from './connections.ts';
import { parseRetryAfter, sendRequest } from './send-request.ts';

/** Why a message was not delivered. */
export class DeliveryError extends Error {
  override readonly name = 'DeliveryError';
  /** When the endpoint wants to be asked again, in ms. */
  readonly retryAfterMs: number | undefined;
  /** The endpoint wants no more messages. */
  readonly isGone: boolean;

  /** The endpoint refuses this message, and would refuse it again. */
  readonly isRefused: boolean;

  constructor(message: string, { retryAfterMs, isGone = false, isRefused = false, cause }: DeliveryErrorOptions = {}) {
    super(message, { cause });
    this.isRefused = isRefused;
    this.retryAfterMs = retryAfterMs;
    this.isGone = isGone;
  }
}

interface DeliveryErrorOptions {
  retryAfterMs?: number | undefined;
  isGone?: boolean;
  isRefused?: boolean;
  cause?: unknown;
}

export interface PostOptions {
  connections: Connections;
  /** Allows addresses that are not public: of this machine and of private networks. */
  allowPrivate: boolean;
}

interface Post {
  url: string;
  headers: Record<string, string>;
  body: string;
  signal: AbortSignal;
}

const MAX_ANSWER_CHARS = 200;
/** Statuses with which servers refuse a message for what it contains. */
const REFUSALS: readonly number[] = [400, 413, 415, 422];

/**
 * Sends one POST request. The name is resolved once and its addresses are checked, so that a name cannot lead to a service
 * of this machine or its network; redirects are not followed. Throws DeliveryError.
 */
export async function post({ connections, allowPrivate }: PostOptions, { url, ...request }: Post): Promise<void> {
  const { hostname, port, protocol } = new URL(url);
  const host = hostname.replace(/^\[|\]$/g, '');
  const secure = protocol === 'https:';
  const target = { host, port: Number(port || (secure ? 443 : 80)) };
  let response: Response;
  try {
    const isProxied = connections.isProxied(secure ? 'https:' : 'http:', target);
    // A proxy resolves the name itself, and may know names that this machine does not.
    const addresses = isProxied
      ? await allowedAddresses(host, allowPrivate).catch(ignoreLookup)
      : await allowedAddresses(host, allowPrivate);
    const pinned = isProxied ? undefined : pinnedTo(addresses);
    response = await sendRequest(connections, url, { method: 'POST', ...request, ...(pinned && { lookup: pinned }) });
  } catch (error) {
    if (error instanceof DeliveryError) throw error;
    throw new DeliveryError(`${host} cannot be reached: ${messageOf(error)}`, { cause: error });
  }
  const text = (await readStart(response)).replace(/\s+/g, ' ').trim();
  if (response.ok) return;
  throw new DeliveryError(`${host} answered ${response.status}${text === '' ? '' : `: ${text}`}`, {
    retryAfterMs: parseRetryAfter(response.headers.get('retry-after')),
    isGone: response.status === 410,
    isRefused: REFUSALS.includes(response.status),
  });
}

/** The addresses of a host, if they may be used. Throws DeliveryError, and lookup errors. */
export async function allowedAddresses(host: string, allowPrivate: boolean): Promise<string[]> {
  const addresses = isIP(host) === 0 ? (await lookup(host, { all: true })).map(({ address }) => address) : [host];
  const mine = Object.values(networkInterfaces()).flatMap((list) => (list ?? []).map(({ address }) => address));
  for (const address of allowPrivate ? [] : addresses) {
    const kind = describeNonPublic(address) ?? (mine.includes(address) ? 'of this machine' : undefined);
    if (kind === undefined) continue;
    const which = address === host ? host : `${host} (${address})`;
    throw new DeliveryError(`${which} is not a public address (${kind}); \`allow_private\` allows it`);
  }
  return addresses;
}

function ignoreLookup(error: unknown): string[] {
  if (error instanceof DeliveryError) throw error;
  return [];
}

/** A lookup that returns only addresses that were checked. */
function pinnedTo(addresses: readonly string[]): LookupFunction {
  const entries = addresses.map((address) => ({ address, family: isIP(address) }));
  return (_host, options, done) => {
    const [first] = entries;
    if (first === undefined) return done(Object.assign(new Error('no address'), { code: 'ENOTFOUND' }), []);
    if (options.all === true) return done(null, entries);
    done(null, first.address, first.family);
  };
}

async function readStart(response: Response): Promise<string> {
  const reader = response.body?.getReader() as ReadableStreamDefaultReader<Uint8Array> | undefined;
  if (reader === undefined) return '';
  try {
    const { value } = await reader.read();
    return Buffer.from(value ?? [])
      .toString('utf8')
      .slice(0, MAX_ANSWER_CHARS);
  } catch {
    return '';
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
