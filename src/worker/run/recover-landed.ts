import type { Config } from '../../config/config.ts';
import type { JournalEntry } from '../../core/journal/events.ts';
import { isDone, type RunState, type StoryState } from '../../core/run/state.ts';
import { releaseHeldCommit } from '../../git/commit/held-commits.ts';
import { mirrorPath } from '../../git/mirror/mirror.ts';
import { findLandedCommit } from '../../git/land/land-commit.ts';
import type { ArtifactStore } from '../../store/artifact-store.ts';
import type { JournalStore } from '../../store/journal-store.ts';
import type { RunKeeper } from '../worker-context.ts';
import { hostGitDirOf, runRef } from '../repository/host-repository.ts';
import { writeProofNote } from '../proof/proof-files.ts';
import { storyEnded } from '../attempt/attempt-outcome.ts';

interface Recoverer extends Pick<RunKeeper, 'home'> {
  store: ArtifactStore & JournalStore;
}

interface RecoverRequest {
  state: RunState;
  /** The stories to look for; default: all that were started and have not landed. */
  stories?: readonly StoryState[];
  hostGitDir: string;
  config: Pick<Config, 'git'>;
}

/** Whether a story may have landed without an entry in the journal. */
export function wasBegun(story: StoryState): boolean {
  return story.attempts > 0 && !isDone(story);
}

/**
 * The missing journal entries of passed stories, found on the run's branch: a worker may have died between landing a story
 * and recording it. Call it in the transaction that appends the entries.
 */
export async function recoverLanded(
  { home, store }: Recoverer,
  { state, hostGitDir, config, stories }: RecoverRequest,
): Promise<JournalEntry[]> {
  const { runId, repo } = state;
  const entries: JournalEntry[] = [];
  const candidates = stories ?? state.stories.filter(wasBegun);
  for (const story of candidates) {
    const { id, key, attempts } = story;
    const others = state.stories.filter((other) => other.id !== id);
    // A story with feedback has landed before: only a newer commit counts.
    const base = story.commit ?? repo.base;
    const commit = await findLandedCommit({ hostGitDir, ref: runRef(runId), base, runId, story, others });
    if (commit === undefined) continue;
    const attemptRef = { story: id, attempt: attempts };
    const location = { runId, storyKey: key, attempt: attempts };
    const noted = await writeProofNote({ store, location, attemptRef, gitDir: hostGitDir, commit, git: config.git });
    if (story.approved !== undefined) await releaseHeldCommit(mirrorPath(home, repo.mirror), runId, key);
    const summary = 'landed before the worker stopped';
    const end = { verdict: 'passed', stopReason: 'SUCCESS', summary, commit, recovered: true } as const;
    entries.push(...noted, storyEnded(attemptRef, end, { verdict: end.verdict }));
  }
  return entries;
}

/**
 * The same for a command, or for the end of a run. Never throws: both must be possible even if the repository cannot be
 * read.
 */
export async function tryRecoverLanded(
  keeper: RunKeeper,
  request: Omit<RecoverRequest, 'hostGitDir'>,
): Promise<JournalEntry[]> {
  const { state, stories = state.stories } = request;
  if (!stories.some(wasBegun)) return [];
  try {
    const hostGitDir = await hostGitDirOf(keeper.home, state.repo);
    return await recoverLanded(keeper, { ...request, stories: stories.filter(wasBegun), hostGitDir });
  } catch (error) {
    keeper.log.warn({ runId: state.runId, err: error }, 'passed stories could not be looked up');
    return [];
  }
}

/**
 * Explains why `story` could not move the branch of its run. If a worker died between landing another story and recording
 * it, returns the missing entries. Otherwise someone else moved the branch: throws `error`, and nothing is overwritten.
 */
export async function recoverOthers(
  keeper: Recoverer,
  { story, ...request }: Omit<RecoverRequest, 'stories'> & { story: string },
  error: unknown,
): Promise<JournalEntry[]> {
  const stories = request.state.stories.filter((other) => other.id !== story && wasBegun(other));
  const landed = await recoverLanded(keeper, { ...request, stories });
  if (landed.length === 0) throw error;
  return landed;
}
