import { applyDefaults } from '../../config/apply-defaults.ts';
import type { Config } from '../../config/config.ts';
import type { RunState } from '../../core/run/state.ts';
import { HaloError } from '../../core/failure/errors.ts';
import { readRef } from '../../git/land/land-commit.ts';
import { isUrl } from '../../git/repository/repo-url.ts';
import { listRunsOfCommits } from '../../git/repository/unmerged-runs.ts';
import type { JournalStore } from '../../store/journal-store.ts';
import { hostGitDirOf } from '../repository/host-repository.ts';

export interface ContinuedRun {
  state: RunState;
  config: Config;
}

/** The other runs whose commits land with a run, because it started from their results. */
export async function findContinuedRuns(store: JournalStore, home: string, run: RunState): Promise<ContinuedRun[]> {
  const { runId, repo, tip } = run;
  const gitDir = await hostGitDirOf(home, repo);
  const from = isUrl(repo.source) ? undefined : await readRef(gitDir, `refs/heads/${repo.branch ?? ''}`);
  const runs = await listRunsOfCommits(gitDir, { from, to: tip });
  runs.delete(runId);
  const found = await Promise.all(
    [...runs].map(([other, commits]) => readContinued(store, run, { runId: other, commits })),
  );
  return found.flatMap((each) => each ?? []);
}

/**
 * Undefined if it has landed, or is a run of another home or one that was removed. Anyone can write the trailer of a run of
 * another repository, but not its commits.
 */
async function readContinued(
  store: JournalStore,
  { repo }: RunState,
  { runId, commits }: { runId: string; commits: readonly string[] },
): Promise<ContinuedRun | undefined> {
  const state = await store.readState(runId).catch((error: unknown) => {
    // Without its decisions, it must not land.
    if (error instanceof HaloError && error.code === 'RUN_NOT_FOUND') return undefined;
    throw error;
  });
  if (state === undefined || state.landed !== undefined || state.pull?.ended === 'merged') return undefined;
  const isOther =
    state.repo.mirror !== repo.mirror && !state.stories.some(({ commit }) => commits.includes(commit ?? ''));
  if (isOther) return undefined;
  return { state, config: applyDefaults((await store.readRecord(runId)).config) };
}
