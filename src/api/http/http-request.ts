import { HaloError } from '../../core/failure/errors.ts';
import type { PrdFile } from '../../core/prd/prd.ts';
import { isRecord } from '../../lib/guards.ts';
import { toWirePrd } from '../operations/schemas.ts';
import { fromWireError } from './wire-error.ts';

/** The URL of the API, e.g. http://127.0.0.1:7070, and its token. */
export interface Server {
  url: string;
  token: string;
  /** The sender is an agent that may not decide: the server grants it less than its token. */
  undecided?: true;
}

/** A header of requests of an agent that may not decide. */
export const UNDECIDED_HEADER = 'halo-undecided';

export interface RequestOptions {
  query?: Record<string, string>;
  /** Makes it a POST with a JSON body, in which PRDs have their content in base64. */
  body?: unknown;
  signal?: AbortSignal;
}

/** Maximum time until a response begins. Reads and streams begin within seconds; a submit may clone a repository first. */
const READ_TIMEOUT_MS = 60_000;
const WORK_TIMEOUT_MS = 15 * 60_000;

export async function requestJson<T>(server: Server, path: string, options: RequestOptions = {}): Promise<T> {
  const response = await request(server, path, options);
  try {
    return (await response.json()) as T;
  } catch (cause) {
    throw notHalo(server, cause);
  }
}

/** Returns the response, if its status is 2xx. Throws API_UNREACHABLE, API_REFUSED or what the server threw. */
export async function request(server: Server, path: string, options: RequestOptions = {}): Promise<Response> {
  const url = new URL(server.url.replace(/(?<!\/)\/+$/, '') + path);
  for (const [key, value] of Object.entries(options.query ?? {})) url.searchParams.set(key, value);
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(), options.body === undefined ? READ_TIMEOUT_MS : WORK_TIMEOUT_MS);
  const response = await fetch(url, {
    method: options.body === undefined ? 'GET' : 'POST',
    headers: {
      authorization: `Bearer ${server.token}`,
      ...(server.undecided === true ? { [UNDECIDED_HEADER]: '1' } : {}),
      ...(options.body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(options.body === undefined
      ? {}
      : {
          body: JSON.stringify(options.body, (_key, value: unknown) => (isPrdFile(value) ? toWirePrd(value) : value)),
        }),
    signal: AbortSignal.any([late.signal, ...(options.signal === undefined ? [] : [options.signal])]),
    redirect: 'error',
  })
    .catch((cause: unknown) => {
      throw unreachable(server, cause);
    })
    .finally(() => clearTimeout(timer));
  if (response.ok) return response;
  const body: unknown = await response.json().catch(() => undefined);
  throw fromWireError(body) ?? notHalo(server, undefined);
}

/** Yields the frames of a stream, one JSON object per line. Throws the error of an error frame. */
export async function* requestFrames(server: Server, path: string, options: RequestOptions): AsyncGenerator<object> {
  const response = await request(server, path, options);
  for await (const line of readLines(server, response)) {
    if (line === '') continue;
    const frame = JSON.parse(line) as object;
    if ('error' in frame) throw fromWireError(frame.error) ?? notHalo(server, undefined);
    yield frame;
  }
}

async function* readLines(server: Server, response: Response): AsyncGenerator<string> {
  if (response.body === null) return;
  let rest = '';
  try {
    for await (const text of response.body.pipeThrough(new TextDecoderStream())) {
      const lines = (rest + text).split('\n');
      rest = lines.pop() ?? '';
      yield* lines;
    }
  } catch (cause) {
    throw unreachable(server, cause);
  }
}

function unreachable(server: Server, cause: unknown): HaloError {
  return new HaloError('API_UNREACHABLE', `The halo server at ${server.url} does not answer.`, {
    hint: 'Start it with `halo serve` or `halo up`, or unset HALO_URL to work on this machine.',
    cause,
  });
}

function notHalo(server: Server, cause: unknown): HaloError {
  return new HaloError('API_UNREACHABLE', `The server at ${server.url} is not a halo server.`, {
    hint: 'Check HALO_URL. It must have scheme, host and port, e.g. http://127.0.0.1:7070.',
    cause,
  });
}

function isPrdFile(value: unknown): value is PrdFile {
  return isRecord(value) && value.bytes instanceof Uint8Array;
}
