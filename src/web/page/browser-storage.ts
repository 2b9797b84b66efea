import { useState } from 'preact/hooks';

/** Reads a text that this browser keeps for the server; undefined if there is none, or if the browser keeps nothing. */
export function readKept(key: string): string | undefined {
  try {
    return localStorage.getItem(key) ?? undefined;
  } catch {
    return undefined;
  }
}

/** Keeps a text until it is replaced or, with undefined, removed. A browser that keeps nothing, or is full, forgets it. */
export function keep(key: string, text: string | undefined): void {
  try {
    if (text === undefined) localStorage.removeItem(key);
    else localStorage.setItem(key, text);
  } catch {
    // The page works without it.
  }
}

/** A state that survives a reload of the page. Equal to `initial`, it is not kept. */
export function useKept(key: string, initial: string): [text: string, change: (text: string) => void] {
  const [text, setText] = useState(() => readKept(key) ?? initial);
  return [
    text,
    (next) => {
      setText(next);
      keep(key, next === initial ? undefined : next);
    },
  ];
}
