import { plainReason } from '../../core/failure/plain-reason.ts';
import { exitCodeOf } from '../../core/failure/stop-reason.ts';
import { AttemptReader, lastGates, type AttemptRecord } from '../../core/journal/attempts.ts';
import type { CommandResult } from '../../core/journal/event-parts.ts';
import type { JournalEvent } from '../../core/journal/events.ts';
import type { Prd } from '../../core/prd/prd.ts';
import { planNext } from '../../core/run/plan.ts';
import { isDone, isFinished, type RunState } from '../../core/run/state.ts';
import { testsText } from '../../core/test-report/test-report.ts';
import { safeLine, safeOutput } from '../../core/text/safe-text.ts';

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
    stories: state.stories.map(({ id, title, progress, attempts, stopReason, commit, reviewed }) => ({
      ...{ id, title, progress, attempts, stopReason: stopReason ?? null, commit: commit ?? null },
      reviewer: reviewed === undefined ? null : { name: reviewed.agent, version: reviewed.version ?? null },
    })),
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

/** The full output of a failed gate is an artifact. */
const MAX_TAIL_LINES = 20;

interface Ended {
  event: JournalEvent & { type: 'story.ended' };
  attempt: AttemptRecord;
}

/** The content of progress.md: one section for each ended story, for users and for the next agent. */
export function progressText(state: RunState, events: readonly JournalEvent[]): string {
  const landed = state.stories.filter((story) => story.progress === 'passed').length;
  const under = state.stories.filter((story) => story.progress === 'in_progress').map(({ id }) => safeLine(id));
  const inProgress = under.length === 0 ? '' : ` In progress: ${under.join(', ')}.`;
  const head = `# Progress: ${safeLine(state.project)}\n\nRun ${state.runId}: ${landed} of ${state.stories.length} stories passed.${inProgress}\n`;
  const titles = new Map(state.stories.map((story) => [story.id, story.title]));
  return (
    head +
    [...endedStories(events).values()].map((ended) => section(ended, titles.get(ended.event.story) ?? '')).join('')
  );
}

function section({ event, attempt }: Ended, title: string): string {
  const { tests } = attempt;
  const unchanged =
    event.verdict === 'passed' ? [`- commit: none, ${event.described ? 'dry run' : 'no change needed'}`] : [];
  const commit = event.commit === undefined ? unchanged : [`- commit: ${event.commit}`];
  const facts = [
    `- verdict: ${event.verdict} (${plainReason(event.stopReason, event.failure)}), attempt ${event.attempt}`,
    ...commit,
    ...lastGates(attempt).flatMap((gate) => [
      `- gate \`${safeLine(gate.command)}\`: ${gateResult(gate)}`,
      ...tailOf(gate),
    ]),
    ...(tests === undefined ? [] : [`- tests: ${testsText(tests)}`]),
  ];
  return `\n## ${safeLine(`${event.story}: ${title}`)}\n\n${facts.join('\n')}\n\n${quoteTrimmed(event.summary)}\n`;
}

/** The last output lines of a failed gate, indented. */
function tailOf({ tail = '' }: CommandResult): string[] {
  const lines = quoteTrimmed(tail).split('\n').slice(-MAX_TAIL_LINES);
  return tail.trim() === '' ? [] : ['', ...lines.map((line) => `  ${line}`), ''];
}

/** Quotes text of the agent, so that it cannot pass for a heading written by halo. */
function quoteTrimmed(text: string): string {
  return safeOutput(text)
    .trim()
    .split('\n')
    .map((line) => `> ${line}`.trimEnd())
    .join('\n');
}

function gateResult({ exitCode, ms }: CommandResult): string {
  const seconds = `${(ms / 1000).toFixed(1)} s`;
  if (exitCode === 0) return `passed in ${seconds}`;
  return exitCode === undefined ? `stopped after ${seconds}` : `exit ${exitCode} after ${seconds}`;
}

/** The newest end of each story with what its attempt said until then, oldest first. */
function endedStories(events: readonly JournalEvent[]): Map<string, Ended> {
  const last = new Map<string, Ended>();
  const reader = new AttemptReader();
  for (const event of events) {
    const attempt = reader.read(event);
    if (event.type === 'story.ended' && attempt !== undefined) last.set(event.story, { event, attempt });
  }
  return last;
}
