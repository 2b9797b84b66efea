import { PROGRESS } from '../../../core/run/progress.ts';
import { needsPerson, type RunState, type StoryState } from '../../../core/run/state.ts';
import type { IssueStatus, SentReport } from '../../../core/issues/issue-source.ts';

/** A change of one issue. */
export interface IssueReport {
  number: number;
  status: IssueStatus;
  /** The label to add, if any. */
  add: string | undefined;
  /** The labels to remove. */
  remove: string[];
  /** Identifies the comment; it is in its text, where readers do not see it. */
  marker: string;
  /** Undefined: nothing is to be said. */
  comment: string | undefined;
}

const SUFFIXES: Partial<Record<IssueStatus, string | undefined>> = {
  running: 'in-progress',
  landed: 'done',
  failed: 'failed',
  waiting: 'waiting',
};

/** The label of each status that has one: those named in `labels`, or else the label of the run with a suffix. */
export function statusLabels(
  label: string,
  labels: Partial<Record<IssueStatus, string | undefined>> = {},
): Partial<Record<IssueStatus, string>> {
  const entries = Object.entries(SUFFIXES) as [IssueStatus, string][];
  return Object.fromEntries(entries.map(([status, suffix]) => [status, labels[status] ?? `${label}:${suffix}`]));
}

/** The number of the issue that is a story, by the story's id (`#42`). */
export function issueNumber(storyId: string): number | undefined {
  const found = /^#([1-9]\d{0,9})$/.exec(storyId);
  return found === null ? undefined : Number(found[1]);
}

/** What an issue should show; undefined until its story has started. */
function issueStatus(story: StoryState, run: Pick<RunState, 'status'>): IssueStatus | undefined {
  const { issue } = PROGRESS[story.progress];
  if (needsPerson(story) && story.held !== undefined) return 'waiting';
  switch (issue) {
    case 'none':
      return undefined;
    case 'stopped':
      return story.attempts === 0 ? undefined : 'stopped';
    case 'open':
      if (story.attempts === 0) return undefined;
      return run.status === 'ended' ? 'stopped' : 'running';
    case 'landed':
    case 'failed':
    case 'running':
      return issue;
  }
}

/**
 * The changes of an issue since its last report; undefined if there are none. `label`: the label of the run's issues, which
 * is never removed; `labels`: the labels of statuses, if they do not begin with it.
 */
export function planReport(
  run: RunState,
  story: StoryState,
  {
    sent,
    label,
    labels,
  }: { sent: SentReport; label: string; labels?: Partial<Record<IssueStatus, string | undefined>> },
): IssueReport | undefined {
  const number = issueNumber(story.id);
  const status = issueStatus(story, run);
  if (number === undefined || status === undefined || status === sent.status || sent.gone) return undefined;
  const all = statusLabels(label, labels);
  const add = all[status];
  const marker = `<!-- halo:${run.runId}:${story.key}:${story.attempts}:${status} -->`;
  const text = commentText(run, story, status);
  return {
    number,
    status,
    add,
    remove: Object.values(all).filter((each) => each !== add && each !== label),
    marker,
    comment: text === undefined ? undefined : `${text}\n\n${marker}`,
  };
}

/** Only words of halo, ids and commits: nothing that an agent wrote. */
function commentText(
  { runId }: Pick<RunState, 'runId'>,
  { attempts, commit, stopReason }: StoryState,
  status: IssueStatus,
): string | undefined {
  const tries = attempts === 1 ? '1 attempt' : `${attempts} attempts`;
  switch (status) {
    case 'landed':
      return commit === undefined
        ? `Run \`${runId}\` found that the repository already fulfils this issue.`
        : `Run \`${runId}\` implemented this issue in commit \`${commit.slice(0, 12)}\` on the branch \`halo/${runId}\` (${tries}).`;
    case 'failed':
      return `Run \`${runId}\` did not implement this issue: \`${stopReason ?? 'FAILED'}\` (${tries}). \`halo status ${runId}\` shows the reason.`;
    case 'waiting':
      return `Run \`${runId}\` implemented this issue; the commit waits for approval. \`halo show ${runId}\` shows it.`;
    case 'running':
    case 'stopped':
      return undefined;
  }
}
