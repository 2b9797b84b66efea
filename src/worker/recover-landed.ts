import type { Config } from '../config/config.ts';
import type { JournalEntry } from '../core/journal/events.ts';
import { isDone } from '../core/progress.ts';
import type { RunState, StoryState } from '../core/run-state.ts';
import { findLanded } from '../git/land/land-commit.ts';
import type { Store } from '../store/store.ts';
import type { RunKeeper } from './worker-context.ts';
import { hostGitDirOf } from './host-repo.ts';
import { noteProof } from './keep-proof.ts';
import { runRef } from './run-ref.ts';
import { endedEntry } from './story-end.ts';

export interface Unsettled {
  state: RunState;
  /** Those in question; default all that were begun and have not landed. */
  stories?: readonly StoryState[];
  hostGitDir: string;
  config: Pick<Config, 'git'>;
}

/** Whether it may have landed without the journal knowing it. */
export function wasBegun(story: StoryState): boolean {
  return story.attempts > 0 && !isDone(story);
}

/**
 * What the journal lacks of stories that have landed: a worker may have died between the landing and its word on it,
 * and the branch of the run knows. Ask it in the transaction that writes the answer down.
 */
export async function recoverLanded(
  store: Store,
  { state, hostGitDir, config, stories }: Unsettled,
): Promise<JournalEntry[]> {
  const { runId, repo } = state;
  const entries: JournalEntry[] = [];
  const asked = stories ?? state.stories.filter(wasBegun);
  for (const story of asked) {
    const { id, key, attempts } = story;
    const others = state.stories.filter((other) => other.id !== id);
    const commit = await findLanded({ hostGitDir, ref: runRef(runId), base: repo.base, runId, story, others });
    if (commit === undefined) continue;
    const whose = { story: id, attempt: attempts };
    const place = { runId, storyKey: key, attempt: attempts };
    const noted = await noteProof({ store, place, whose, gitDir: hostGitDir, commit, git: config.git });
    const summary = 'landed before the worker stopped';
    entries.push(...noted, endedEntry(whose, { verdict: 'passed', stopReason: 'SUCCESS', summary, commit }));
  }
  return entries;
}

/**
 * The same of a run that ends now, after which nobody looks at its branch. Never throws: where the repository cannot be
 * read, a run must be able to end, too.
 */
export async function settleLanded({ home, store, log }: RunKeeper, state: RunState, config: Unsettled['config']) {
  if (!state.stories.some(wasBegun)) return [];
  try {
    return await recoverLanded(store, { state, hostGitDir: await hostGitDirOf(home, state.repo), config });
  } catch (error) {
    log.warn({ runId: state.runId, err: error }, 'what has landed could not be looked up');
    return [];
  }
}
