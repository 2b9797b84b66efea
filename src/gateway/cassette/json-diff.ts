import { safeLine } from '../../core/text/safe-text.ts';
import { isRecord } from '../../lib/guards.ts';

/** The first difference between two JSON values. */
export interface JsonDifference {
  /** Such as `input[3].output`; empty for the whole value. */
  path: string;
  recorded: string;
  now: string;
}

/** Compares a recorded request with the current one, in order. Returns undefined when they are equal. */
export function findFirstDifference(recorded: unknown, now: unknown, path = ''): JsonDifference | undefined {
  if (Object.is(recorded, now)) return undefined;
  if (Array.isArray(recorded) && Array.isArray(now)) return inLists(recorded, now, path);
  if (isRecord(recorded) && isRecord(now)) return inTables(recorded, now, path);
  return { path, recorded: show(recorded, now), now: show(now, recorded) };
}

/** Describes a difference as the end of a sentence: `first at input[3].output, recorded as "a", now "b"`. */
export function describeDifference({ path, recorded, now }: JsonDifference): string {
  return `first at ${safeLine(path === '' ? 'its beginning' : path, 120)}, recorded as ${recorded}, now ${now}`;
}

function inLists(recorded: unknown[], now: unknown[], path: string): JsonDifference | undefined {
  for (let index = 0; index < Math.max(recorded.length, now.length); index++) {
    const found = findFirstDifference(recorded[index], now[index], `${path}[${index}]`);
    if (found !== undefined) return found;
  }
  return undefined;
}

function inTables(
  recorded: Record<string, unknown>,
  now: Record<string, unknown>,
  path: string,
): JsonDifference | undefined {
  for (const key of new Set([...Object.keys(recorded), ...Object.keys(now)])) {
    const found = findFirstDifference(recorded[key], now[key], path === '' ? key : `${path}.${key}`);
    if (found !== undefined) return found;
  }
  return undefined;
}

const SHOWN = 80;

/** Shows a long text from shortly before its first difference. */
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
