import type { Artifact } from '../../core/journal/event-parts.ts';
import { HaloError } from '../../core/failure/errors.ts';
import { isIn } from '../../core/run/progress.ts';
import { decisiveStory, storyOf, type RunState, type StoryState } from '../../core/run/state.ts';

export interface WantedFiles {
  story?: string;
  attempt?: number;
  gate?: number;
  setup?: true;
  prompt?: true;
  stderr?: true;
}

/** An attempt at a story: the named one, or the most relevant one if it is unambiguous. */
export interface StoryAttempt {
  story: StoryState;
  attempt: number;
}

/** Throws STORY_NOT_FOUND, and USAGE if several stories match. */
export function attemptOf(state: RunState, { story: id, attempt }: WantedFiles): StoryAttempt {
  const story = id === undefined ? likelyStory(state) : storyOf(state, id);
  if (story.attempts === 0)
    throw new HaloError('STORY_NOT_FOUND', `Story ${story.id} of run ${state.runId} has had no attempt yet.`);
  if ((attempt ?? 1) > story.attempts) {
    const count = story.attempts === 1 ? 'one attempt' : `${story.attempts} attempts`;
    throw new HaloError('STORY_NOT_FOUND', `Story ${story.id} of run ${state.runId} has had ${count}.`);
  }
  return { story, attempt: attempt ?? story.attempts };
}

/** The story that explains the end of the run; else the only one that failed or needs a person, or that has an attempt. */
function likelyStory(run: RunState): StoryState {
  const { runId, stories } = run;
  const decisive = decisiveStory(run);
  if (decisive !== undefined) return decisive;
  const tried = stories.filter(({ attempts }) => attempts > 0);
  const stuck = tried.filter((story) => isIn('stuck', story));
  const [only, ...others] = stuck.length === 0 ? tried : stuck;
  if (only !== undefined && others.length === 0) return only;
  const names = (only === undefined ? stories : [only, ...others]).map(({ id }) => id).join(', ');
  throw new HaloError('USAGE', `Run ${runId} has several matching stories.`, {
    hint: `Name one with --story: ${names}.`,
  });
}

/** The paths of the requested files, in the order in which they were written. Throws ARTIFACT_UNREADABLE. */
export function pathsOf({ story, attempt }: StoryAttempt, wanted: WantedFiles, all: readonly Artifact[]): string[] {
  const folder = `${story.key}/${attempt}/`;
  const files = all.filter(({ path }) => path.startsWith(folder));
  const named = (pattern: RegExp) =>
    files
      .filter(({ path }) => pattern.test(path.slice(folder.length)))
      .sort((a, b) => (a.changedAt < b.changedAt ? -1 : a.changedAt > b.changedAt ? 1 : 0))
      .map(({ path }) => path);
  // A story that was merged with later landed work runs its gates again, in a separate folder: the newest counts.
  const gate = (n: number) => named(new RegExp(`^gates/(?:[^/]+/)?${n}\\.log$`)).slice(-1);
  const found =
    wanted.gate !== undefined
      ? gate(wanted.gate)
      : wanted.setup
        ? named(/^(?:setup|gates(?:\/[^/]+)?)\/setup-\d+\.log$/)
        : named(wanted.stderr ? /^agent\.stderr\.log$/ : /^prompt\.md$/);
  if (found.length > 0) return found;
  const what =
    wanted.gate !== undefined
      ? `log of a gate ${wanted.gate}`
      : wanted.setup
        ? 'log of a setup'
        : wanted.stderr
          ? 'stderr of an agent'
          : 'prompt';
  const logs = files.flatMap(({ path }) => /gates\/(?:[^/]+\/)?(\d+)\.log$/.exec(path)?.[1] ?? []);
  const gates = [...new Set(logs)].sort((a, b) => Number(a) - Number(b));
  throw new HaloError('ARTIFACT_UNREADABLE', `Attempt ${attempt} of story ${story.id} left no ${what}.`, {
    hint:
      gates.length > 0
        ? `Use one of these gates: ${gates.join(', ')}.`
        : 'Omit the option to see its log; it did not reach the gates.',
  });
}
