import { isIn } from '../../../core/run/progress.ts';
import type { Config } from '../../../config/config.ts';
import { HaloError } from '../../../core/failure/errors.ts';
import { formatIssueSource, type IssueSource, type IssueStatus } from '../../../core/issues/issue-source.ts';
import { type RunState, currentDecision } from '../../../core/run/state.ts';
import { safeLine } from '../../../core/text/safe-text.ts';
import type { Forge, Issue } from '../../../forge/forge.ts';
import { mapConcurrent } from '../../../lib/async.ts';
import type { IssueRuns } from '../../../store/forge-files.ts';
import type { Store } from '../../../store/store.ts';
import { openIssueSource } from '../../../worker/network/forges.ts';
import type { SubmitContext } from '../../../api/submit/submit-context.ts';
import { issueNumber, statusLabels } from '../core/issue-report.ts';
import { listSome } from '../../../lib/text.ts';

const MAX_READS = 8;

interface IssueQuery {
  issues: IssueSource;
  runs: IssueRuns;
  settings: Config['issues'];
  /** Include issues that a run works on or has done. */
  again: boolean;
  /** The ids of the only stories to run. */
  stories?: string[] | undefined;
}

/** The issues of a new run. */
interface FoundIssues {
  /** Those that an earlier run landed count as closed: the new run continues from there. */
  found: Issue[];
  /** The runs of this project so far. */
  known: string[];
  /** Which issues are left out, and why, a sentence each. */
  notes: string[];
}

/** Reads the open issues and leaves out those that are worked on already. Throws FORGE_FAILED, NOTHING_RUNNABLE. */
export async function selectIssues(
  { host, env, masker, store }: Pick<SubmitContext, 'host' | 'env' | 'masker' | 'store'>,
  { issues, runs, settings, again, stories }: IssueQuery,
): Promise<FoundIssues> {
  const forge = await openIssueSource({ home: host.home, env, masker }, issues);
  const listed = await forge.listIssues(issues.label);
  const open = [...new Map(listed.map((issue) => [issue.number, issue])).values()];
  const where = `${formatIssueSource(issues)} has no open issue with the label ${JSON.stringify(safeLine(issues.label))}`;
  if (open.length === 0)
    throw new HaloError('NOTHING_RUNNABLE', `${where}.`, {
      hint: 'Add the label to the issues to work on, or name another one with --label.',
    });
  const { known, states } = await readIssueRuns(store, runs, issues);
  if (again) return { found: open, known, notes: [] };
  const names = { label: issues.label, labels: settings.labels };
  const judged = await mapConcurrent(open, MAX_READS, async (issue) => {
    const hold = findIssueHold(issue, states, names);
    return { issue, number: issue.number, hold: (await isReopened(forge, issue, hold)) ? undefined : hold };
  });
  const held = judged.flatMap(({ number, hold }) => (hold === undefined ? [] : [{ number, hold }]));
  const isAsked = ({ number }: Issue) => stories === undefined || stories.includes(`#${number}`);
  if (held.length > 0 && !judged.some(({ issue, hold }) => hold === undefined && isAsked(issue)))
    throw new HaloError('NOTHING_RUNNABLE', `${where} that is left to work on: ${describeHolds(held)}.`, {
      hint: 'Land what is done and close its issues. Pass --again to work on the issues again.',
    });
  const found = judged.flatMap(({ issue, hold }) => {
    if (hold === undefined) return [issue];
    return hold.kind === 'landed' ? [{ ...issue, isClosed: true }] : [];
  });
  const notes = held.length === 0 ? [] : [`Issues left out: ${describeHolds(held)}. --again works on them again.`];
  return { found, known, notes };
}

/** The runs of a project that changed something or may do so, newest first. */
async function readIssueRuns(
  store: Pick<Store, 'list' | 'readState'>,
  runs: IssueRuns,
  { forge, project }: IssueSource,
): Promise<{ known: string[]; states: RunState[] }> {
  const isSame = ({ issues }: RunState) =>
    issues?.forge === forge && issues.project.toLowerCase() === project.toLowerCase();
  const listed = await runs.read();
  const states =
    listed === undefined
      ? (await store.list()).runs.filter(isSame)
      : // A run may have been removed; an unreadable one is reported elsewhere.
        (await mapConcurrent(listed, MAX_READS, (runId) => store.readState(runId).catch(() => undefined))).flatMap(
          (state) => state ?? [],
        );
  const newestFirst = states.sort((a, b) => (a.runId < b.runId ? 1 : -1));
  const known = newestFirst.map(({ runId }) => runId).reverse();
  if (listed === undefined) await runs.write(known);
  return { known, states: newestFirst.filter(({ dry, refused }) => !dry && !refused) };
}

async function isReopened(forge: Forge, { number }: Issue, hold: IssueHold | undefined): Promise<boolean> {
  return hold?.kind === 'landed' && forge.wasReopened(number, hold.at);
}

/** Why an issue is not worked on again. */
type IssueHold =
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
    if (story === undefined || story.progress === 'done' || isIn('out', story)) continue;
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

/** Names issues with what holds them, as in `#7 and #9 (done by run 0tbq…), #4 (label "halo:done")`. */
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
      return `done by run ${hold.runId}`;
    case 'waiting':
      return `waiting for approval in run ${hold.runId}`;
    case 'open':
      return `in run ${hold.runId}, which is ${hold.status}`;
    case 'labelled':
      return `label ${JSON.stringify(safeLine(hold.label, 100))}`;
  }
}
