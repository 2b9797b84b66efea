import { planNext } from '../../core/run/plan.ts';
import { isDone, isFinished } from '../../core/progress.ts';
import type { RunState } from '../../core/run-state.ts';
import { exitCodeOf } from '../../core/failure/stop-reason.ts';
import type { Prd } from '../../core/prd/prd.ts';

/** Version of what run.json means. */
const CONTRACT_VERSION = '0.1';

/** What is known of a run besides its events; it must hold no secret. */
export interface RunOrigin {
  haloVersion: string;
  /** All but its name is undefined as long as nobody has asked the agent for it; null where no setting names one. */
  agent: { name: string | null; version?: string; features?: string[]; help?: string };
  /** The command line as the user gave it, without the program. */
  args: readonly string[];
  /** The configuration the run goes by, as JSON. */
  config: unknown;
}

/** The part of run.json that events do not change by themselves. */
export type RunConstants = Partial<RunOrigin> & {
  prd?: Partial<Pick<Prd, 'hash' | 'specHash' | 'dialect'>>;
  /** As of the last time that the file was written. */
  stopReason?: string | null;
};

/** What the run was made with, and what people changed since. Settings that are lost stay lost: see requireSettings. */
function effectiveConfig(made: unknown, { overrides }: RunState): unknown {
  const isWhole = typeof made === 'object' && made !== null && 'gates' in made;
  return isWhole ? { ...made, ...overrides } : (made ?? {});
}

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
    repo: { path: state.repo.source, branch: state.repo.branch ?? null, headSha: state.repo.base || null },
    prd: { path: state.prdPath, project: state.project, ...constants.prd },
    agent: { name: null, version: null, ...constants.agent },
    user: state.user ?? null,
    priority: state.priority,
    after: state.needs.map(({ run }) => run),
    batch: state.batch ?? null,
    args: constants.args ?? [],
    config: effectiveConfig(constants.config, state),
    reconfigured: state.reconfigured ?? [],
    progress: progressOf(state),
    landed: {
      branch: `halo/${state.runId}`,
      commits: state.stories.flatMap(({ id, commit }) => (commit === undefined ? [] : [{ story: id, commit }])),
      tip: state.tip || null,
      mergedInto: state.landed ?? null,
    },
    usage: state.usage,
  };
}

function progressOf(state: RunState): Record<string, unknown> {
  const current = state.stories.filter((story) => story.progress === 'in_progress').map(({ id }) => id);
  return {
    total: state.stories.length,
    completed: state.stories.filter(isDone).map(({ id }) => id),
    current: current[0] ?? null,
    inProgress: current,
    next: nextStory(state) ?? null,
    unmarked: state.unmarked ?? null,
    stories: state.stories.map(({ id, title, progress, attempts, stopReason, commit }) => {
      return { id, title, progress, attempts, stopReason: stopReason ?? null, commit: commit ?? null };
    }),
  };
}

/** What is done next: after the stories under way if those land, and of a run that has ended when it is resumed. */
function nextStory(state: RunState): string | undefined {
  const landed = state.stories.map((story) =>
    story.progress === 'in_progress' ? { ...story, progress: 'passed' as const } : story,
  );
  const plan = planNext({ ...state, stories: landed });
  const planned = plan.kind === 'attempts' ? plan.attempts[0]?.story.id : undefined;
  if (state.status !== 'ended') return planned;
  const left = landed.filter((story) => !isFinished(story));
  return left.find(({ progress }) => progress !== 'pending')?.id ?? planned ?? left[0]?.id;
}
