import { LOCAL_ENGINE } from '../engine/engine-address.ts';
import { planNext } from './plan.ts';
import { unmetNeeds } from './run-dependencies.ts';
import type { RunState, StoryState } from './state.ts';

/** Maximum number of stories that run at the same time in one HALO_HOME; an absent value means no limit. */
export interface FleetLimits {
  max?: number | undefined;
  perHost?: number | undefined;
  perRepo?: number | undefined;
  perUser?: number | undefined;
  /** By the name of the agent. */
  perAgent: Readonly<Partial<Record<string, number | undefined>>>;
}

/** A fleet without limits. */
export const NO_LIMITS: FleetLimits = { perAgent: {} };

/**
 * Returns the limit that prevents a run from starting a ready story, as its setting: `fleet.max = 2`; undefined if none
 * does. `perHost` is ignored, because journals do not record the host of a story.
 */
export function limitedBy(run: RunState, all: readonly RunState[], limits: FleetLimits): string | undefined {
  if (!isReadyToStart(run)) return undefined;
  const { user = '', agent = '', repo } = run;
  const rules: [setting: string, max: number | undefined, counts: (other: RunState, story: StoryState) => boolean][] = [
    ['max', limits.max, () => true],
    ['per_repo', limits.perRepo, (other) => other.repo.mirror === repo.mirror],
    ['per_user', limits.perUser, (other) => other.user === user],
    [`per_agent.${agent}`, limits.perAgent[agent], (other, story) => agentOf(other, story) === agent],
  ];
  const reached = rules.find(([, max, counts]) => max !== undefined && countInProgress(all, counts) >= max);
  return reached && `fleet.${reached[0]} = ${reached[1]}`;
}

/** Whether any limit is set. */
export function hasFleetLimit({ perAgent, ...others }: FleetLimits): boolean {
  return Object.keys(others).length + Object.keys(perAgent).length > 0;
}

/** Whether the run has a story that is ready to start. */
export function isReadyToStart(run: RunState): boolean {
  if (run.status === 'ended' || run.paused !== undefined || unmetNeeds(run).length > 0) return false;
  const plan = planNext(run);
  return (
    plan.kind === 'attempts' &&
    plan.attempts.some(({ story, notBefore }) => story.progress !== 'in_progress' && notBefore === undefined)
  );
}

/** Whether an open run waits for a worker or for something else: only then does it matter whether workers drain. */
export function hasNothingRunning({ status, paused, stories }: RunState): boolean {
  if (status === 'ended' || paused !== undefined) return false;
  return !stories.some(({ progress, waiting }) => progress === 'in_progress' && waiting === undefined);
}

/** What decides whether a worker takes the stories of a run. */
interface RunningWorker {
  id: string;
  /** `own`: only the stories of the run that it owns. */
  takes: 'any' | 'own';
  /** Absent if it is not known. */
  engine?: string | undefined;
  draining: boolean;
  /** Its engine does not answer. */
  away?: boolean | undefined;
}

/** How many workers would take the stories of a run. */
export interface Takers {
  workers: number;
  /** How many would not, because they drain. */
  draining: number;
  /** How many would not, because their engine does not answer; absent: none. */
  away?: number;
}

/** Counts the running workers for a run. `engines`: see `enginesFor`; absent: only that of the environment. */
export function countTakers(
  { owner, engines = [LOCAL_ENGINE] }: Pick<RunState, 'owner'> & { engines?: readonly string[] },
  running: readonly RunningWorker[],
): Takers {
  const own = running.filter(({ id }) => id === owner);
  const isFor = ({ takes, engine }: RunningWorker) =>
    takes === 'any' && (engine === undefined || engines.includes(engine));
  const found = own.length > 0 ? own : running.filter(isFor);
  const draining = found.filter((worker) => worker.draining).length;
  const away = found.filter((worker) => worker.away === true && !worker.draining).length;
  return { workers: found.length - draining - away, draining, ...(away > 0 && { away }) };
}

function countInProgress(runs: readonly RunState[], counts: (run: RunState, story: StoryState) => boolean): number {
  return runs
    .filter(({ status }) => status !== 'ended')
    .flatMap((run) => run.stories.filter((story) => story.progress === 'in_progress' && counts(run, story))).length;
}

/** The agent of the latest attempt at a story. */
function agentOf({ agent = '' }: RunState, { choice, fallback }: StoryState): string {
  return fallback?.agent ?? choice?.agent ?? agent;
}
