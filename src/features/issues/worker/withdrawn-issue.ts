import { toHaloError } from '../../../core/failure/errors.ts';
import { formatIssueSource, type IssueSource } from '../../../core/issues/issue-source.ts';
import type { JournalEntry } from '../../../core/journal/events.ts';
import type { Prd } from '../../../core/prd/prd.ts';
import { isAttemptDue, isStillPlanned, type PlannedAttempt } from '../../../core/run/plan.ts';
import type { RunState } from '../../../core/run/state.ts';
import type { Issue } from '../../../forge/forge.ts';
import { parsePrd } from '../../../prd/parse-prd.ts';
import {
  openIssueSource,
  WORKER_PATIENCE,
  type ForgeContext,
  type ForgePatience,
} from '../../../worker/network/forges.ts';
import type { WorkerContext } from '../../../worker/worker-context.ts';
import { issueNumber } from '../core/issue-report.ts';
import { issuesToPrd } from '../forge/issues-to-prd.ts';

/** An unavailable forge must not delay the story; the submitted text is used. */
const PATIENCE: ForgePatience = { ...WORKER_PATIENCE, requestMs: 10_000 };

/**
 * Reads the issue of a story again before an attempt starts. If it was closed, deleted or moved, or has lost its label, the
 * story is cancelled in the journal, and this returns true. An issue whose text has changed, or that cannot be read, is noted
 * in the journal: the attempt uses the text that was submitted.
 */
export async function isIssueWithdrawn(
  worker: Pick<WorkerContext, 'store' | 'now'> & ForgeContext,
  { state, planned, prd }: { state: RunState; planned: PlannedAttempt; prd: Prd },
): Promise<boolean> {
  const { issues: source, runId } = state;
  const { story, attempt } = planned;
  const number = issueNumber(story.id);
  const isRunning = story.progress === 'in_progress' || story.approved !== undefined;
  if (source === undefined || number === undefined || isRunning || !isAttemptDue(planned, worker.now())) return false;
  const found = await findIssueChange(worker, { source, number, prd });
  if (found === undefined) return false;
  const ref = { story: story.id, attempt };
  return worker.store.transact<boolean>(runId, (current) => {
    if (!isStillPlanned(current, planned)) return { entries: [], result: false };
    const entry: JournalEntry =
      found.kind === 'withdrawn'
        ? { type: 'story.cancelled', by: formatIssueSource(source), why: found.why, ...ref }
        : { type: 'issue.noted', found: found.kind, why: found.why, ...ref };
    return { entries: [entry], result: found.kind === 'withdrawn' };
  });
}

interface IssueFinding {
  kind: 'withdrawn' | 'edited' | 'unread';
  /** One sentence. */
  why: string;
}

async function findIssueChange(
  context: ForgeContext,
  { source, number, prd }: { source: IssueSource; number: number; prd: Prd },
): Promise<IssueFinding | undefined> {
  try {
    const forge = await openIssueSource(context, source, PATIENCE);
    return judgeIssue(await forge.findIssue(number), { source, prd, number });
  } catch (error) {
    return { kind: 'unread', why: context.masker.text(toHaloError(error).message) };
  }
}

function judgeIssue(
  issue: Issue | undefined,
  { source, prd, number }: { source: IssueSource; prd: Prd; number: number },
): IssueFinding | undefined {
  const name = `Issue #${number}`;
  if (issue === undefined) return { kind: 'withdrawn', why: `${name} was deleted or moved to another project.` };
  if (issue.isClosed) return { kind: 'withdrawn', why: `${name} was closed.` };
  if (!issue.labels.includes(source.label))
    return { kind: 'withdrawn', why: `${name} has no longer the label ${JSON.stringify(source.label)}.` };
  return isEdited(issue, source, prd)
    ? { kind: 'edited', why: `${name} was edited after it was submitted.` }
    : undefined;
}

/** Compares what the agent would receive: changes of labels and comments do not count. */
function isEdited(issue: Issue, source: IssueSource, prd: Prd): boolean {
  const { bytes, path } = issuesToPrd(source, [issue], []);
  const [now] = parsePrd(bytes, path).stories;
  const before = prd.stories.find(({ id }) => id === now?.id);
  const textOf = (story: typeof now) => JSON.stringify([story?.title, story?.description, story?.acceptance]);
  return before !== undefined && textOf(now) !== textOf(before);
}
