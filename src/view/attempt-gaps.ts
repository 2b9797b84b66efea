import type { AttemptRecord } from '../core/journal/attempts.ts';
import { askOf } from '../core/run/progress.ts';

/** A time in which nothing of a story ran, and what it waited for. `from` and `to`: ms since 1970. */
export interface Gap {
  from: number;
  to: number;
  why: string;
}

/** Shorter ones are the steps of halo itself. */
const MIN_MS = 1_000;

/**
 * The times before and between the starts of an attempt. `before`: the attempt before it at the same story, if any.
 */
export function findGaps({ starts }: AttemptRecord, before: AttemptRecord | undefined): Gap[] {
  const [first] = starts;
  const gaps = starts.flatMap(({ end }, index) => {
    const next = starts[index + 1];
    if (end === undefined || next === undefined) return [];
    return gapsBetween(end.at, next.at, interruptedBy(end));
  });
  if (first === undefined || before?.end === undefined) return gaps;
  const { end, retryAt = end.at, reply } = before;
  if (asksPerson(end) || reply !== undefined) return [...gapsBetween(end.at, first.at, PERSON), ...gaps];
  const isDelayed = retryAt > end.at && retryAt <= first.at;
  const delay = isDelayed ? gapsBetween(end.at, retryAt, 'retry delay') : [];
  return [...delay, ...gapsBetween(isDelayed ? retryAt : end.at, first.at, 'waiting for a worker'), ...gaps];
}

const PERSON = 'waiting for a person';

type End = NonNullable<AttemptRecord['end']>;

function asksPerson({ verdict }: End): boolean {
  return verdict !== 'interrupted' && askOf({ progress: verdict }) !== undefined;
}

function interruptedBy(end: End): string {
  if (asksPerson(end)) return PERSON;
  return end.reason === 'POSTPONED' ? 'waiting for the model' : 'interrupted';
}

function gapsBetween(from: string, to: string, why: string): Gap[] {
  const gap = { from: Date.parse(from), to: Date.parse(to), why };
  return gap.to - gap.from >= MIN_MS ? [gap] : [];
}
