import { LOCAL_ENGINE } from '../core/engine/engine-address.ts';
import { labelsText } from '../core/engine/placement.ts';
import { askOf } from '../core/run/progress.ts';
import type { RunView } from '../api/operations/runs.ts';
import { breakerName, resetCommand } from '../core/failure/breaker.ts';
import { retryName } from '../core/failure/failure.ts';
import { unmetNeeds } from '../core/run/run-dependencies.ts';
import { isUnfinished, needsPerson, type RunState, type StoryState } from '../core/run/state.ts';
import { formatElapsed, msBetween } from '../core/text/format-elapsed.ts';
import { safeLine } from '../core/text/safe-text.ts';
import { dependencyText, isForRetry, isWorking } from './story-words.ts';

/** A run, its limit of the fleet, and how many workers would take its stories; without `workers`, no missing one is named. */
export type WaitingRun = Pick<RunView, 'state' | 'heldBy' | 'draining' | 'away' | 'engines'> &
  Partial<Pick<RunView, 'workers'>>;

/** Shown if a run could continue but no worker is running. */
export const NO_WORKER = 'no worker is running: start one with `halo worker`';
/** Shown if a run could continue but all workers drain. */
const ALL_DRAIN = 'all workers are draining: resume one with `halo worker resume`, or start another one';

/** Shown if a run could continue but no engine of a worker answers. */
const AWAY = 'no engine that may run it answers: `halo doctor` says why';

const MAX_TEXT_LENGTH = 4_000;

/** Why an active run makes no progress at the moment, a clause per reason. Empty for an ended run. */
export function whyRunWaits({ state, workers = 1, draining = 0, away = 0, engines, heldBy }: WaitingRun): string[] {
  if (state.status === 'ended') return [];
  const { paused } = state;
  const missing = canContinue(state)
    ? missingWorker({ state, workers, draining, away, ...(engines && { engines }) })
    : undefined;
  const isHeld = heldBy !== undefined && paused === undefined;
  return [
    ...unmetNeeds(state).map(({ run, now, stopReason = 'a failure' }) =>
      now === 'failed' ? `run ${run} ended with ${stopReason}` : `run ${run} has not ended`,
    ),
    ...(paused === undefined ? [] : [`paused by ${safeLine(paused.by)}: \`halo resume ${state.runId}\` resumes it`]),
    ...(missing === undefined ? [] : [missing]),
    ...(isHeld ? [`${heldBy} is reached: the next story starts when another one ends`] : []),
  ];
}

/** Why a story makes no progress at the moment, as a clause; undefined if it works, has ended, or only waits as its run does. */
export function whyStoryWaits(story: StoryState, run: RunState, now: string): string | undefined {
  const { held, approved, waiting, question } = story;
  if (held !== undefined)
    return `for approval of ${held.commit.slice(0, 7)}${held.paths.length === 0 ? '' : ', which changes protected paths'}`;
  const ask = askOf(story);
  if (ask !== undefined) return `${ask.waits}${question?.until === undefined ? '' : leftText(question.until, now)}`;
  if (approved !== undefined) return 'for a worker that lands the approved commit';
  if (story.progress === 'pending' && waiting === undefined) return dependencyText(story, run)?.join('');
  if (waiting === undefined || run.status === 'ended') return undefined;
  const left = msBetween(now, waiting.notBefore);
  const when = left > 0 ? `in ${formatElapsed(left)}` : 'as soon as a worker is free';
  const why = safeLine(waiting.why, MAX_TEXT_LENGTH);
  if (isForRetry(waiting)) return `${retryName(waiting)} ${when}: ${why}`;
  if (waiting.breaker !== undefined)
    return `for the breaker of ${safeLine(breakerName(waiting.breaker))}, tries again ${when} (\`${resetCommand(waiting.breaker)}\` closes it now): ${why}`;
  return `${left > 0 ? `for ${formatElapsed(left)}` : when}: ${why}`;
}

function leftText(until: string, now: string): string {
  const left = msBetween(now, until);
  return left > 0 ? `, at most ${formatElapsed(left)}` : '';
}

/** Why a story makes no progress, a clause per reason: what stops its whole run first. A person needs no worker to decide. */
export function whyStoryOrRunWaits(story: StoryState, view: WaitingRun, now: string): string[] {
  const { phase } = story;
  const own = whyStoryWaits(story, view.state, now);
  if (needsPerson(story)) return own === undefined ? [] : [own];
  if ((phase !== undefined && isWorking(story, view.state)) || !isUnfinished(story)) return [];
  return [...whyRunWaits(view), ...(own === undefined ? [] : [own])];
}

/** Why no worker would take the stories of a run, and what to do; undefined if one would. */
export function missingWorker({
  state,
  workers,
  draining = 0,
  away = 0,
  engines,
}: Pick<RunView, 'workers' | 'draining' | 'away' | 'engines'> & {
  state: Pick<RunState, 'engineLabels'>;
}): string | undefined {
  const { engineLabels = [] } = state;
  if (engines?.length === 0)
    return `no engine with ${labelsText(engineLabels)} is configured for its user and repository: add one to [[engines]] in config.toml of the server`;
  if (workers > 0) return undefined;
  if (away > 0) return AWAY;
  if (engines === undefined) return draining > 0 ? ALL_DRAIN : NO_WORKER;
  const named = engines.slice(0, MAX_ENGINES).map((name) => safeLine(name));
  const other = named.find((name) => name !== LOCAL_ENGINE);
  const list = `the ${engines.length === 1 ? 'engine' : 'engines'} ${named.join(', ')}${engines.length > MAX_ENGINES ? ', …' : ''}`;
  if (draining > 0)
    return `all workers of ${list}, which may run it, are draining: resume one with \`halo ${other === undefined ? 'worker resume' : `engine resume ${other}`}\``;
  return `no worker of ${list} is running: start \`halo up\`, or \`halo worker --engine ${other ?? ''}\``;
}

const MAX_ENGINES = 5;

/** Whether a worker could execute something, now or later. */
export function canContinue(state: RunState): boolean {
  return state.status !== 'ended' && state.paused === undefined && unmetNeeds(state).length === 0;
}
