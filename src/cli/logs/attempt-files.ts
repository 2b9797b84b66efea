import type { Artifact } from '../../core/artifact.ts';
import { HaloError } from '../../core/failure/errors.ts';
import type { RunState, StoryState } from '../../core/run-state.ts';

export interface WantedFiles {
  story?: string;
  attempt?: number;
  gate?: number;
  setup?: true;
  prompt?: true;
}

/** The story of that id. Throws STORY_NOT_FOUND with the stories that there are. */
export function storyOf({ runId, stories }: RunState, id: string): StoryState {
  const story = stories.find((each) => each.id === id);
  if (story !== undefined) return story;
  throw new HaloError('STORY_NOT_FOUND', `Run ${runId} has no story ${JSON.stringify(id)}.`, {
    hint: `Its stories: ${stories.map((each) => each.id).join(', ')}.`,
  });
}

/** An attempt at a story: the one that is named or else, where there is no doubt, the one that people look for. */
export interface AttemptRef {
  story: StoryState;
  attempt: number;
}

/** Throws STORY_NOT_FOUND, and USAGE where several stories may be meant. */
export function attemptOf(state: RunState, { story: id, attempt }: WantedFiles): AttemptRef {
  const story = id === undefined ? likelyStory(state) : storyOf(state, id);
  if (story.attempts === 0)
    throw new HaloError('STORY_NOT_FOUND', `There was no attempt at story ${story.id} of run ${state.runId} yet.`);
  if ((attempt ?? 1) > story.attempts) {
    const count = story.attempts === 1 ? 'one attempt' : `${story.attempts} attempts`;
    throw new HaloError('STORY_NOT_FOUND', `Story ${story.id} of run ${state.runId} has had ${count}.`);
  }
  return { story, attempt: attempt ?? story.attempts };
}

/** The only story that was tried, or the only one of them that did not go well. */
function likelyStory({ runId, stories }: RunState): StoryState {
  const tried = stories.filter(({ attempts }) => attempts > 0);
  const stuck = tried.filter(({ progress }) => progress === 'failed' || progress === 'needs_human');
  const [only, ...others] = stuck.length === 0 ? tried : stuck;
  if (only !== undefined && others.length === 0) return only;
  const names = (only === undefined ? stories : [only, ...others]).map(({ id }) => id).join(', ');
  throw new HaloError('USAGE', `Run ${runId} has several stories that may be meant.`, {
    hint: `Name one with --story: ${names}.`,
  });
}

/** The paths of the files that are asked for, in the order in which they were written. Throws ARTIFACT_UNREADABLE. */
export function pathsOf({ story, attempt }: AttemptRef, wanted: WantedFiles, all: readonly Artifact[]): string[] {
  const folder = `${story.key}/${attempt}/`;
  const files = all.filter(({ path }) => path.startsWith(folder));
  const named = (pattern: RegExp) =>
    files
      .filter(({ path }) => pattern.test(path.slice(folder.length)))
      .sort((a, b) => (a.changedAt < b.changedAt ? -1 : a.changedAt > b.changedAt ? 1 : 0))
      .map(({ path }) => path);
  // A story that is merged onto what landed meanwhile is proven again, in a folder of its own: the newest counts.
  const gate = (n: number) => named(new RegExp(`^gates/(?:[^/]+/)?${n}\\.log$`)).slice(-1);
  const found =
    wanted.gate !== undefined
      ? gate(wanted.gate)
      : wanted.setup
        ? named(/^(?:setup|gates(?:\/[^/]+)?)\/setup-\d+\.log$/)
        : named(/^prompt\.md$/);
  if (found.length > 0) return found;
  const what = wanted.gate !== undefined ? `log of a gate ${wanted.gate}` : wanted.setup ? 'log of a setup' : 'prompt';
  const logs = files.flatMap(({ path }) => /gates\/(?:[^/]+\/)?(\d+)\.log$/.exec(path)?.[1] ?? []);
  const gates = [...new Set(logs)].sort((a, b) => Number(a) - Number(b));
  throw new HaloError('ARTIFACT_UNREADABLE', `Attempt ${attempt} of story ${story.id} left no ${what}.`, {
    hint:
      gates.length > 0
        ? `It has logs of these gates: ${gates.join(', ')}.`
        : 'It did not come to the gates: leave the option out to see how far it came.',
  });
}
