import { NO_USAGE } from '../agent.ts';
import type { JournalEvent } from '../journal/events.ts';
import type { Prd, StoryStatus } from '../prd/prd.ts';
import { openNeeds } from './run-dependencies.ts';
import type { RunState, StoryState } from './state.ts';
import { sortStories } from './story-order.ts';

/** Creates the state of a new run. */
export function createState(event: JournalEvent & { type: 'run.created' }): RunState {
  return {
    runId: event.runId,
    status: 'queued',
    repo: event.repo,
    prdPath: event.prdPath,
    project: event.prd.project,
    maxAttempts: event.attempts,
    parallel: event.parallel,
    onFailure: event.onFailure,
    stories: createStories(event.prd, event.selected),
    tip: event.repo.base,
    epoch: 0,
    usage: NO_USAGE,
    user: event.user,
    ...(event.agent === undefined ? {} : { agent: event.agent }),
    priority: event.priority,
    ...(event.engineLabels === undefined ? {} : { engineLabels: event.engineLabels }),
    needs: openNeeds(event.after ?? []),
    ...(event.batch === undefined ? {} : { batch: event.batch }),
    ...(event.issues === undefined ? {} : { issues: event.issues }),
    createdAt: event.at,
    askedAt: event.at,
    ...(event.owner === undefined ? {} : { owner: event.owner }),
    prdIsHere: event.prdIsHere,
    ...(event.needsApproval === undefined ? {} : { needsApproval: event.needsApproval }),
    ...(event.scratch === undefined ? {} : { scratch: event.scratch }),
    ...(event.task === undefined ? {} : { task: event.task }),
    ...(event.refused === undefined ? {} : { refused: event.refused }),
    ...(event.selected === undefined ? {} : { selected: event.selected }),
    ...(event.dry === undefined ? {} : { dry: event.dry }),
    ...(event.planning === undefined ? {} : { planning: event.planning }),
    seq: event.seq,
  };
}

/** Creates the states of a PRD's stories, in execution order. Open stories that are not `selected` are skipped. */
export function createStories(prd: Prd, selected?: readonly string[]): StoryState[] {
  return sortStories(prd.stories).map((story) => ({
    id: story.id,
    key: story.storyKey,
    title: story.title,
    progress: selected?.includes(story.id) === false ? unselectedProgress(story.status) : initialProgress(story.status),
    dependsOn: story.dependsOn,
    attempts: 0,
    conflicts: 0,
  }));
}

function unselectedProgress(status: StoryStatus): 'done' | 'skipped' {
  return status === 'done' ? 'done' : 'skipped';
}

function initialProgress(status: StoryStatus): 'done' | 'skipped' | 'pending' {
  switch (status) {
    case 'done':
      return 'done';
    case 'skipped':
    case 'blocked':
      return 'skipped';
    case 'pending':
    case 'in_progress':
      return 'pending';
  }
}
