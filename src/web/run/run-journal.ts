import { AttemptReader, type AttemptCommand, type AttemptRecord } from '../../core/journal/attempts.ts';
import type { JournalEvent } from '../../core/journal/events.ts';
import { summarizeNetwork, type NetworkRow } from '../../core/journal/network-report.ts';
import { applyEvent } from '../../core/journal/fold-run.ts';
import type { Prd } from '../../core/prd/prd.ts';
import type { RunState } from '../../core/run/state.ts';
import type { TranscriptLine } from '../../core/transcript/transcript-line.ts';
import { WHOLE, type Extent } from '../../core/transcript/excerpt.ts';
import { describeEvent } from '../../core/transcript/transcript.ts';

/** A command of setup or a gate. Without `at`, it is running. */
export type ShownCommand = Partial<Omit<AttemptCommand, 'kind' | 'command' | 'log'>> &
  Pick<AttemptCommand, 'kind' | 'command' | 'log'>;

/** A line of the log of the run. */
export interface RunLine extends TranscriptLine {
  seq: number;
  at: string;
  attempt?: number;
  /** Whether it is the first line of its event. */
  isFirst: boolean;
}

/** Everything that the journal has, except the ends of very long lines. */
const EXTENT: Extent = { ...WHOLE, line: 1_000 };

/** Everything that the screens of a run show, computed from the events of its journal as they arrive. */
export class RunJournal {
  state: RunState | undefined;
  prd: Prd | undefined;
  readonly lines: RunLine[] = [];
  readonly #reader = new AttemptReader();

  add(events: readonly JournalEvent[]): void {
    for (const event of events) {
      if (event.seq <= (this.state?.seq ?? 0)) continue;
      this.state = applyEvent(this.state, event);
      if (event.type === 'run.created' || event.type === 'run.replanned') this.prd = event.prd;
      this.#reader.read(event);
      this.#addLines(event);
    }
  }

  /** In the order of their first start. */
  get attempts(): AttemptRecord[] {
    return this.#reader.attempts;
  }

  attemptOf(story: string, attempt: number): AttemptRecord | undefined {
    return this.#reader.find(story, attempt);
  }

  /** In order. */
  attemptsOf(story: string): AttemptRecord[] {
    return this.attempts.filter((each) => each.story === story);
  }

  #addLines(event: JournalEvent): void {
    const attempt = 'attempt' in event ? { attempt: event.attempt } : {};
    for (const [index, line] of describeEvent(event, { extent: EXTENT }).entries())
      this.lines.push({ ...line, ...attempt, seq: event.seq, at: event.at, isFirst: index === 0 });
  }
}

/** The commands of an attempt, with the one that is running. */
export function commandsOf({ commands, running }: AttemptRecord): ShownCommand[] {
  return [...commands, ...(running === undefined ? [] : [{ ...running, command: running.command ?? running.kind }])];
}

export function networkOf({ requests }: AttemptRecord): NetworkRow[] {
  return summarizeNetwork(requests, undefined).rows;
}
