import { unmetNeeds } from './run-dependencies.ts';
import { planNext } from './plan.ts';
import type { RunState } from '../run-state.ts';

/** Most stories at once, of all runs and of those that are alike. */
export interface StoryLimits {
  max?: number;
  perRepo?: number;
  perUser?: number;
  /** By the name of the agent. */
  perAgent: Record<string, number>;
}

/**
 * The limit of the fleet that keeps a run from starting a story which it could start, as its setting: `fleet.max = 2`.
 * Undefined when no limit does; limits by host are not seen, for journals do not say on which host a story is done.
 */
export function heldBy(run: RunState, all: readonly RunState[], limits: StoryLimits): string | undefined {
  if (!couldStart(run)) return undefined;
  const { user = '', agent = '', repo } = run;
  const perAgent = limits.perAgent[agent];
  const rules: [setting: string, most: number | undefined, counts: (other: RunState) => boolean][] = [
    ['max', limits.max, () => true],
    ['per_repo', limits.perRepo, (other) => other.repo.mirror === repo.mirror],
    ['per_user', limits.perUser, (other) => (other.user ?? '') === user],
    [`per_agent.${agent}`, perAgent, (other) => (other.agent ?? '') === agent],
  ];
  const reached = rules.find(([, most, counts]) => most !== undefined && countUnderWay(all.filter(counts)) >= most);
  return reached && `fleet.${reached[0]} = ${reached[1]}`;
}

/** Whether any limit is set. */
export function isLimited({ perAgent, ...others }: StoryLimits): boolean {
  return Object.keys(others).length + Object.keys(perAgent).length > 0;
}

/** Whether it has a story that nothing but its turn keeps back. */
export function couldStart(run: RunState): boolean {
  if (run.status === 'ended' || run.paused !== undefined || unmetNeeds(run).length > 0) return false;
  const plan = planNext(run);
  return (
    plan.kind === 'attempts' &&
    plan.attempts.some(({ story, notBefore }) => story.progress !== 'in_progress' && notBefore === undefined)
  );
}

function countUnderWay(runs: readonly RunState[]): number {
  return runs.flatMap(({ status, stories }) =>
    status === 'ended' ? [] : stories.filter(({ progress }) => progress === 'in_progress'),
  ).length;
}
