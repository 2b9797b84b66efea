import { errorSignature } from '../../../core/failure/breaker.ts';
import { causeRow, type FailureCause, type FailureClass } from '../../../core/failure/failure.ts';
import type { StopReason } from '../../../core/failure/stop-reason.ts';
import { AttemptReader } from '../../../core/journal/attempts.ts';
import type { AttemptRef, FailureNote } from '../../../core/journal/event-parts.ts';
import type { JournalEvent } from '../../../core/journal/events.ts';

/** A story of a run, for people. */
interface NamedStory extends AttemptRef {
  runId: string;
  project: string;
  repo: string;
  /** Who submitted the run. */
  user: string;
  /** Of the story, as in the PRD. */
  title: string;
  /** When the attempt failed, ISO 8601. */
  at: string;
}

/** One failed or interrupted attempt. */
export interface AttemptFailure extends NamedStory {
  /** The error without numbers, ids and times: equal for equivalent errors. Of failed tests their names. */
  signature: string;
  /** The failed tests of its gate, if the output names them. */
  tests?: string[];
  stopReason: StopReason;
  class: FailureClass;
  /** Undefined if halo does not know more than the stop reason. */
  cause?: FailureCause;
  /** The error as it was reported: one or several lines. */
  error: string;
}

/** Failures with the same signature. */
export interface ErrorGroup {
  signature: string;
  tests?: string[];
  stopReason: StopReason;
  class: FailureClass;
  count: number;
  /** Ids of the runs, the latest first. */
  runs: string[];
  /** Each story once, with its latest such attempt; the latest first. */
  stories: NamedStory[];
  /** ISO 8601 */
  first: string;
  last: string;
  /** The latest failure. */
  latest: Pick<AttemptFailure, 'runId' | 'story' | 'attempt' | 'error'>;
}

type Ended = JournalEvent & { type: 'story.ended' | 'story.disturbed' };
/** What the end of an attempt says about its failure. */
type KnownFailure = Pick<FailureNote, 'class'> & Partial<Pick<FailureNote, 'cause' | 'sign'>>;

const MAX_ERROR_LENGTH = 500;

/** Reads the failures of a run from its journal, event by event. Events before `since` (ISO 8601) do not count. */
export class FailureReader {
  readonly failures: AttemptFailure[] = [];
  readonly #since: string;
  #run: Pick<NamedStory, 'runId' | 'project' | 'repo' | 'user'> = { runId: '', project: '', repo: '', user: '' };
  readonly #titles = new Map<string, string>();
  readonly #attempts = new AttemptReader();

  constructor(since = '') {
    this.#since = since;
  }

  read(event: JournalEvent): void {
    if (event.type === 'run.created' || event.type === 'run.replanned')
      for (const { id, title } of event.prd.stories) this.#titles.set(id, title);
    if (event.type === 'run.created') {
      const { runId, repo, prd, user } = event;
      this.#run = { runId, project: prd.project, repo: repo.source, user };
    }
    this.#attempts.read(event);
    if (event.at < this.#since) return;
    if (event.type === 'story.disturbed') this.#add(event, { class: event.class });
    if (event.type === 'story.ended' && event.verdict === 'failed') this.#add(event, event.failure);
  }

  #add(event: Ended, failure: KnownFailure): void {
    const { at, story, attempt, stopReason, summary } = event;
    const commands = this.#attempts.find(story, attempt)?.commands ?? [];
    const failed = commands.findLast(({ kind, exitCode }) => kind === 'gate' && exitCode !== 0);
    const gate = stopReason === 'GATE_FAILED' ? failed : undefined;
    const tests = gate?.failed?.tests.map(({ name }) => name).sort();
    const isCut = (gate?.failed?.count ?? 0) > (tests?.length ?? 0);
    const named = tests && gate && `\`${gate.command}\`: ${[...tests, ...(isCut ? ['…'] : [])].join(', ')}`;
    this.failures.push({
      ...this.#run,
      ...{ story, title: this.#titles.get(story) ?? '', attempt, at, stopReason },
      signature: named ?? failure.sign?.error ?? errorSignature(summary),
      ...(tests && { tests }),
      class: failure.class,
      ...(failure.cause !== undefined && { cause: failure.cause }),
      error: summary.slice(0, MAX_ERROR_LENGTH),
    });
  }
}

/** A command of setup or a gate failed for a reason that no cause identifies: another repository has other commands. */
function isOfRepository({ stopReason, cause }: AttemptFailure): boolean {
  return stopReason === 'GATE_FAILED' && (causeRow(cause)?.varied ?? cause === undefined);
}

/**
 * Groups failures by stop reason and signature, the most frequent first, then the latest. Commands that failed for an
 * unknown reason, such as a failed test, are groups of their repository.
 */
export function groupErrors(failures: readonly AttemptFailure[]): ErrorGroup[] {
  const groups = new Map<string, AttemptFailure[]>();
  for (const failure of failures) {
    const key = JSON.stringify([failure.stopReason, failure.signature, isOfRepository(failure) ? failure.repo : '']);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [failure]);
    else group.push(failure);
  }
  return [...groups.values()]
    .map((group) => toErrorGroup(group.toSorted((a, b) => (a.at < b.at ? 1 : -1))))
    .sort((a, b) => b.count - a.count || (a.last < b.last ? 1 : -1));
}

/** `failures`: the latest first, at least one. */
function toErrorGroup(failures: readonly AttemptFailure[]): ErrorGroup {
  const [latest] = failures;
  if (latest === undefined) throw new Error('A group has at least one failure.');
  const { signature, tests, stopReason, runId, story, attempt, error } = latest;
  return {
    signature,
    ...(tests && { tests }),
    stopReason,
    class: latest.class,
    count: failures.length,
    runs: [...new Set(failures.map((failure) => failure.runId))],
    stories: storiesOf(failures),
    first: failures.at(-1)?.at ?? latest.at,
    last: latest.at,
    latest: { runId, story, attempt, error },
  };
}

function storiesOf(failures: readonly AttemptFailure[]): NamedStory[] {
  const stories = new Map<string, NamedStory>();
  for (const { runId, project, repo, user, story, title, attempt, at } of failures) {
    const key = JSON.stringify([runId, story]);
    if (!stories.has(key)) stories.set(key, { runId, project, repo, user, story, title, attempt, at });
  }
  return [...stories.values()];
}
