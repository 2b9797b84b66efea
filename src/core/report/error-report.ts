import { errorSignature } from '../failure/breaker.ts';
import type { FailureClass } from '../failure/failure.ts';
import type { StopReason } from '../failure/stop-reason.ts';
import type { AttemptRef, JournalEvent } from '../journal/events.ts';

/** A story of a run, for people. */
interface NamedStory extends AttemptRef {
  runId: string;
  project: string;
  repo: string;
  /** Who submitted the run, if known. */
  user?: string;
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
  /** Only within a repository have failures with this signature the same cause. */
  isOfRepo: boolean;
  stopReason: StopReason;
  /** Undefined in journals of older versions. */
  class?: FailureClass;
  /** The error as it was reported: one or several lines. */
  error: string;
}

/** Failures with the same signature. */
export interface ErrorGroup {
  signature: string;
  tests?: string[];
  stopReason: StopReason;
  class?: FailureClass;
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

const MAX_ERROR_LENGTH = 500;
/** What is left of an error that says only which command exited with which code. */
const ONLY_EXIT = /^(?:gate|setup|command|exited|with|code|[\s:;.…])*$/;
const ON_BASE = /; (?:it fails on the base commit as well|on the base commit not even setup works)/;

/** Reads the failures of a run from its journal, event by event. Events before `since` (ISO 8601) do not count. */
export class FailureReader {
  readonly failures: AttemptFailure[] = [];
  readonly #since: string;
  #run: Pick<NamedStory, 'runId' | 'project' | 'repo' | 'user'> = { runId: '', project: '', repo: '' };
  readonly #titles = new Map<string, string>();
  /** The last failed gate of the current attempt of each story. */
  readonly #gates = new Map<string, JournalEvent & { type: 'gate.ended' }>();

  constructor(since = '') {
    this.#since = since;
  }

  read(event: JournalEvent): void {
    if (event.type === 'run.created' || event.type === 'run.replanned')
      for (const { id, title } of event.prd.stories) this.#titles.set(id, title);
    if (event.type === 'run.created') {
      const { runId, repo, prd, user } = event;
      this.#run = { runId, project: prd.project, repo: repo.source, ...(user !== undefined && { user }) };
    } else if (event.type === 'story.started') this.#gates.delete(event.story);
    else if (event.type === 'gate.ended' && event.exitCode !== 0) this.#gates.set(event.story, event);
    if (event.at < this.#since) return;
    if (event.type === 'story.disturbed') this.#add(event, errorSignature(event.summary), event.class);
    if (event.type === 'story.ended' && event.verdict === 'failed') {
      const { failure, summary } = event;
      this.#add(event, failure?.sign.error ?? errorSignature(summary), failure?.class);
    }
  }

  #add(event: Ended, sign: string, failureClass: FailureClass | undefined): void {
    const { at, story, attempt, stopReason, summary } = event;
    const gate = stopReason === 'GATE_FAILED' ? this.#gates.get(story) : undefined;
    const tests = gate?.failed?.tests.map(({ name }) => name).sort();
    const isCut = (gate?.failed?.count ?? 0) > (tests?.length ?? 0);
    const named = tests && gate && `\`${gate.command}\`: ${[...tests, ...(isCut ? ['…'] : [])].join(', ')}`;
    this.failures.push({
      ...this.#run,
      ...{ story, title: this.#titles.get(story) ?? '', attempt, at, stopReason },
      ...{ signature: named ?? sign, isOfRepo: named !== undefined || saysOnlyExit(sign, stopReason, gate?.command) },
      ...(tests && { tests }),
      ...(failureClass !== undefined && { class: failureClass }),
      error: summary.slice(0, MAX_ERROR_LENGTH),
    });
  }
}

/** Whether an error says nothing but which command exited with which code. */
function saysOnlyExit(sign: string, stopReason: StopReason, command: string | undefined): boolean {
  const rest = sign
    .replace(`${stopReason}: `, '')
    .replace(/`[^`]*`?/g, '')
    .replace(command === undefined ? '' : errorSignature(command), '')
    .replace(ON_BASE, '');
  return /\bexited\b/.test(rest) && ONLY_EXIT.test(rest);
}

/**
 * Groups failures by stop reason and signature, the most frequent first, then the latest. Failed tests, and errors that
 * say only that a command failed, are groups of their repository.
 */
export function groupErrors(failures: readonly AttemptFailure[]): ErrorGroup[] {
  const groups = new Map<string, AttemptFailure[]>();
  for (const failure of failures) {
    const key = JSON.stringify([failure.stopReason, failure.signature, failure.isOfRepo ? failure.repo : '']);
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
    ...(latest.class && { class: latest.class }),
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
    if (!stories.has(key))
      stories.set(key, { runId, project, repo, ...(user !== undefined && { user }), story, title, attempt, at });
  }
  return [...stories.values()];
}
