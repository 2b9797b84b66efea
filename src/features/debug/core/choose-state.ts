import { HaloError } from '../../../core/failure/errors.ts';
import type { JournalEvent } from '../../../core/journal/events.ts';
import { decisiveStory, storyOf, type RunState } from '../../../core/run/state.ts';

/** Which state of an attempt: as its agent left it, or as its gates found it. */
export const DEBUG_POINTS = ['agent', 'gates'] as const;
export type DebugPoint = (typeof DEBUG_POINTS)[number];

/** What a person asks for. */
export interface DebugQuery {
  /** Default: the story that explains the end of the run, or its only one. */
  story?: string | undefined;
  /** Default: the last one. */
  attempt?: number | undefined;
  /** Default: `gates`, if the attempt had come so far. */
  at?: DebugPoint | undefined;
}

/** A state of an attempt that a person looks at. */
export interface DebugState {
  story: string;
  storyKey: string;
  attempt: number;
  at: DebugPoint;
  /** The commit that the attempt began with. */
  base: string;
  /** The id of its image, if it was recorded. */
  image: string | undefined;
  /** The commit of the story that landed, if it is of this attempt. */
  landed: string | undefined;
  /** Whether a worker is at it. */
  isRunning: boolean;
  /** The gates that ran, with their exit codes. */
  gates: { command: string; exitCode: number | undefined }[];
}

/** Chooses the state. Throws STORY_NOT_FOUND for an attempt that never began, USAGE if several stories are possible. */
export function chooseState(
  state: RunState,
  events: readonly JournalEvent[],
  { story: named, attempt: asked, at }: DebugQuery,
): DebugState {
  const { id, key, attempts, commit, progress } = storyOf(state, named ?? defaultStory(state));
  const isAsked = (event: { story: string; attempt: number }) =>
    event.story === id && (asked === undefined || event.attempt === asked);
  const started = events.findLast(
    (event): event is JournalEvent & { type: 'story.started' } => event.type === 'story.started' && isAsked(event),
  );
  if (started === undefined) {
    const what = asked === undefined ? 'no attempt' : `no attempt ${asked}`;
    throw new HaloError(
      'STORY_NOT_FOUND',
      `There is ${what} at the story ${JSON.stringify(id)} of run ${state.runId}.`,
      {
        hint: `Run \`halo status ${state.runId}\` to see its attempts.`,
      },
    );
  }
  const { attempt, base, image } = started;
  const own = events.filter(
    (event) =>
      event.seq > started.seq &&
      'story' in event &&
      event.story === id &&
      'attempt' in event &&
      event.attempt === attempt,
  );
  const reachedGates = own.some((event) => event.type === 'phase.started' && event.phase === 'gates');
  const isLast = attempt === attempts;
  return {
    story: id,
    storyKey: key,
    attempt,
    at: at ?? (reachedGates ? 'gates' : 'agent'),
    base,
    image,
    landed: isLast ? commit : undefined,
    isRunning: isLast && progress === 'in_progress',
    gates: lastOfEach(own),
  };
}

/** The gates may have run several times, for example after a merge. */
function lastOfEach(events: readonly JournalEvent[]): DebugState['gates'] {
  const gates = events.flatMap((event) => (event.type === 'gate.ended' ? [event] : []));
  const codes = new Map(gates.map(({ command, exitCode }) => [command, exitCode]));
  return [...codes].map(([command, exitCode]) => ({ command, exitCode }));
}

function defaultStory(state: RunState): string {
  const tried = state.stories.filter(({ attempts }) => attempts > 0);
  const [only] = tried;
  const chosen = decisiveStory(state) ?? (tried.length === 1 ? only : undefined);
  if (chosen !== undefined) return chosen.id;
  const ids = tried.map(({ id }) => id);
  throw new HaloError(
    'USAGE',
    `Run ${state.runId} has ${ids.length === 0 ? 'no story with an attempt' : 'several stories'}.`,
    {
      hint: ids.length === 0 ? 'Wait until an attempt has begun.' : `Name one of them: ${ids.slice(0, 20).join(', ')}.`,
    },
  );
}
