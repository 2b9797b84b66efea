import type { Usage } from '../agent.ts';
import { printableShellWord, safeLine } from '../text/safe-text.ts';
import { LINE_LENGTH, type Extent } from '../transcript/excerpt.ts';
import type { StoryLine, Tone } from '../transcript/transcript-line.ts';
import type { AttemptRef, JOURNAL_VERSION } from './event-parts.ts';

/**
 * What may be true of a type of event:
 * - `lossy`: it can be lost without harm, so that halo continues before it is on disk
 * - `changes`: it changes the run or a story, and with it run.json, the lists of runs and what is sent to people
 * - `command`: a decision about the run by a user, or by halo in the place of one (the failpoint `command`)
 * - `audited`: `halo audit` lists it
 * - `wakes`: `halo_wait` returns
 * - `operator`: `halo up` prints a line about it
 */
export type EventFact = 'lossy' | 'changes' | 'command' | 'audited' | 'wakes' | 'operator';

/** Options of a transcript. */
export interface EventLineOptions {
  /** The run, for lines that name commands. */
  runId?: string;
  extent?: Extent;
  /** One line for each event of a running attempt, also for what starts and for what its models cost: `used`, so far. */
  live?: { used: Usage };
}

/** What every event has. `seq` counts from 1 without gaps; `at` is ISO 8601 in UTC. */
export interface Envelope {
  v: typeof JOURNAL_VERSION;
  seq: number;
  at: string;
}

/** An event of `Fields`, which has the fields of each type of event. */
export type EventOf<Fields, T extends keyof Fields> = Envelope & { type: T } & Fields[T];

/** What halo knows about a type of event. */
export interface EventRow<Event> {
  is: readonly EventFact[];
  /** Its lines for people, in logs and on screens. Most events have one line, some have none. */
  lines(event: Event, how: EventLineOptions): StoryLine[];
}

/** A row for each type of event of `Fields`. */
export type EventRows<Fields> = { [T in keyof Fields]: EventRow<EventOf<Fields, T>> };

/** The line of an event about the run; `word` says what happened. */
export function runLine(tone: Tone, word: string, text: string): StoryLine[] {
  return [{ label: 'run', tone, text: `${safeLine(word)}  ${safeLine(text, LINE_LENGTH)}` }];
}

/** ` by ann`, for decisions. */
export function byUser({ by }: { by: string }): string {
  return ` by ${safeLine(by)}`;
}

/** The command that prints a log of an attempt, e.g. `halo logs 2dhe --story US-002 --attempt 1 --gate 2`. */
export function logCommand(runId: string, { story, attempt }: AttemptRef, which: string): string {
  return `halo logs ${runId} --story ${printableShellWord(safeLine(story))} --attempt ${attempt} ${which}`;
}
