import type { HeldCommit, JournalEvent } from './journal/events.ts';
import type { StoryFailures } from './fold-failure.ts';
import type { Phase } from './phase.ts';
import type { Prd, StoryStatus } from './prd/prd.ts';
import type { StopReason } from './failure/stop-reason.ts';
import { isDone } from './progress.ts';

/** A person's word that a run shall rest: after the stories under way or, with `now`, in the middle of them. */
export interface Pause {
  by: string;
  /** ISO 8601 */
  at: string;
  now: boolean;
}

/** A person's decision on all that a run made, as of a commit. */
export interface RunDecision {
  verdict: 'approved' | 'rejected';
  by: string;
  tip: string;
  reason?: string;
}

/** Events by which people steer a run. */
export type ControlEvent = JournalEvent & {
  type:
    | 'run.paused'
    | 'run.resumed'
    | 'run.retried'
    | 'run.replanned'
    | 'run.approved'
    | 'run.rejected'
    | 'story.cancelled';
};

/** What of a story these events change. */
interface Steered extends StoryFailures {
  id: string;
  key: string;
  title: string;
  progress: 'pending' | 'in_progress' | 'passed' | 'failed' | 'needs_human' | 'done' | 'skipped' | 'cancelled';
  dependsOn: string[];
  attempts: number;
  conflicts: number;
  spent?: number;
  phase?: Phase;
  stopReason?: StopReason;
  summary?: string;
  held?: HeldCommit;
  approved?: { commit: string; by: string };
  endedAt?: string;
}

interface Steerable<S extends Steered> {
  stories: S[];
  prdPath: string;
  project: string;
  status: 'queued' | 'running' | 'ended';
  paused?: Pause;
  decision?: RunDecision;
  endedAt?: string;
  stopReason?: StopReason;
  detail?: string;
}

/** The state after a person's word. `create` makes the state of a story that is new. */
export function steer<S extends Steered, R extends Steerable<S>>(
  state: R,
  event: ControlEvent,
  create: (prd: Prd) => S[],
): R {
  switch (event.type) {
    case 'run.paused':
      return { ...state, paused: { by: event.by, at: event.at, now: event.now } };
    case 'run.resumed':
      return without(state, 'paused');
    case 'run.retried': {
      const again = state.stories.map((story) => (event.stories.includes(story.id) ? refreshed(story) : story));
      return { ...reopened(without(state, 'paused')), stories: again };
    }
    case 'run.replanned':
      return replanned(state, event, create(event.prd));
    case 'run.approved':
      return { ...state, decision: { verdict: 'approved', by: event.by, tip: event.tip } };
    case 'run.rejected': {
      const { by, tip, reason } = event;
      return { ...state, decision: { verdict: 'rejected', by, tip, reason } };
    }
    case 'story.cancelled':
      return {
        ...state,
        stories: state.stories.map((story) =>
          story.id === event.story ? cancelled(story, `cancelled by ${event.by}`, event.at) : story,
        ),
      };
  }
}

/** A run that ended goes on. */
export function reopened<R extends Pick<Steerable<Steered>, 'status' | 'endedAt' | 'stopReason' | 'detail'>>(
  state: R,
): R {
  if (state.status !== 'ended') return state;
  return { ...without(without(without(state, 'endedAt'), 'stopReason'), 'detail'), status: 'queued' };
}

/** Left out by a person, whatever it had come to. */
export function cancelled<S extends Steered>(story: S, summary: string, at: string): S {
  const ended = undecided(story);
  return { ...ended, progress: 'cancelled', stopReason: 'USER_ABORT', summary, endedAt: at };
}

/**
 * To be done anew with all of its attempts; what failed last is still known, as a hint for the next attempt. One that
 * something around it cut short, and that only waits, goes on with the attempt that it had.
 */
function refreshed<S extends Steered>(story: S): S {
  const cutShort = story.progress === 'in_progress' && story.waiting !== undefined;
  const open: S = { ...without(undecided(story), 'endedAt'), progress: cutShort ? 'in_progress' : 'pending' };
  for (const key of ['failures', 'lastFailure', 'waiting', 'starts'] as const) delete open[key];
  const fresh: S = { ...open, spent: story.attempts - story.conflicts - (cutShort ? 1 : 0) };
  return story.stopReason === 'USER_ABORT' ? without(without(fresh, 'stopReason'), 'summary') : fresh;
}

/** What landed stays, what changed is to be done, what is no longer there is left out; the order is the new one. */
function replanned<S extends Steered, R extends Steerable<S>>(
  state: R,
  { prd, prdPath, changed }: ControlEvent & { type: 'run.replanned' },
  fresh: S[],
): R {
  const before = new Map(state.stories.map((story) => [story.id, story]));
  const kept = fresh.map((story): S => {
    const known = before.get(story.id);
    before.delete(story.id);
    if (known === undefined) return story;
    const named = { ...known, title: story.title, dependsOn: story.dependsOn };
    if (isDone(known)) return named;
    if (story.progress !== 'pending') return { ...named, progress: story.progress };
    return changed.includes(story.id) || known.progress === 'skipped' ? refreshed(named) : named;
  });
  const gone = [...before.values()].map((story): S =>
    isDone(story) ? story : { ...undecided(story), progress: 'skipped' },
  );
  return { ...state, stories: [...kept, ...gone], project: prd.project, prdPath };
}

/** Nothing of it is under way, and nobody is asked about it. */
function undecided<S extends Steered>(story: S): S {
  return without(without(without(story, 'phase'), 'held'), 'approved');
}

/** What a story is at the beginning, by what the PRD says of it. */
export function progressInFile(status: StoryStatus): 'done' | 'skipped' | 'pending' {
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

function without<T extends object, K extends keyof T>(value: T, key: K): T {
  const copy = { ...value };
  delete copy[key];
  return copy;
}
