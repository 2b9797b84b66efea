import type { StopReason } from '../failure/stop-reason.ts';
import { PROGRESS } from '../run/progress.ts';
import { failedNeeds, unmetNeeds } from '../run/run-dependencies.ts';
import { awaitsPerson, currentDecision, isUndecided, type RunState, type StoryState } from '../run/state.ts';
import { hasWords, searchWords } from '../text/search.ts';

/** What decides whether a list has a run. What an open run may change is `text`, `state`, `breaker` and `endedAt`. */
export interface RunFacts {
  /** Path or address of its repository, as in its journal. */
  repo: string;
  user: string;
  prd?: string;
  batch?: string;
  /** Whether it stopped because too much had failed in it. */
  breaker?: true;
  /** ISO 8601 */
  endedAt?: string;
  /** The words of its state, lower case. */
  state?: string[];
  /**
   * What a search finds: the words of its id and project, and of the ids and titles of its stories, lower case, each once.
   * Absent from the index if it is too long to keep.
   */
  text?: string;
}

/** Which runs a list has: those that match everything that is set. */
export interface RunCondition {
  /** Path or address of the repository, or the last part of it. */
  repo?: string | undefined;
  user?: string | undefined;
  /** Path of the PRD file. */
  prd?: string | undefined;
  /** A part of the id of the batch; empty: any batch. */
  batch?: string | undefined;
  /** A stop reason, or a word for its state, such as `ended`, `failed`, `landed`, `paused`. */
  state?: string | undefined;
  /** Words that are each a part of its id, project, user, repository, state, or of the id or title of a story. */
  find?: string | undefined;
}

/** A run with what delays it: `heldBy`, a limit of the fleet, or that it may run on none of the `engines`. */
type MarkedRun = RunState & { heldBy?: string; engines?: readonly string[] };

/** The facts of a run as of now. */
export function factsOf(run: MarkedRun): RunFacts & Required<Pick<RunFacts, 'state' | 'text'>> {
  const { repo, user, prdPath, batch, status, endedAt } = run;
  const named = [run.runId, run.project, ...run.stories.flatMap(({ id, title }) => [id, title])];
  return {
    repo: repo.source,
    prd: prdPath,
    user,
    ...(batch !== undefined && { batch: batch.id }),
    ...(run.breaker !== undefined && { breaker: true }),
    ...(status === 'ended' && endedAt !== undefined && { endedAt }),
    state: wordsOf(run),
    text: [...new Set(searchWords(named.join('\n')))].join(' '),
  };
}

export function hasCondition(condition: RunCondition): boolean {
  return Object.values(condition).some((value) => value !== undefined);
}

/** Whether a run with these facts matches. */
export function matches(facts: RunFacts, { repo, user, prd, batch, state, find }: RunCondition): boolean {
  return (
    (repo === undefined || facts.repo === repo || (!repo.includes('/') && facts.repo.split('/').at(-1) === repo)) &&
    (user === undefined || facts.user === user) &&
    (prd === undefined || facts.prd === prd) &&
    (batch === undefined || facts.batch?.includes(batch.toLowerCase()) === true) &&
    (state === undefined || facts.state?.includes(state.toLowerCase()) === true) &&
    (find === undefined || hasWords(searchedText(facts), find))
  );
}

/** Characters of a search. The time to look for a longer word grows with its length × that of the text. */
export const MAX_FIND_LENGTH = 200;

function searchedText({ repo, user, state = [], text = '' }: RunFacts): string {
  return [text, repo, user, ...state].join('\n');
}

/** The word that lists know for runs that cannot continue without a person. */
export const AWAITS_PERSON = 'waiting for a person';

const NOT_FAILED: readonly RunState['stopReason'][] = ['SUCCESS', 'NEEDS_HUMAN', 'APPROVAL_DENIED', 'USER_ABORT'];

function wordsOf(run: MarkedRun): string[] {
  const failed = run.status !== 'ended' || NOT_FAILED.includes(run.stopReason) ? [] : ['failed'];
  const waits = awaitsPerson(run) ? [AWAITS_PERSON] : [];
  const words = [run.status, run.stopReason ?? '', ...stateWords(run), ...failed, ...waits];
  return [...new Set(words.map((word) => word.toLowerCase()))].filter((word) => word !== '');
}

/**
 * The words for the state of a run, the least general one last; of an ended one, for people instead of its stop reason.
 * `failed`: the word for an end that has none of its own.
 */
export function stateWords(run: MarkedRun, failed = 'failed'): string[] {
  const kind = run.dry ? [run.planning ? 'plan' : 'dry run'] : [];
  if (run.status !== 'ended') return [...kind, openWord(run)];
  return [...kind, ...endWords(run, failed)];
}

/** Whether no engine may run the next stories of an open run. */
export function lacksEngine({ status, stories, engines }: MarkedRun): boolean {
  return status !== 'ended' && engines?.length === 0 && !stories.some(isUnderWay);
}

function openWord(run: MarkedRun): string {
  if (run.paused !== undefined) return run.stories.some(isUnderWay) ? 'pausing' : 'paused';
  if (failedNeeds(run).length > 0) return 'blocked';
  if (unmetNeeds(run).length > 0 || run.heldBy !== undefined || lacksEngine(run)) return 'waiting';
  return run.status === 'running' && !run.stories.some(hasAttempt) ? 'waiting' : run.status;
}

function endWords(run: RunState, failed: string): string[] {
  const { stopReason, dry, tip, repo, pull } = run;
  const after = afterwards(run);
  if (stopReason === 'SUCCESS') {
    if (run.landed !== undefined || currentDecision(run)?.verdict === 'rejected') return after;
    const isLeft = after.length === 0 && !dry && tip !== repo.base && pull === undefined;
    return ['done', ...(isLeft ? ['not landed'] : after)];
  }
  return [END_WORDS[stopReason ?? 'UNKNOWN_ERROR'] ?? failed, ...after];
}

/** The words that lists know for the states of open runs. */
export const OPEN_WORDS: readonly string[] = ['queued', 'running', 'waiting', 'pausing', 'paused', 'blocked'];

/** Ends with words of their own; all others are failures. */
const END_WORDS: Partial<Record<StopReason, string>> = {
  NEEDS_HUMAN: PROGRESS.needs_human.word,
  APPROVAL_DENIED: 'rejected',
  USER_ABORT: PROGRESS.cancelled.word,
  NOTHING_RUNNABLE: 'nothing to run',
  PARTIAL: 'partial',
};

/** The words that lists know for the ends of runs. */
export const ENDED_WORDS = ['done', 'not landed', 'failed', ...Object.values(END_WORDS)] as const;

/** Decisions of people on the result of an ended run. */
function afterwards(run: RunState): string[] {
  if (run.landed !== undefined) return ['landed'];
  const verdict = currentDecision(run)?.verdict;
  if (verdict !== undefined) return [verdict];
  return isUndecided(run) ? ['waiting for approval'] : [];
}

function isUnderWay({ progress, phase, waiting }: StoryState): boolean {
  return progress === 'in_progress' && phase !== undefined && waiting === undefined;
}

function hasAttempt({ progress, waiting }: StoryState): boolean {
  return progress === 'in_progress' && waiting === undefined;
}
