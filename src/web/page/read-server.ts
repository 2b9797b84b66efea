import { useEffect, useState } from 'preact/hooks';
import { PAGE_KEY } from '../../core/access/page-key.ts';
import type { FileProblem, Unconfirmed } from '../../core/failure/errors.ts';
import { keep, readKept } from './browser-storage.ts';
import { useWindowEvent } from './use-window-event.ts';

/** The event of the window when the connection to the server is back. */
export const RECONNECTED = 'reconnected';

declare global {
  interface WindowEventMap {
    [RECONNECTED]: Event;
  }
}

/** What an error may say for programs. */
interface Details {
  unconfirmed?: Unconfirmed;
  problems?: readonly FileProblem[];
}

/** What the server answers to a request that fails. */
export class RequestFailed extends Error {
  readonly hint: string | undefined;
  /** Of the response; absent if there was none. */
  readonly status: number | undefined;
  /** What the request needs a confirmation of. */
  readonly unconfirmed: Unconfirmed | undefined;
  /** The problems of the file that was sent. */
  readonly problems: readonly FileProblem[];
  /** Sends it again, if that is safe. */
  retry?: () => void;

  constructor(message: string, hint?: string, status?: number, more: Details = {}) {
    super(message);
    this.unconfirmed = more.unconfirmed;
    this.problems = more.problems ?? [];
    this.hint = hint;
    this.status = status;
  }
}

/** Sends a request of the HTTP API with the session of this page, and returns the response. Throws RequestFailed. */
export async function send(path: string, init: RequestInit = {}): Promise<Response> {
  const session = sessionHeaders();
  if (session === undefined) {
    leave();
    throw new RequestFailed('You are not signed in.', undefined, 401);
  }
  const headers = { ...(init.headers as Record<string, string> | undefined), ...session };
  const response = await fetch(path, { ...init, headers }).catch(() => {
    throw new RequestFailed('halo cannot be reached (network or server).');
  });
  if (response.status === 401) leave();
  if (response.ok) return response;
  const body = (await response.json().catch(() => ({}))) as { message?: string; hint?: string } & Details;
  const { message = `The server answered ${response.status}.`, hint, ...details } = body;
  throw new RequestFailed(message, hint, response.status, details);
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

/** Saves a file of the server. A link to it could not send the session. Throws RequestFailed. */
export async function saveFile(path: string, name: string): Promise<void> {
  const url = URL.createObjectURL(await (await send(path)).blob());
  const link = Object.assign(document.createElement('a'), { href: url, download: name });
  link.click();
  // The browser has begun to read it.
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}

/** Ends the session of this page. */
export async function signOut(): Promise<void> {
  await send('/sign-out', { method: 'POST' });
  leave('/');
}

export type Loaded<T> = { value?: T; problem?: RequestFailed };

/**
 * Loads a value when `key` changes. With `keepsOld`, the value before is shown until then. The signal is aborted when the
 * value is not needed any more. What failed can be loaded again, and is when the connection to the server is back.
 */
export function useLoaded<T>(key: string, load: (signal: AbortSignal) => Promise<T>, keepsOld = false): Loaded<T> {
  const [loaded, setLoaded] = useState<KeyedValue<T>>({ key });
  const [tries, setTries] = useState(0);
  const { problem } = loaded;
  if (problem !== undefined) problem.retry = () => setTries((count) => count + 1);
  useWindowEvent(RECONNECTED, () => problem?.retry?.());
  useEffect(() => {
    const stop = new AbortController();
    const finish = (next: Loaded<T>) => {
      if (!stop.signal.aborted) setLoaded({ key, ...next });
    };
    if (!keepsOld) setLoaded({ key });
    load(stop.signal).then(
      (value) => finish({ value }),
      (problem: unknown) => finish({ problem: toRequestFailed(problem) }),
    );
    return () => stop.abort();
  }, [key, tries]);
  return keepsOld ? loaded : valueFor(key, loaded);
}

/** A value with the key that it was loaded for: the first time that a new key is drawn, the old value is still there. */
export type KeyedValue<T> = Loaded<T> & { key: string };

/** What was loaded for this key, and nothing for others. */
export function valueFor<T>(key: string, loaded: KeyedValue<T>): Loaded<T> {
  return loaded.key === key ? loaded : {};
}

/** Any error as one that a screen can show. */
export function toRequestFailed(error: unknown): RequestFailed {
  return error instanceof RequestFailed ? error : new RequestFailed(String(error));
}

/** The address of a story, or of an attempt at it. */
export function storyAddress(runId: string, story: string, attempt?: number): string {
  return `#/run/${runId}/story/${encodeURIComponent(story)}${attempt === undefined ? '' : `/attempt/${attempt}`}`;
}

/** The header that makes a request one of this page; undefined: the person is not signed in. */
function sessionHeaders(): Record<string, string> | undefined {
  const key = readKept(PAGE_KEY);
  return key === undefined ? undefined : { [PAGE_KEY]: key };
}

/** Opens the page to sign in, which leads to `returnTo`, by default back to the current screen. */
function leave(returnTo = location.pathname + location.hash): void {
  keep(PAGE_KEY, undefined);
  location.assign(`/sign-in?return=${encodeURIComponent(returnTo)}`);
}
