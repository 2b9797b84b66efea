import type { Usage } from '../agent.ts';
import type { EngineImages } from '../engine/engine-images.ts';
import type { Signs } from '../failure/breaker.ts';
import type { FailureCause, FailureClass, FailureTally, LimitKey, RetryRule } from '../failure/failure.ts';
import { HaloError } from '../failure/errors.ts';
import type { ModelUse, StoryModel } from '../failure/model-use.ts';
import type { StopReason } from '../failure/stop-reason.ts';
import type { HeldCommit } from '../journal/event-parts.ts';
import type { Submission } from '../journal/run-created.ts';
import type { Phase } from '../journal/phase.ts';
import type { StartFacts } from '../journal/start-facts.ts';
import type { NotedFacts } from '../review/story-findings.ts';
import type { KeptTests } from '../review/tests-first.ts';
import type { FailedTests } from '../test-report/failed-tests.ts';
import type { PullState } from '../pulls/pull-state.ts';
import { msBetween } from '../text/format-elapsed.ts';
import { closeSentence } from '../text/did-you-mean.ts';
import type { StoryMessages } from './messages.ts';
import { askOf, isIn, type StoryProgress } from './progress.ts';
import { asksPeople, type StoryReplies } from './questions.ts';
import type { Need } from './run-dependencies.ts';

/** A user's request to pause a run: after the running stories or, with `now`, immediately. */
export interface Pause {
  by: string;
  /** ISO 8601 */
  at: string;
  now: boolean;
}

/** A user's decision on everything a run has produced, up to the commit `tip`. */
interface RunDecision {
  verdict: 'approved' | 'rejected';
  by: string;
  tip: string;
  reason?: string;
}

/** A user's approval of a commit. */
export interface Approval {
  commit: string;
  by: string;
}

/** Passed stories that could not be marked as done in the PRD file, and why. */
export interface Unmarked {
  stories: string[];
  reason: string;
}

/** Why the next attempt at a story has to wait. */
export interface Waiting {
  /** ISO 8601 */
  notBefore: string;
  /** How long it had to wait when this was decided, in ms. */
  waitMs: number;
  why: string;
  /** Which retry of how many, and after which class of failure; undefined when a breaker delays the attempt. */
  nth?: number;
  of?: number;
  class?: FailureClass;
  /** The key of the breaker that delays it. */
  breaker?: string;
  /** The model whose pause delays it. */
  model?: string;
}

/** What the next attempt's prompt says about an earlier one. */
export interface Hint {
  attempt: number;
  reason: StopReason;
  summary: string;
  /** Whether to include the end of its log. */
  withLog: boolean;
}

/** The part of a story's state that failures change. */
interface StoryFailures {
  /** Failures by class. */
  failures?: FailureTally;
  /** The class of the last failure and the rule applied to it. */
  lastFailure?: { class: FailureClass; rule: RetryRule; cause?: FailureCause; limit?: LimitKey };
  hint?: Hint;
  waiting?: Waiting;
  /** How long the attempt waits in total for pauses of its model, in ms. */
  waitedMs?: number;
  /** Consecutive starts without a known outcome: the worker crashed. */
  starts?: number;
  /** The process that made the last of these starts, as lib/process-identity.ts names it. */
  startedBy?: string;
}

/** The part of a run's state that its own breaker needs. */
interface RunFailures {
  /** Failures since the last success. */
  signs?: Signs;
  /** Why the run's breaker is open; undefined while it is closed. */
  breaker?: string;
}

/** What is noted of an attempt, and its start, are those of the latest one. */
export interface StoryState extends StoryFailures, StoryReplies, StoryMessages, StoryModel, NotedFacts, StartFacts {
  id: string;
  key: string;
  title: string;
  progress: StoryProgress;
  /** Ids of stories that must land first. */
  dependsOn: string[];
  /** Attempts started so far. */
  attempts: number;
  /** Of `attempts`, those that ended in a merge conflict with another story that landed first. */
  conflicts: number;
  /** Fencing epoch and base commit of the latest attempt. */
  epoch?: number;
  base?: string;
  /** Of `attempts`, those that a user's retry forgave; they do not count against the maximum. */
  forgiven?: number;
  /** The running phase, while in progress. */
  phase?: Phase;
  /** When it began, and when the running attempt did. ISO 8601 */
  phaseAt?: string;
  attemptAt?: string;
  /** The services for which its command waits now. */
  awaits?: string[];
  /** How the last attempt ended. */
  stopReason?: StopReason;
  summary?: string;
  commit?: string;
  /** The commit that is waiting for approval. */
  held?: HeldCommit;
  /** The approved commit, until a worker has merged it onto the latest commit and landed it. */
  approved?: Approval;
  /** A person has approved exactly this commit, and so confirmed what it is flagged for. */
  confirmed?: true;
  /** The tests that the next attempt uses, if it builds on the same commit. */
  keptTests?: KeptTests;
  /** Path below the attempt of the log of the last failed setup or gate command of the last attempt. */
  failedLog?: string;
  /** That command. */
  failedCommand?: string;
  /** The failed tests of that gate, if its output names them. */
  failedTests?: FailedTests & { gate: string };
  /** The running attempt has recorded its usage per model response. */
  metered?: true;
  startedAt?: string;
  endedAt?: string;
}

/** What a person should know of a commit on the branch of a run, whatever became of its story. */
export interface NotedCommit extends NotedFacts, Pick<StoryState, 'confirmed'> {
  /** The id of the story. */
  id: string;
  commit: string;
}

/** The state of a run: a fold over its journal. */
export interface RunState extends Submission, RunFailures, PullState, ModelUse {
  status: 'queued' | 'running' | 'ended';
  project: string;
  /** Maximum attempts per story. */
  maxAttempts: number;
  /** In execution order. */
  stories: StoryState[];
  /** The latest landed commit, or the run's base. */
  tip: string;
  /** The commits up to it of which a person should know something, oldest first. */
  noted?: NotedCommit[];
  /** The latest fencing epoch of any story. */
  epoch: number;
  usage: Usage;
  /** The users who replaced its plan, as recorded. */
  replannedBy?: string[];
  /** The runs that must end before this one starts. */
  needs: Need[];
  createdAt: string;
  /** The worker that exclusively owns the run while its process is alive. */
  owner?: string;
  /** The last time that a user submitted, resumed or retried it. ISO 8601 */
  askedAt: string;
  /** Set while a user has paused the run. */
  paused?: Pause;
  /** Settings changed after submission, oldest first. `at`: ISO 8601. */
  reconfigured?: { by: string; at: string; set: string[] }[];
  /** The configuration sections that these settings replace. */
  overrides?: Record<string, unknown>;
  /** A user's decision on the whole run. */
  decision?: RunDecision;
  startedAt?: string;
  /** How long stories were under way before the latest time in which none was, and since when one is again. ISO 8601 */
  worked?: { ms: number; since?: string };
  /** How the sandboxes of its first attempt reached their gateways. */
  channel?: 'socket' | 'stdio';
  /** The images with which the run began. */
  images?: EngineImages;
  endedAt?: string;
  stopReason?: StopReason;
  detail?: string;
  /** The id of the story that explains the end; `decisiveStory` finds it. */
  decisive?: string;
  /** The branch that `halo land` moved and its new commit, while that includes everything the run produced. */
  landed?: { branch: string; to: string };
  /** When retention removed the artifacts that existed then (ISO 8601), and who asked for it. */
  pruned?: { at: string; by: string };
  /** Passed stories that could not be marked in the PRD file. */
  unmarked?: Unmarked;
  /** Set unless the last story that needed a snapshot has one: it is being made, or `reason` says why there is none. */
  snapshot?: { state: 'building' | 'refused'; story: string; reason?: string };
  /** `seq` of the last folded event. */
  seq: number;
}

/** Whether a person is to accept or reject the whole result of an ended run. */
export function awaitsDecision(run: RunState): boolean {
  return run.status === 'ended' && isUndecided(run);
}

/** What a person has to do about a story, as a kind of the inbox; undefined: nothing. */
export function awaitedOf(story: StoryState, run: Pick<RunState, 'task' | 'stopReason'>) {
  if (story.held !== undefined) return 'approval';
  return asksPeople(run) ? askOf(story)?.kind : undefined;
}

/** Whether a run cannot continue without a person. */
export function awaitsPerson(run: RunState): boolean {
  return run.stories.some((story) => awaitedOf(story, run) !== undefined) || awaitsDecision(run);
}

/** Whether its result needs a decision that is missing. */
export function isUndecided(run: RunState): boolean {
  const { needsApproval, tip, repo, landed } = run;
  return needsApproval === true && tip !== repo.base && landed === undefined && currentDecision(run) === undefined;
}

/** Returns the user's decision on the run, unless more commits have landed since. */
export function currentDecision({ decision, tip }: Pick<RunState, 'decision' | 'tip'>): RunDecision | undefined {
  return decision?.tip === tip ? decision : undefined;
}

/** Whether the run includes a story: all, or those selected at submit. */
export function isSelected({ id }: { id: string }, { selected }: Pick<RunState, 'selected'>): boolean {
  return selected === undefined || selected.includes(id);
}

/** The story that explains the end of a run, if one does: it failed, asks a person, or was interrupted. */
export function decisiveStory({ stories, decisive }: Pick<RunState, 'stories' | 'decisive'>): StoryState | undefined {
  return stories.find(({ id }) => id === decisive);
}

interface HasProgress {
  progress: StoryProgress;
}

/** Whether a story is done, by this run or before it. */
export function isDone(story: HasProgress): boolean {
  return isIn('done', story);
}

/** Whether a story waits for a person, whatever the reason. */
export function needsPerson(story: HasProgress): boolean {
  return askOf(story) !== undefined;
}

/** Whether an attempt at a story may start without a person: it is not done, or it has failed. */
export function startsAlone(story: HasProgress): boolean {
  return isIn('open', story) || (isIn('stuck', story) && !needsPerson(story));
}

/** Whether a story has not started, or is under way. */
export function isUnfinished(story: HasProgress): boolean {
  return isIn('open', story);
}

/** Whether a story passed without a commit because the repository already satisfied it. */
export function isUnchanged({ progress, commit }: HasProgress & { commit?: string }): boolean {
  return progress === 'passed' && commit === undefined;
}

/** Whether a story needs no more work. */
export function isFinished(story: HasProgress): boolean {
  return isDone(story) || story.progress === 'skipped';
}

/** The stories that a story needs and that are not done, and whether they prevent it; undefined if there are none. */
export function unmetDependencies(
  { dependsOn }: Pick<StoryState, 'dependsOn'>,
  { stories, status }: Pick<RunState, 'stories' | 'status'>,
): { isBlocked: boolean; ids: string[] } | undefined {
  const missing = stories.filter((story) => dependsOn.includes(story.id) && !isDone(story));
  if (missing.length === 0) return undefined;
  const isBlocked = status === 'ended' || missing.some(({ progress, waiting }) => progress === 'failed' && !waiting);
  return { isBlocked, ids: missing.map(({ id }) => id) };
}

/** The number of the last attempt that a story may have, as far as is known: some attempts do not count. */
export function attemptLimit(
  { attempts, conflicts, forgiven = 0 }: Pick<StoryState, 'attempts' | 'conflicts' | 'forgiven'>,
  { maxAttempts }: Pick<RunState, 'maxAttempts'>,
): number {
  return Math.max(attempts, maxAttempts + conflicts + forgiven);
}

/**
 * How long stories of a run were under way or waited for a retry, in ms: not while the run was paused, or waited for a
 * person, its model or a circuit breaker; undefined before the first story.
 */
export function workedMs({ worked }: RunState, now: string): number | undefined {
  return worked && worked.ms + (worked.since === undefined ? 0 : Math.max(0, msBetween(worked.since, now)));
}

/** Returns a copy of an object without the given keys. */
export function omit<T extends object>(value: T, ...keys: OptionalKeys<T>[]): T {
  const copy = { ...value };
  for (const key of keys) delete copy[key];
  return copy;
}

type OptionalKeys<T> = {
  [K in keyof T]-?: undefined extends T[K] ? K : Record<never, never> extends Pick<T, K> ? K : never;
}[keyof T];

/** The story with this id. Throws STORY_NOT_FOUND; the hint lists the ids that the run has. */
export function storyOf({ runId, stories }: Pick<RunState, 'runId' | 'stories'>, storyId: string): StoryState {
  const story = stories.find(({ id }) => id === storyId);
  if (story !== undefined) return story;
  const known = stories.map(({ id }) => id);
  throw new HaloError(
    'STORY_NOT_FOUND',
    `Run ${runId} has no story ${JSON.stringify(storyId)}${closeSentence(storyId, known)}`,
    {
      hint: `Use one of its stories: ${known.slice(0, 20).join(', ')}.`,
    },
  );
}
