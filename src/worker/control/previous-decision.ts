import type { JournalEvent } from '../../core/journal/events.ts';
import type { StoryState } from '../../core/run/state.ts';
import type { RunKeeper } from '../worker-context.ts';

/** The commit of the last decision on a story, if that decision was the same and still holds. */
export async function findPreviousDecision(
  { store }: Pick<RunKeeper, 'store'>,
  { runId, story, verdict }: { runId: string; story: StoryState; verdict: 'approved' | 'rejected' },
): Promise<string | undefined> {
  if (story.held !== undefined) return undefined;
  const counts =
    verdict === 'approved'
      ? story.approved !== undefined || story.progress === 'passed'
      : story.progress === 'failed' && story.stopReason === 'APPROVAL_DENIED';
  if (!counts) return undefined;
  const words = (await store.readJournal(runId)).filter(isDecision);
  const last = words.findLast((word) => word.story === story.id);
  if (last === undefined || (last.type === 'story.rejected') !== (verdict === 'rejected')) return undefined;
  return story.commit ?? last.commit;
}

type DecisionEvent = JournalEvent & { type: 'approval.given' | 'story.approved' | 'story.rejected' };

function isDecision(event: JournalEvent): event is DecisionEvent {
  const { type } = event;
  return type === 'approval.given' || type === 'story.approved' || type === 'story.rejected';
}
