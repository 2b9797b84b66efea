import { useEffect, useState } from 'preact/hooks';

/** What the server answers to a request that fails. */
export class RequestFailed extends Error {
  readonly hint: string | undefined;
  /** Of the response; absent if there was none. */
  readonly status: number | undefined;

  constructor(message: string, hint?: string, status?: number) {
    super(message);
    this.hint = hint;
    this.status = status;
  }
}

/** Sends a request of the HTTP API with the session of the browser, and returns the response. Throws RequestFailed. */
async function send(path: string, init?: RequestInit): Promise<Response> {
  const response = await fetch(path, init).catch(() => {
    throw new RequestFailed('The server does not answer.', 'Check that `halo up` or `halo serve` is running.');
  });
  if (response.status === 401) location.assign(`/sign-in?return=${encodeURIComponent('/')}`);
  if (response.ok) return response;
  const body = (await response.json().catch(() => ({}))) as { message?: string; hint?: string };
  throw new RequestFailed(body.message ?? `The server answered ${response.status}.`, body.hint, response.status);
}

/** Reads JSON. Throws RequestFailed. */
export async function readJson<T>(path: string): Promise<T> {
  return (await send(path)).json() as Promise<T>;
}

/** Reads text, such as a diff. Throws RequestFailed. */
export async function readText(path: string, signal: AbortSignal | null = null): Promise<string> {
  return (await send(path, { signal })).text();
}

/** Calls an operation that changes something. Throws RequestFailed. */
export async function callServer<T>(path: string, body: object = {}): Promise<T> {
  const headers = { 'content-type': 'application/json' };
  return (await send(path, { method: 'POST', headers, body: JSON.stringify(body) })).json() as Promise<T>;
}

/** A path below that of a run. */
export function runPath(runId: string, rest = ''): string {
  return `/v1/runs/${encodeURIComponent(runId)}${rest}`;
}

interface StreamHandler<T> {
  onFrames: (frames: T[]) => void;
  onConnection: (isOpen: boolean) => void;
  onProblem: (problem: RequestFailed) => void;
}

/** Reads a stream until the returned function is called. The browser connects again, and continues after the last frame. */
export function openEvents<T>(path: string, { onFrames, onConnection, onProblem }: StreamHandler<T>): () => void {
  const source = new EventSource(path);
  let batch: T[] = [];
  let timer: ReturnType<typeof setTimeout> | undefined;
  const flush = () => {
    timer = undefined;
    const frames = batch;
    batch = [];
    onFrames(frames);
  };
  source.onopen = () => onConnection(true);
  source.onerror = () => {
    // The browser gives up after an error response, of which it hides the text.
    if (source.readyState === EventSource.CLOSED) void readRefusal(path).then(onProblem);
    else onConnection(false);
  };
  source.onmessage = ({ data }: MessageEvent<string>) => {
    batch.push(JSON.parse(data) as T);
    // Frames that arrive together are drawn once.
    timer ??= setTimeout(flush, 40);
  };
  source.addEventListener('problem', ({ data }: MessageEvent<string>) => {
    onProblem(new RequestFailed((JSON.parse(data) as { message: string }).message));
    source.close();
  });
  source.addEventListener('end', () => source.close());
  return () => {
    source.close();
    clearTimeout(timer);
  };
}

/** Why the server refused a stream. */
async function readRefusal(path: string): Promise<RequestFailed> {
  const stop = new AbortController();
  try {
    await send(path, { signal: stop.signal });
    return new RequestFailed('The server refused this page.', 'Reload the page.');
  } catch (error) {
    return toRequestFailed(error);
  } finally {
    stop.abort();
  }
}

export type Loaded<T> = { value?: T; problem?: RequestFailed };

/**
 * Loads a value when `key` changes. With `keepsOld`, the value before is shown until then. The signal is aborted when the
 * value is not needed any more.
 */
export function useLoaded<T>(key: string, load: (signal: AbortSignal) => Promise<T>, keepsOld = false): Loaded<T> {
  const [loaded, setLoaded] = useState<Loaded<T>>({});
  useEffect(() => {
    const stop = new AbortController();
    const finish = (next: Loaded<T>) => {
      if (!stop.signal.aborted) setLoaded(next);
    };
    if (!keepsOld) setLoaded({});
    load(stop.signal).then(
      (value) => finish({ value }),
      (problem: unknown) => finish({ problem: toRequestFailed(problem) }),
    );
    return () => stop.abort();
  }, [key]);
  return loaded;
}

/** Any error as one that a screen can show. */
export function toRequestFailed(error: unknown): RequestFailed {
  return error instanceof RequestFailed ? error : new RequestFailed(String(error));
}
