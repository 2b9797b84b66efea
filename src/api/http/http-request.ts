import { HaloError } from '../../core/failure/errors.ts';
import { fromWireError, type WireError } from '../wire.ts';

/** Where the API is, e.g. http://127.0.0.1:7070, and the token it asks for. */
export interface Server {
  url: string;
  token: string;
}

export interface RequestOptions {
  query?: Record<string, string>;
  /** Makes it a POST with a JSON body. */
  body?: unknown;
  signal?: AbortSignal;
}

/** Longest wait for the beginning of an answer. Streams begin within seconds; a submit may clone a repository first. */
const ANSWER_MS = 60_000;
const WORK_MS = 15 * 60_000;

export async function requestJson<T>(server: Server, path: string, options: RequestOptions = {}): Promise<T> {
  const response = await request(server, path, options);
  try {
    return (await response.json()) as T;
  } catch (cause) {
    throw notHalo(server, cause);
  }
}

/** The response, when the server said yes. Throws API_UNREACHABLE, API_REFUSED or what the server threw. */
export async function request(server: Server, path: string, options: RequestOptions = {}): Promise<Response> {
  const url = new URL(server.url.replace(/(?<!\/)\/+$/, '') + path);
  for (const [key, value] of Object.entries(options.query ?? {})) url.searchParams.set(key, value);
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(), options.body === undefined ? ANSWER_MS : WORK_MS);
  const response = await fetch(url, {
    method: options.body === undefined ? 'GET' : 'POST',
    headers: {
      authorization: `Bearer ${server.token}`,
      ...(options.body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(options.body === undefined ? {} : { body: JSON.stringify(options.body) }),
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

/** The frames of a stream, one JSON line each. An error frame is thrown as what the server threw. */
export async function* readFrames<T extends object>(
  server: Server,
  path: string,
  options: RequestOptions,
): AsyncGenerator<Exclude<T, { error: WireError }>> {
  const response = await request(server, path, options);
  for await (const line of readLines(server, response)) {
    if (line === '') continue;
    const frame = JSON.parse(line) as T;
    if ('error' in frame) throw fromWireError(frame.error) ?? notHalo(server, undefined);
    yield frame as Exclude<T, { error: WireError }>;
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
  return new HaloError('API_UNREACHABLE', `What answers at ${server.url} is not halo's API.`, {
    hint: 'Check HALO_URL: it names scheme, host and port, e.g. http://127.0.0.1:7070.',
    cause,
  });
}
