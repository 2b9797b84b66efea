import { planNext } from '../../core/run/plan.ts';
import { isDone, isFinished, type RunState } from '../../core/run/state.ts';
import { exitCodeOf } from '../../core/failure/stop-reason.ts';
import type { Prd } from '../../core/prd/prd.ts';

/** Version of the format of run.json. */
const CONTRACT_VERSION = '0.1';

/** Facts about a run that its events do not contain. They must not contain secrets. */
export interface RunOrigin {
  haloVersion: string;
  /** `name` is null when no setting names an agent. The other fields are undefined until the agent has been queried. */
  agent: { name: string | null; version?: string; features?: string[]; help?: string };
  /** The command line arguments as given by the user. */
  args: readonly string[];
  /** The run's configuration as JSON. */
  config: unknown;
}

/** The fields of run.json that are not derived from events. */
export type RunConstants = Partial<RunOrigin> & {
  prd?: Partial<Pick<Prd, 'hash' | 'specHash' | 'dialect'>>;
  /** The value when the file was last written. */
  stopReason?: string | null;
};

/** The configuration at creation with later overrides. Missing settings stay missing: see requireSettings. */
function effectiveConfig(original: unknown, { overrides }: RunState): unknown {
  const isWhole = typeof original === 'object' && original !== null && 'gates' in original;
  return isWhole ? { ...original, ...overrides } : (original ?? {});
}

/** The content of run.json: what was run and where, its progress and its end. Times are ISO 8601; null means not yet. */
export function buildRunRecord(state: RunState, constants: RunConstants): Record<string, unknown> {
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
    user: state.user,
    priority: state.priority,
    after: state.needs.map(({ run }) => run),
    batch: state.batch ?? null,
    selected: state.selected ?? null,
    dry: state.dry ?? false,
    planning: state.planning ?? false,
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

/** The next story, assuming that the stories in progress land; for an ended run, the first story after a resume. */
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
