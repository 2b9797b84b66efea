import { planNext } from '../core/plan.ts';
import type { RunState } from '../core/run-state.ts';
import { exitCodeOf } from '../core/stop-reason.ts';
import type { Prd } from '../core/prd.ts';

/** Version of what run.json means. */
export const CONTRACT_VERSION = '0.1';

/** What is known of a run besides its events; it must hold no secret. */
export interface RunOrigin {
  haloVersion: string;
  /** `version` is undefined as long as nobody has asked the agent for it. */
  agent: { name: string; version?: string };
  /** The command line as the user gave it, without the program. */
  args: readonly string[];
  /** The configuration the run goes by, as JSON. */
  config: unknown;
}

/** The part of run.json that events do not change. */
export type RunConstants = Partial<RunOrigin> & { prd?: Pick<Prd, 'hash' | 'specHash' | 'dialect'> };

/** run.json: what was run, where, how far it got and how it ended. Times are ISO 8601; null means not yet. */
export function recordOf(state: RunState, constants: RunConstants): Record<string, unknown> {
  return {
    contractVersion: CONTRACT_VERSION,
    haloVersion: constants.haloVersion ?? null,
    runId: state.runId,
    status: state.status,
    createdTime: state.createdAt,
    startTime: state.startedAt ?? null,
    endTime: state.endedAt ?? null,
    stopReason: state.stopReason ?? null,
    exitStatus: state.stopReason === undefined ? null : exitCodeOf(state.stopReason),
    detail: state.detail ?? null,
    repo: { path: state.repo.source, branch: state.repo.branch ?? null, headSha: state.repo.base },
    prd: { path: state.prdPath, project: state.project, ...constants.prd },
    agent: { name: constants.agent?.name ?? null, version: constants.agent?.version ?? null },
    args: constants.args ?? [],
    config: constants.config ?? {},
    progress: progressOf(state),
    landed: {
      branch: `halo/${state.runId}`,
      commits: state.stories.flatMap(({ id, commit }) => (commit === undefined ? [] : [{ story: id, commit }])),
      tip: state.tip,
      mergedInto: state.landed ?? null,
    },
    usage: state.usage,
  };
}

function progressOf(state: RunState): Record<string, unknown> {
  const current = state.stories.find((story) => story.progress === 'in_progress');
  return {
    total: state.stories.length,
    completed: state.stories.filter(({ progress }) => progress === 'passed' || progress === 'done').map(({ id }) => id),
    current: current?.id ?? null,
    next: nextStory(state, current?.id) ?? null,
    stories: state.stories.map(({ id, title, progress, attempts, stopReason, commit }) => {
      return { id, title, progress, attempts, stopReason: stopReason ?? null, commit: commit ?? null };
    }),
  };
}

/** What would run next, after the story under way if that one lands. */
function nextStory(state: RunState, current: string | undefined): string | undefined {
  if (state.status === 'ended' && state.stopReason === 'SUCCESS') return undefined;
  const rest = state.stories.filter(({ id }) => id !== current);
  const plan = planNext({ ...state, stories: rest });
  return plan.kind === 'attempt' ? plan.story.id : undefined;
}
