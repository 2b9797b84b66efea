import { createHash } from 'node:crypto';
import { describeWarning } from '../../../core/budget.ts';
import { outageText, type EngineOutage } from '../../../core/engine/engine-outage.ts';
import type { JournalEvent } from '../../../core/journal/events.ts';
import { commandOf, nextSteps } from '../../../core/run/next-steps.ts';
import { PROGRESS } from '../../../core/run/progress.ts';
import { isUndecided, type RunState } from '../../../core/run/state.ts';
import { printableShellWord, safeLine } from '../../../core/text/safe-text.ts';
import { mayUseRepository } from '../../../core/access/access.ts';

/** The kinds of notifications, in the order of the documentation. */
export const NOTIFICATION_TYPES = [
  'story.question',
  'story.approval',
  'run.approval',
  'breaker.opened',
  'engine.lost',
  'budget.warned',
  'story.failed',
  'run.failed',
  'run.succeeded',
  'run.landed',
  'run.started',
  'run.stopped',
  'story.passed',
] as const;

type NotificationType = (typeof NOTIFICATION_TYPES)[number];

/** Names for several types. */
export const NOTIFICATION_GROUPS = {
  'needs-person': ['story.question', 'story.approval', 'run.approval', 'breaker.opened', 'engine.lost'],
  failed: ['story.failed', 'run.failed'],
  done: ['run.succeeded', 'run.landed'],
  all: NOTIFICATION_TYPES,
} as const satisfies Record<string, readonly NotificationType[]>;

/** What happened in a run, or to an engine, for people. It contains no code, no diff and no output of commands. */
export interface Notification {
  /** The same for the same event, whenever it is sent: `<runId>-<seq>`, or `engine<hash>-<ms since 1970>`. */
  id: string;
  type: NotificationType;
  /** ISO 8601 */
  at: string;
  /** Absent for an engine, as are the next three. */
  run?: string | undefined;
  /** The name of the repository, without its path. */
  repository?: string | undefined;
  /** The path or address of the repository. */
  source?: string | undefined;
  user?: string | undefined;
  /** The name of an engine. */
  engine?: string | undefined;
  story?: { id: string; title: string } | undefined;
  stopReason?: string | undefined;
  /** One line. */
  title: string;
  /** One line; may be empty. */
  text: string;
  /** The command with which a person continues. */
  command?: string | undefined;
}

const MAX_TEXT = 400;

/**
 * The notification about an event, if there is one. `state`: the run after this event and those that are known after it,
 * `later`.
 */
export function toNotification(
  event: JournalEvent,
  state: RunState,
  later: readonly JournalEvent[] = [],
): Notification | undefined {
  const found = describe(event, state, later);
  if (found?.story !== undefined && isSettled(found.type, found.story, later)) return undefined;
  if (found === undefined) return undefined;
  const { type, what, text = '', story: storyId, stopReason } = found;
  const story = state.stories.find(({ id }) => id === storyId);
  const repository = nameOf(state.repo.source);
  const [next] = nextSteps(state);
  const command = next && commandOf(next);
  return {
    id: `${state.runId}-${event.seq}`,
    type,
    at: event.at,
    run: state.runId,
    repository,
    source: state.repo.source,
    user: state.user,
    story: story && { id: story.id, title: shorten(story.title) },
    stopReason,
    title: shorten(`${repository}: ${what}`),
    text: shorten(text),
    command: NEEDS_PERSON.includes(type) || type === 'run.failed' || type === 'run.succeeded' ? command : undefined,
  };
}

/** The notification about an engine that takes no stories: the same for one outage. */
export function toEngineNotification(outage: EngineOutage): Notification {
  const { engine, since } = outage;
  const hash = createHash('sha256').update(engine).digest('hex').slice(0, 9);
  return {
    id: `engine${hash}-${Date.parse(since)}`,
    type: 'engine.lost',
    at: since,
    engine,
    title: shorten(`engine ${engine} takes no stories`),
    text: shorten(outageText(outage)),
    command: `halo engine check ${printableShellWord(engine)}`,
  };
}

const NEEDS_PERSON: readonly NotificationType[] = NOTIFICATION_GROUPS['needs-person'];

/** Whether a later event has already dealt with it: a failed story is tried again, a question was answered. */
function isSettled(type: NotificationType, story: string, later: readonly JournalEvent[]): boolean {
  const settling: Partial<Record<NotificationType, readonly JournalEvent['type'][]>> = {
    'story.failed': ['retry.scheduled', 'story.started'],
    'story.question': ['story.answered', 'story.started'],
    'story.approval': ['story.approved', 'story.rejected', 'approval.given', 'feedback.given'],
  };
  return later.some(
    (event) => settling[type]?.includes(event.type) === true && 'story' in event && event.story === story,
  );
}

interface Description {
  type: NotificationType;
  /** Follows the name of the repository. */
  what: string;
  text?: string | undefined;
  story?: string;
  stopReason?: string;
}

function describe(event: JournalEvent, state: RunState, later: readonly JournalEvent[]): Description | undefined {
  switch (event.type) {
    case 'run.started':
      return { type: 'run.started', what: `run ${state.runId} has started`, text: state.project };
    case 'run.ended':
      return describeEnd(event, state, later);
    case 'run.landed':
      return { type: 'run.landed', what: `run ${state.runId} has landed on ${event.branch}` };
    case 'story.ended':
      return describeStory(event, state);
    case 'budget.warned':
      return { type: 'budget.warned', what: describeWarning(event), text: state.project };
    case 'breaker.opened':
      return { type: 'breaker.opened', what: `the circuit breaker of run ${state.runId} is open`, text: event.reason };
    case 'breaker.changed':
      if (event.status !== 'open') return undefined;
      return { type: 'breaker.opened', what: `the circuit breaker ${event.key} is open`, text: event.why };
    default:
      return undefined;
  }
}

function describeEnd(
  { stopReason, detail }: JournalEvent & { type: 'run.ended' },
  state: RunState,
  later: readonly JournalEvent[],
): Description {
  const landed = state.stories.filter(({ progress }) => progress === 'passed').length;
  // The state is that after the later events: the run may have continued.
  const count = later.some(({ type }) => type === 'story.started')
    ? ''
    : `: ${landed} of ${state.stories.length} stories passed`;
  if (stopReason === 'SUCCESS' && isUndecided(state))
    return {
      type: 'run.approval',
      what: `run ${state.runId} waits for your approval${count}`,
      text: state.project,
      stopReason,
    };
  if (stopReason === 'SUCCESS')
    return { type: 'run.succeeded', what: `run ${state.runId} has ended${count}`, text: state.project, stopReason };
  if (stopReason === 'USER_ABORT')
    return { type: 'run.stopped', what: `run ${state.runId} was stopped${count}`, text: detail, stopReason };
  return {
    type: 'run.failed',
    what: `run ${state.runId} has ended with ${stopReason}${count}`,
    text: detail,
    stopReason,
  };
}

function describeStory(
  { story, verdict, held, summary, stopReason }: JournalEvent & { type: 'story.ended' },
  { stories }: RunState,
): Description | undefined {
  const name = safeLine(story);
  if (held !== undefined)
    return { type: 'story.approval', what: `${name} waits for your approval`, text: summary, story };
  switch (verdict) {
    case 'passed':
      return { type: 'story.passed', what: `${name} has passed`, text: summary, story };
    case 'failed': {
      // Not while a retry follows.
      const isOver = stories.find(({ id }) => id === story)?.progress === 'failed';
      return isOver
        ? { type: 'story.failed', what: `${name} has failed`, text: summary, story, stopReason }
        : undefined;
    }
    default:
      return { type: 'story.question', what: `${name} ${PROGRESS[verdict].says}`, text: summary, story, stopReason };
  }
}

function nameOf(source: string): string {
  return safeLine(
    source
      .replace(/\/+$/, '')
      .split('/')
      .at(-1)
      ?.replace(/\.git$/, '') ?? source,
  );
}

function shorten(text: string): string {
  const line = safeLine(text.replace(/\s+/g, ' ').trim());
  return line.length > MAX_TEXT ? `${line.slice(0, MAX_TEXT - 1)}…` : line;
}

/** Which notifications an endpoint wants. */
interface EndpointFilter {
  /** Types and names of groups. */
  events: readonly string[];
  /** Paths and addresses of repositories; `*` stands for any text. Absent: all. */
  repositories?: readonly string[] | undefined;
  /** The users whose runs count. Absent: all. */
  users?: readonly string[] | undefined;
}

/** Whether an endpoint wants a notification. */
export function wantsNotification(
  { events, repositories, users }: EndpointFilter,
  notification: Notification,
): boolean {
  const types = events.flatMap((name): readonly string[] =>
    Object.hasOwn(NOTIFICATION_GROUPS, name) ? NOTIFICATION_GROUPS[name as keyof typeof NOTIFICATION_GROUPS] : [name],
  );
  const { type, source, user } = notification;
  if (!types.includes(type)) return false;
  // An engine is for all runs, which an endpoint of some does not follow.
  if (source === undefined || user === undefined) return repositories === undefined && users === undefined;
  return mayUseRepository({ repositories }, source) && (users?.includes(user) ?? true);
}
