import { toOneLine } from '../lib/one-line.ts';

/** A title in one line, without the strokes through it. `isDropped`: all of it was struck out. */
export function readStruck(text: string): { title: string; isDropped: boolean } {
  const line = toOneLine(text);
  const struck = /^~~([^~]+)~~[.:]?$/.exec(line)?.[1];
  return struck === undefined ? { title: line, isDropped: false } : { title: struck.trim(), isDropped: true };
}

export const STRUCK = 'struck out, so it is skipped';
