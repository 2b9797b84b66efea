import { issueNumber, statusLabels } from '../../core/issues/issue-report.ts';
import type { IssueStatus } from '../../core/issues/issue-source.ts';
import { currentDecision, type RunState } from '../../core/run/state.ts';
import { safeLine } from '../../core/text/safe-text.ts';
import type { Issue } from '../../forge/forge.ts';
import { listSome } from '../../lib/text.ts';

/** Why an issue is not worked on again. */
export type IssueHold =
  | { kind: 'landed'; runId: string; at: string }
  | { kind: 'waiting'; runId: string }
  | { kind: 'open'; runId: string; status: RunState['status'] }
  | { kind: 'labelled'; label: string };

/** With these labels, an issue is worked on already, perhaps by a halo on another machine. */
const HOLDING: readonly IssueStatus[] = ['running', 'waiting', 'landed'];

/**
 * Finds what holds an issue: the newest of the runs (newest first) that worked on it, or else a label that halo set. A run
 * in which it failed, or whose result was rejected, does not hold it.
 */
export function findIssueHold(
  { number, labels }: Issue,
  runs: readonly RunState[],
  names: { label: string; labels?: Partial<Record<IssueStatus, string | undefined>> | undefined },
): IssueHold | undefined {
  for (const run of runs) {
    const { runId, status } = run;
    const story = run.stories.find(({ id }) => issueNumber(id) === number);
    if (story === undefined || ['done', 'skipped', 'cancelled'].includes(story.progress)) continue;
    if (currentDecision(run)?.verdict === 'rejected') return undefined;
    if (story.progress === 'passed') return { kind: 'landed', runId, at: story.endedAt ?? run.createdAt };
    if (status !== 'ended') return { kind: 'open', runId, status };
    if (story.held !== undefined) return { kind: 'waiting', runId };
    break;
  }
  const all = statusLabels(names.label, names.labels);
  const label = HOLDING.map((each) => all[each]).find((each) => each !== undefined && labels.includes(each));
  return label === undefined ? undefined : { kind: 'labelled', label };
}

const MAX_NAMED = 5;

/** Names issues with what holds them, as in `#7 and #9 (landed by run 0tbq…), #4 (label "halo:done")`. */
export function describeHolds(held: readonly { number: number; hold: IssueHold }[]): string {
  const groups = new Map<string, string[]>();
  for (const { number, hold } of held) {
    const why = describeHold(hold);
    groups.set(why, [...(groups.get(why) ?? []), `#${number}`]);
  }
  const texts = [...groups].map(([why, numbers]) => `${listSome(numbers, MAX_NAMED)} (${why})`);
  return listSome(texts, MAX_NAMED);
}

function describeHold(hold: IssueHold): string {
  switch (hold.kind) {
    case 'landed':
      return `landed by run ${hold.runId}`;
    case 'waiting':
      return `waiting for approval in run ${hold.runId}`;
    case 'open':
      return `in run ${hold.runId}, which is ${hold.status}`;
    case 'labelled':
      return `label ${JSON.stringify(safeLine(hold.label, 100))}`;
  }
}
