import { cancelled, progressInFile, reopened, steer, type Pause, type RunDecision } from './control.ts';
import { addUsage, NO_USAGE, type Usage } from './agent.ts';
import type { BatchRef, HeldCommit, JournalEvent, RunRepo, Scheduling } from './events.ts';
import {
  afterEnd,
  afterStart,
  countForBreaker,
  foldFailure,
  waitNoMore,
  withoutStart,
  withoutBreaker,
  type RunFailures,
  type StoryFailures,
} from './fold-failure.ts';
import { changeNeed, openNeeds, type Need } from './needs.ts';
import type { Phase } from './phase.ts';
import type { Prd, Story } from './prd.ts';
import type { StopReason } from './stop-reason.ts';
import { inOrder } from './story-order.ts';
import { storyKey } from './story-key.ts';
import type { TestChanges } from './test-report.ts';

/** `done` was already done in the PRD; `skipped` the PRD says to leave out; `cancelled` a person did. */
export type StoryProgress =
  'pending' | 'in_progress' | 'passed' | 'failed' | 'needs_human' | 'done' | 'skipped' | 'cancelled';

export interface StoryState extends StoryFailures {
  id: string;
  key: string;
  title: string;
  progress: StoryProgress;
  /** Ids of stories that must have landed before. */
  dependsOn: string[];
  /** Attempts begun so far. */
  attempts: number;
  /** Attempts among them that only ended because another story had landed first in the same place. */
  conflicts: number;
  /** The fencing epoch of its newest attempt, and the commit that one builds on. */
  epoch?: number;
  base?: string;
  /** Attempts among them that a person's retry made up for. */
  spent?: number;
  /** The phase under way, while in progress. */
  phase?: Phase;
  /** How the last attempt ended. */
  stopReason?: StopReason;
  summary?: string;
  commit?: string;
  /** What waits for a person's word, while it does. */
  held?: HeldCommit;
  /** Tests of the last attempt that came that far, against those of its base. */
  tests?: TestChanges;
  /** Its attempt under way has told its usage answer by answer. */
  metered?: true;
  startedAt?: string;
  endedAt?: string;
}

/** What a run's journal adds up to. */
export interface RunState extends Scheduling, RunFailures {
  runId: string;
  status: 'queued' | 'running' | 'ended';
  repo: RunRepo;
  prdPath: string;
  project: string;
  /** Most attempts a story may use. */
  maxAttempts: number;
  /** In the order in which they run. */
  stories: StoryState[];
  /** The newest landed commit, or the run's base. */
  tip: string;
  /** The newest fencing epoch handed out to any story. */
  epoch: number;
  usage: Usage;
  /** Who submitted it, where that is known. */
  user?: string;
  /** The agent that works on it, where that is known. */
  agent?: string;
  /** Smaller goes first. */
  priority: number;
  /** The runs that it starts after. */
  needs: Need[];
  batch?: BatchRef;
  createdAt: string;
  /** The worker that has the run for itself while it lives. */
  owner?: string;
  /** Whether `prdPath` is on the machine that made the run. */
  prdIsHere: boolean;
  /** It never began and never will: it only says why. */
  refused?: true;
  /** While a person lets it rest. */
  paused?: Pause;
  /** A person's word on all that the run made. */
  decision?: RunDecision;
  startedAt?: string;
  /** How its sandboxes reach their gateways, once it has begun. */
  channel?: 'socket' | 'stdio';
  endedAt?: string;
  stopReason?: StopReason;
  detail?: string;
  /** The last time that requests for a model had to wait. */
  modelPause?: { model: string; why: 'provider' | 'rate'; until: string };
  /** The branch that `halo land` moved, and the commit it moved it to. */
  landed?: { branch: string; to: string };
  /** seq of the last event folded in. */
  seq: number;
}

/** Folds a run's events, in order. The first one is `run.created`. */
export function foldRun(events: Iterable<JournalEvent>): RunState | undefined {
  let state: RunState | undefined;
  for (const event of events) state = applyEvent(state, event);
  return state;
}

/** The state after one more event; the state given is not changed. */
export function applyEvent(state: RunState | undefined, event: JournalEvent): RunState | undefined {
  if (event.type === 'run.created') return createState(event);
  if (state === undefined) return undefined;
  const next = { ...state, seq: event.seq };
  switch (event.type) {
    case 'need.changed':
      return changeNeed(next, event);
    case 'run.started': {
      const { channel, at } = event;
      return { ...next, status: 'running', startedAt: state.startedAt ?? at, ...(channel && { channel }) };
    }
    case 'run.claimed':
      return { ...next, owner: event.owner };
    case 'run.ended':
      return endRun(next, event);
    case 'run.landed':
      return { ...next, landed: { branch: event.branch, to: event.to } };
    case 'story.started':
      return {
        ...withStory(next, event.story, (story) => ({
          ...afterStart(story),
          progress: 'in_progress',
          attempts: event.attempt,
          epoch: event.epoch,
          base: event.base,
          startedAt: story.startedAt ?? event.at,
        })),
        epoch: event.epoch,
      };
    case 'phase.started':
      return withStory(next, event.story, (story) => ({ ...story, phase: event.phase }));
    case 'model.used':
      return {
        ...withStory(next, event.story, (story) => ({ ...story, metered: true })),
        usage: addUsage(state.usage, event.usage),
      };
    case 'model.paused':
      return { ...next, modelPause: { model: event.model, why: event.why, until: event.until } };
    case 'story.ended':
      return {
        ...withStory(countForBreaker(next, event), event.story, (story) => ({
          ...afterEnd(withoutPhase(story), event),
          progress: event.verdict,
          stopReason: event.stopReason,
          summary: event.summary,
          endedAt: event.at,
          conflicts: story.conflicts + (event.conflicts === undefined ? 0 : 1),
          ...(event.commit === undefined ? {} : { commit: event.commit }),
          ...(event.held === undefined ? {} : { held: event.held }),
        })),
        tip: event.commit ?? state.tip,
        // The sum of what is counted already, unless a cassette answered.
        usage: isMetered(state, event.story) ? state.usage : addUsage(state.usage, event.usage),
      };
    case 'tests.compared': {
      const { before, after, removed, skipped, emptied } = event;
      const tests = { before, after, removed, skipped, emptied };
      return withStory(next, event.story, (story) => ({ ...story, tests }));
    }
    case 'story.disturbed':
    case 'story.returned':
    case 'retry.scheduled':
    case 'breaker.held':
      return withStory(next, event.story, (story) => foldFailure(story, event));
    case 'breaker.opened':
      return { ...next, breaker: event.reason };
    case 'breaker.reset':
      return resetBreaker(next, event.key);
    case 'story.approved':
    case 'story.rejected':
      return decideHeld(next, event);
    case 'run.paused':
    case 'run.resumed':
    case 'run.retried':
    case 'run.replanned':
    case 'run.approved':
    case 'run.rejected':
    case 'story.cancelled':
      return steer(event.type === 'run.retried' ? withoutBreaker(next) : next, event, createStories);
    case 'story.stopped':
      return {
        ...withStory(next, event.story, (story) => withoutStart(withoutPhase(story))),
        usage: addUsage(state.usage, event.usage),
      };
    case 'phase.ended':
    case 'setup.ended':
    case 'agent.activity':
    case 'network.asked':
    case 'gate.started':
    case 'gate.ended':
    case 'story.merged':
    case 'note.failed':
    case 'secrets.suspected':
      return next;
  }
}

/** A run that had ended for its breaker goes on. */
function resetBreaker(state: RunState, key: string): RunState {
  if (key !== 'run') return { ...state, stories: state.stories.map((story) => waitNoMore(story, key)) };
  return withoutBreaker(state.stopReason === 'CIRCUIT_OPEN' ? reopened(state) : state);
}

/** A decision counts once, and only on the commit that it was made on. Both let a run that ended go on. */
function decideHeld(state: RunState, event: JournalEvent & { type: 'story.approved' | 'story.rejected' }): RunState {
  const waiting = state.stories.find(({ id }) => id === event.story)?.held?.commit;
  if (waiting !== event.commit) return state;
  const decided = withStory(reopened(state), event.story, (story) => {
    const ended = { ...story, endedAt: event.at };
    delete ended.held;
    return event.type === 'story.approved'
      ? { ...ended, progress: 'passed', stopReason: 'SUCCESS', commit: event.commit }
      : { ...ended, progress: 'failed', stopReason: 'APPROVAL_DENIED', summary: event.reason };
  });
  return event.type === 'story.approved' ? { ...decided, tip: event.commit } : decided;
}

/** Nothing works on a run that a person ended. */
function endRun(state: RunState, { at, stopReason, detail }: JournalEvent & { type: 'run.ended' }): RunState {
  const ended: RunState = { ...state, status: 'ended', endedAt: at, stopReason, detail };
  delete ended.paused;
  if (stopReason !== 'USER_ABORT') return ended;
  const stories = state.stories.map((story) =>
    story.progress === 'in_progress' ? cancelled(story, detail, at) : story,
  );
  return { ...ended, stories };
}

function createState(event: JournalEvent & { type: 'run.created' }): RunState {
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
    ...(event.owner === undefined ? {} : { owner: event.owner }),
    prdIsHere: event.prdIsHere ?? false,
    ...(event.refused === undefined ? {} : { refused: event.refused }),
    seq: event.seq,
  };
}

function createStories(prd: Prd): StoryState[] {
  return inOrder(prd.stories).map((story) => ({
    id: story.id,
    key: storyKey(story.id),
    title: story.title,
    progress: progressInFile(story.status),
    // An older halo kept no dependencies.
    dependsOn: (story as Partial<Story>).dependsOn ?? [],
    attempts: 0,
    conflicts: 0,
  }));
}

function isMetered(state: RunState, id: string): boolean {
  return state.stories.find((story) => story.id === id)?.metered === true;
}

function withoutPhase(story: StoryState): StoryState {
  const copy = { ...story };
  delete copy.phase;
  delete copy.metered;
  return copy;
}

function withStory(state: RunState, id: string, change: (story: StoryState) => StoryState): RunState {
  return { ...state, stories: state.stories.map((story) => (story.id === id ? change(story) : story)) };
}
