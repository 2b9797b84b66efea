import type { Config } from '../../config/config.ts';
import type { JournalEntry } from '../../core/journal/events.ts';
import { isDone, type RunState, type StoryState } from '../../core/run/state.ts';
import { findLandedCommit } from '../../git/land/land-commit.ts';
import type { ArtifactStore } from '../../store/artifact-store.ts';
import type { JournalStore } from '../../store/journal-store.ts';
import type { RunKeeper } from '../worker-context.ts';
import { hostGitDirOf, runRef } from '../repository/host-repository.ts';
import { writeProofNote } from '../proof/proof-record.ts';
import { storyEnded } from '../attempt/attempt-outcome.ts';

export interface RecoverRequest {
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
 * The missing journal entries of landed stories, found on the run's branch: a worker may have died between landing a story
 * and recording it. Call it in the transaction that appends the entries.
 */
export async function recoverLanded(
  store: ArtifactStore & JournalStore,
  { state, hostGitDir, config, stories }: RecoverRequest,
): Promise<JournalEntry[]> {
  const { runId, repo } = state;
  const entries: JournalEntry[] = [];
  const candidates = stories ?? state.stories.filter(wasBegun);
  for (const story of candidates) {
    const { id, key, attempts } = story;
    const others = state.stories.filter((other) => other.id !== id);
    const commit = await findLandedCommit({ hostGitDir, ref: runRef(runId), base: repo.base, runId, story, others });
    if (commit === undefined) continue;
    const attemptRef = { story: id, attempt: attempts };
    const place = { runId, storyKey: key, attempt: attempts };
    const noted = await writeProofNote({ store, place, attemptRef, gitDir: hostGitDir, commit, git: config.git });
    const summary = 'landed before the worker stopped';
    entries.push(...noted, storyEnded(attemptRef, { verdict: 'passed', stopReason: 'SUCCESS', summary, commit }));
  }
  return entries;
}

/** The same for a run that ends now. Never throws: a run must be able to end even if its repository cannot be read. */
export async function recoverLandedAtEnd(
  { home, store, log }: RunKeeper,
  state: RunState,
  config: RecoverRequest['config'],
) {
  if (!state.stories.some(wasBegun)) return [];
  try {
    return await recoverLanded(store, { state, hostGitDir: await hostGitDirOf(home, state.repo), config });
  } catch (error) {
    log.warn({ runId: state.runId, err: error }, 'landed stories could not be looked up');
    return [];
  }
}
