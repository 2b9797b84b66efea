import { safeLine } from '../../core/safe-text.ts';

/** The first place at which two JSON values differ. */
export interface Difference {
  /** Like `input[3].output`; empty for the whole. */
  path: string;
  recorded: string;
  now: string;
}

/** Compares what a cassette keeps of a request with what is asked now, in order; undefined: they are the same. */
export function firstDifference(recorded: unknown, now: unknown, path = ''): Difference | undefined {
  if (Object.is(recorded, now)) return undefined;
  if (Array.isArray(recorded) && Array.isArray(now)) return inLists(recorded, now, path);
  if (isTable(recorded) && isTable(now)) return inTables(recorded, now, path);
  return { path, recorded: show(recorded, now), now: show(now, recorded) };
}

/** As the end of a sentence: `first at input[3].output, recorded as "a", now "b"`. */
export function describeDifference({ path, recorded, now }: Difference): string {
  return `first at ${safeLine(path === '' ? 'its beginning' : path, 120)}, recorded as ${recorded}, now ${now}`;
}

function inLists(recorded: unknown[], now: unknown[], path: string): Difference | undefined {
  for (let index = 0; index < Math.max(recorded.length, now.length); index++) {
    const found = firstDifference(recorded[index], now[index], `${path}[${index}]`);
    if (found !== undefined) return found;
  }
  return undefined;
}

function inTables(
  recorded: Record<string, unknown>,
  now: Record<string, unknown>,
  path: string,
): Difference | undefined {
  for (const key of new Set([...Object.keys(recorded), ...Object.keys(now)])) {
    const found = firstDifference(recorded[key], now[key], path === '' ? key : `${path}.${key}`);
    if (found !== undefined) return found;
  }
  return undefined;
}

function isTable(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

const SHOWN = 80;

/** Long texts are shown from shortly before they part. */
function show(value: unknown, other: unknown): string {
  if (value === undefined) return 'nothing';
  if (typeof value === 'string' && typeof other === 'string') {
    let same = 0;
    while (same < value.length && value[same] === other[same]) same += 1;
    const from = Math.max(0, same - 20);
    return JSON.stringify(safeLine(`${from > 0 ? '…' : ''}${value.slice(from, from + SHOWN * 2)}`, SHOWN));
  }
  return safeLine(JSON.stringify(value), SHOWN);
}
