import { NO_USAGE } from '../agent.ts';
import { progressInFile } from '../control.ts';
import type { JournalEvent } from '../journal/events.ts';
import { openNeeds } from './run-dependencies.ts';
import type { Prd, Story } from '../prd/prd.ts';
import type { RunState, StoryState } from '../run-state.ts';
import { shortStoryKey } from './story-key.ts';
import { inOrder } from './story-order.ts';

/** What a run is at its beginning. */
export function createState(event: JournalEvent & { type: 'run.created' }): RunState {
  return {
    runId: event.runId,
    status: 'queued',
    repo: event.repo,
    prdPath: event.prdPath,
    project: event.prd.project,
    maxAttempts: event.attempts,
    // Runs of an older halo did one story after the other.
    parallel: event.parallel ?? 1,
    onFailure: event.onFailure ?? 'stop',
    stories: createStories(event.prd),
    tip: event.repo.base,
    epoch: 0,
    usage: NO_USAGE,
    ...(event.user === undefined ? {} : { user: event.user }),
    ...(event.agent === undefined ? {} : { agent: event.agent }),
    priority: event.priority ?? 0,
    needs: openNeeds(event.after ?? []),
    ...(event.batch === undefined ? {} : { batch: event.batch }),
    createdAt: event.at,
    ...(event.owner === undefined ? {} : { owner: event.owner, ownedAt: event.at }),
    prdIsHere: event.prdIsHere ?? false,
    ...(event.needsApproval === undefined ? {} : { needsApproval: event.needsApproval }),
    ...(event.scratch === undefined ? {} : { scratch: event.scratch }),
    ...(event.refused === undefined ? {} : { refused: event.refused }),
    seq: event.seq,
  };
}

/** The stories of a PRD at their beginning, in the order in which they run. */
export function createStories(prd: Prd): StoryState[] {
  return inOrder(prd.stories).map((story) => ({
    id: story.id,
    key: story.storyKey ?? shortStoryKey(story.id),
    title: story.title,
    progress: progressInFile(story.status),
    // An older halo kept no dependencies.
    dependsOn: (story as Partial<Story>).dependsOn ?? [],
    attempts: 0,
    conflicts: 0,
  }));
}
