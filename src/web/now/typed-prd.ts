import { useEffect, useState } from 'preact/hooks';
import { callServer, toRequestFailed, valueFor, type KeyedValue, type Loaded } from '../page/read-server.ts';

/** Time without typing, after which the server validates the text. */
const PAUSE_MS = 400;

/** A PRD in a request. */
export interface TypedPrd {
  path: string;
  content: string;
}

/** The base64 of the text in UTF-8. */
export function toTypedPrd(path: string, text: string): TypedPrd {
  const bytes = new TextEncoder().encode(text);
  return { path, content: btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join('')) };
}

/** What the server answers to a request, once the person has stopped typing. `false`: nothing is sent. */
export function useAnswer<T>(path: string, body: object | false): Loaded<T> {
  const key = JSON.stringify(body);
  const [answer, setAnswer] = useState<KeyedValue<T>>({ key });
  useEffect(() => {
    let isCurrent = true;
    if (body === false) return;
    const timer = setTimeout(() => {
      callServer<T>(path, body).then(
        (value) => isCurrent && setAnswer({ key, value }),
        (problem: unknown) => isCurrent && setAnswer({ key, problem: toRequestFailed(problem) }),
      );
    }, PAUSE_MS);
    return () => {
      isCurrent = false;
      clearTimeout(timer);
    };
  }, [key]);
  return valueFor(key, answer);
}
