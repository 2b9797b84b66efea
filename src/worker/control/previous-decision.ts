import type { JournalEvent } from '../../core/journal/events.ts';
import type { StoryState } from '../../core/run-state.ts';
import type { RunKeeper } from '../worker-context.ts';

/** The commit that a person's word on a story was about, when it was the same word and still counts. */
export async function decidedBefore(
  { store }: Pick<RunKeeper, 'store'>,
  { runId, story, verdict }: { runId: string; story: StoryState; verdict: 'approved' | 'rejected' },
): Promise<string | undefined> {
  if (story.held !== undefined) return undefined;
  const counts =
    verdict === 'approved'
      ? story.approved !== undefined || story.progress === 'passed'
      : story.progress === 'failed' && story.stopReason === 'APPROVAL_DENIED';
  if (!counts) return undefined;
  const words = (await store.readJournal(runId)).filter(isWord);
  const last = words.findLast((word) => word.story === story.id);
  if (last === undefined || (last.type === 'story.rejected') !== (verdict === 'rejected')) return undefined;
  return story.commit ?? last.commit;
}

type Word = JournalEvent & { type: 'approval.given' | 'story.approved' | 'story.rejected' };

function isWord(event: JournalEvent): event is Word {
  const { type } = event;
  return type === 'approval.given' || type === 'story.approved' || type === 'story.rejected';
}
