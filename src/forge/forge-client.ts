import type { z } from 'zod';
import { HaloError } from '../core/failure/errors.ts';
import { safeLine } from '../core/text/safe-text.ts';
import { doubledDelay, sleep } from '../lib/async.ts';
import { isRecord } from '../lib/guards.ts';
import { openConnections, type Connections } from '../lib/network/connections.ts';
import { parseRetryAfter, sendRequest } from '../lib/network/send-request.ts';
import { tryParseJson } from '../lib/parse-json.ts';

/** A request that an adapter may make, as in `GET /repos/{owner}/{repo}`. */
export type Route = `${'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'} /${string}`;

export interface ForgeAccess {
  /** Base URL of the API, without a slash at its end. */
  baseUrl: string;
  /** Headers with the token. */
  headers: Record<string, string>;
  /** Values for names in all routes: those of the project. */
  params?: Record<string, string>;
  /** How long a request waits for a rate limit at most, in ms. */
  maxWaitMs?: number;
  /** How long a response may take, and how often a read is tried. */
  requestMs?: number;
  maxTries?: number;
  /** Ends all requests, and the waits before them. */
  signal?: AbortSignal;
  /** How to reach the forge; directly if absent. */
  connections?: Connections;
  /** Waits, in ms, for the end of a rate limit and before a request is repeated. */
  wait?: (ms: number) => Promise<void>;
}

interface ForgeCall {
  /** Values for the names in the route. */
  params?: Record<string, string | number>;
  query?: Record<string, string | number>;
  body?: unknown;
  /** The list is below this key of the response; absent: the response is the list. */
  listKey?: string;
  /** A redirect is a result: what was asked for is elsewhere now. It is not followed. */
  mayMove?: boolean;
}

export interface ForgeResponse {
  value: unknown;
  /** Whether there is another page. */
  hasNext: boolean;
  /** The response was 404 or 410, or with `mayMove` a redirect. */
  isMissing: boolean;
  /** What GitHub says that a classic token may do, as in `repo, read:org`; empty: nothing. */
  scopes: string | undefined;
}

const REQUEST_MS = 30_000;
const MAX_RESPONSE_BYTES = 16 * 1024 * 1024;
const MAX_PAGES = 20;
const MAX_TRIES = 4;
const FIRST_WAIT_MS = 250;
const DEFAULT_WAIT_MS = 15 * 60_000;
/** Longer waits are shortened to this one: a forge may state any number. */
const MAX_WAIT_MS = 30 * 86_400_000;
/** Wait time after a rate limit without a stated duration. */
const UNKNOWN_WAIT_MS = 60_000;
const MAX_CACHED = 200;
const REDIRECTS = [301, 302, 307, 308];

/**
 * Sends requests to the API of a forge: only the given routes, below the base URL, without following redirects, with limits
 * of time, size and pages. Waits for rate limits, and repeats reads after faults of the server. Unchanged responses are not
 * transferred again.
 */
export class ForgeClient<R extends string> {
  private readonly routes: Record<R, Route>;
  private readonly access: ForgeAccess;
  private readonly connections: Connections;
  private readonly cached = new Map<string, { etag: string; result: ForgeResponse }>();

  constructor(routes: Record<R, Route>, access: ForgeAccess) {
    this.routes = routes;
    this.access = access;
    this.connections = access.connections ?? openConnections();
  }

  /** One response. Throws FORGE_FAILED for every status that is not a success, except 404 and 410. */
  async call(route: R, { params = {}, query = {}, body, mayMove = false }: ForgeCall = {}): Promise<ForgeResponse> {
    const [method = '', path = ''] = this.routes[route].split(' ');
    const url = `${this.access.baseUrl}${fillIn(path, { ...this.access.params, ...params })}${queryOf(query)}`;
    const isRead = method === 'GET';
    const { maxTries = MAX_TRIES, maxWaitMs = DEFAULT_WAIT_MS, signal } = this.access;
    const { wait = (ms: number) => sleep(ms, signal) } = this.access;
    for (let nth = 1; ; nth++) {
      const known = isRead ? this.cached.get(url) : undefined;
      const sent = await this.send({ method, url, body, etag: known?.etag }).catch((error: unknown) => {
        if (!isRead || nth >= maxTries || signal?.aborted === true) throw unreachable(this.access.baseUrl, error);
      });
      if (sent === undefined) {
        await wait(doubledDelay(nth, FIRST_WAIT_MS));
        continue;
      }
      const { response, value } = sent;
      if (response.status === 304 && known !== undefined) return known.result;
      const waitMs = rateLimitWait(response, value);
      if (waitMs !== undefined) {
        if (waitMs > maxWaitMs || nth >= maxTries) throw new ForgeLimited(this.access.baseUrl, waitMs);
        await wait(waitMs);
        continue;
      }
      if (response.status >= 500 && isRead && nth < maxTries) {
        await wait(doubledDelay(nth, FIRST_WAIT_MS));
        continue;
      }
      const isMoved = mayMove && REDIRECTS.includes(response.status);
      const isMissing = response.status === 404 || response.status === 410 || isMoved;
      if (!response.ok && !isMissing) throw refused(this.access.baseUrl, { response, value });
      const scopes = response.headers.get('x-oauth-scopes') ?? undefined;
      const result: ForgeResponse = { value, hasNext: hasNextPage(response), isMissing, scopes };
      const etag = response.headers.get('etag');
      if (isRead && etag !== null && response.ok) this.remember(url, { etag, result });
      return result;
    }
  }

  /** The value of a response. Throws FORGE_FAILED also for 404 and 410. */
  async require(route: R, call: ForgeCall = {}): Promise<unknown> {
    const { value, isMissing } = await this.call(route, call);
    if (isMissing) throw notFound(this.access.baseUrl);
    return value;
  }

  /** A part of a response. Throws FORGE_FAILED if it has another form. */
  parse<T>(shape: z.ZodType<T>, value: unknown): T {
    const { data, success } = shape.safeParse(value);
    if (!success) throw malformed(this.access.baseUrl);
    return data;
  }

  /** All pages of a list. Throws FORGE_FAILED if there are too many. */
  async list(route: R, call: ForgeCall = {}): Promise<unknown[]> {
    const all: unknown[] = [];
    for await (const page of this.pages(route, call)) {
      if (page === undefined) throw tooLong(this.access.baseUrl);
      all.push(...page);
    }
    return all;
  }

  /** The pages of a list that halo reads, without the rest. Throws FORGE_FAILED. */
  async listFirst(route: R, call: ForgeCall = {}): Promise<unknown[]> {
    const all: unknown[] = [];
    for await (const page of this.pages(route, call)) all.push(...(page ?? []));
    return all;
  }

  /** The pages of a list; after the last one that halo reads, undefined if there are more. Throws FORGE_FAILED. */
  async *pages(route: R, { query = {}, listKey, ...call }: ForgeCall = {}): AsyncGenerator<unknown[] | undefined> {
    for (let page = 1; page <= MAX_PAGES; page++) {
      const { value, hasNext, isMissing } = await this.call(route, { ...call, query: { ...query, page } });
      if (isMissing) throw notFound(this.access.baseUrl);
      const list = listKey === undefined ? value : isRecord(value) ? (value[listKey] ?? []) : undefined;
      if (!Array.isArray(list)) throw malformed(this.access.baseUrl);
      yield list as unknown[];
      if (!hasNext) return;
    }
    yield undefined;
  }

  private async send({
    method,
    url,
    body,
    etag,
  }: {
    method: string;
    url: string;
    body: unknown;
    etag?: string | undefined;
  }) {
    const { requestMs = REQUEST_MS, signal } = this.access;
    const late = AbortSignal.timeout(requestMs);
    const response = await sendRequest(this.connections, url, {
      method,
      signal: signal === undefined ? late : AbortSignal.any([late, signal]),
      headers: {
        accept: 'application/json',
        'accept-encoding': 'identity',
        'user-agent': 'halo',
        ...this.access.headers,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...(etag === undefined ? {} : { 'if-none-match': etag }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return { response, value: await readLimited(response, MAX_RESPONSE_BYTES) };
  }

  private remember(url: string, entry: { etag: string; result: ForgeResponse }): void {
    const [oldest] = this.cached.keys();
    if (this.cached.size >= MAX_CACHED && oldest !== undefined) this.cached.delete(oldest);
    this.cached.set(url, entry);
  }
}

function fillIn(path: string, params: Record<string, string | number>): string {
  return path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(params[name] ?? '')));
}

function queryOf(query: Record<string, string | number>): string {
  const entries = Object.entries(query).map(([name, value]): [string, string] => [name, String(value)]);
  return entries.length === 0 ? '' : `?${new URLSearchParams(entries).toString()}`;
}

/** URLs in responses are never followed: the next page is a number. */
function hasNextPage({ headers }: Response): boolean {
  const next = headers.get('x-next-page');
  return next === null ? /rel="?next"?/.test(headers.get('link') ?? '') : next !== '';
}

/** Undefined: the response is not about a rate limit. GitHub's secondary limits may show only in the message. */
function rateLimitWait({ status, headers }: Response, value: unknown): number | undefined {
  const after = parseRetryAfter(headers.get('retry-after'));
  const remaining = headers.get('x-ratelimit-remaining') ?? headers.get('ratelimit-remaining');
  const isNamed = after !== undefined || remaining === '0' || /\brate limit\b/i.test(reasonOf(value) ?? '');
  if (status !== 429 && !(status === 403 && isNamed)) return undefined;
  const reset = Number(headers.get('x-ratelimit-reset') ?? headers.get('ratelimit-reset') ?? NaN);
  if (after !== undefined) return after;
  // While requests remain, the time is that of another limit.
  const isKnown = Number.isFinite(reset) && (remaining === null || remaining === '0');
  return isKnown ? Math.max(1000, reset * 1000 - Date.now() + 1000) : UNKNOWN_WAIT_MS;
}

/** The forge limits requests, for longer than the request may wait. */
export class ForgeLimited extends HaloError {
  readonly waitMs: number;

  constructor(baseUrl: string, waitMs: number) {
    const until = new Date(Date.now() + Math.min(waitMs, MAX_WAIT_MS)).toISOString();
    const message = `The forge ${baseUrl} accepts no requests before ${until}: its rate limit is used up.`;
    super('FORGE_FAILED', message, { hint: 'Try again after that time, or use a token with a higher limit.' });
    this.waitMs = waitMs;
  }
}

/** How long to wait after a failed request, in ms: for as long as the forge limits requests, at least and at most this. */
export function waitAfter(error: unknown, { leastMs, mostMs }: { leastMs: number; mostMs: number }): number {
  return Math.min(mostMs, Math.max(leastMs, error instanceof ForgeLimited ? error.waitMs : 0));
}

function unreachable(baseUrl: string, cause: unknown): HaloError {
  if (cause instanceof HaloError) return cause;
  const { message, cause: inner } = cause as Error;
  const why = inner instanceof Error && inner.message !== '' ? inner.message : message;
  return new HaloError('FORGE_FAILED', `The forge ${baseUrl} does not answer: ${safeLine(why)}.`, {
    hint: 'Check `url` below [forge] in config.toml of HALO_HOME, and the network.',
    cause,
  });
}

function refused(baseUrl: string, { response: { status }, value }: { response: Response; value: unknown }): HaloError {
  const said = reasonOf(value);
  const why = said === undefined ? '' : ` ${JSON.stringify(safeLine(said, 200))}`;
  const hint =
    status === 401 || status === 403
      ? 'Check the token that `token_env` below [forge] names, and its permissions.'
      : 'Check the project and the settings below [forge] in config.toml of HALO_HOME.';
  return new HaloError('FORGE_FAILED', `The forge ${baseUrl} answered ${status}${why}.`, { hint, cause: said });
}

/** The text of an error; GitLab names a missing scope as OAuth 2.0 does. */
function reasonOf(value: unknown): string | undefined {
  const { message, error_description: description } = isRecord(value) ? value : {};
  return [message, description].find((each) => typeof each === 'string');
}

function tooLong(baseUrl: string): HaloError {
  return new HaloError('FORGE_FAILED', `The list at ${baseUrl} has more than ${MAX_PAGES} pages.`, {
    hint: 'Use a label that fewer issues have.',
  });
}

function notFound(baseUrl: string): HaloError {
  return new HaloError('FORGE_FAILED', `The forge ${baseUrl} has no such project, or the token may not read it.`, {
    hint: 'Check the name of the project and the permissions of the token.',
  });
}

function malformed(baseUrl: string): HaloError {
  return new HaloError('FORGE_FAILED', `The forge ${baseUrl} sent a response that halo does not understand.`, {
    hint: 'Check `url` below [forge]: it is the base URL of the API.',
  });
}

/** Reads the JSON of a response; undefined if it is not JSON. Throws FORGE_FAILED if it is longer than `maxBytes`. */
async function readLimited(response: Response, maxBytes: number): Promise<unknown> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += (chunk as Uint8Array).byteLength;
    if (bytes > maxBytes)
      throw new HaloError('FORGE_FAILED', `A response of the forge is longer than ${maxBytes} bytes.`, {
        hint: 'Use a label that fewer issues have.',
      });
    chunks.push(chunk as Uint8Array);
  }
  return tryParseJson(Buffer.concat(chunks).toString('utf8'));
}
