import { isObjectId } from '../../git/process/git-output.ts';
import { isUrl } from '../../git/repository/repo-url.ts';
import { inspectRunRepo } from '../repository/run-repository.ts';
import { isOnOtherBranch } from '../../git/repository/unmerged-runs.ts';
import { waitsForAnswer } from '../../core/run/questions.ts';
import { currentDecision, type RunState } from '../../core/run/state.ts';
import { IssueReportFiles } from '../../store/forge-files.ts';

/** A run with the id of its directory: the journal of a copied run may name another one. */
export interface IdentifiedRun {
  runId: string;
  state: RunState;
}

/** Why retention must not touch runs, by run id, as clauses; runs that it may touch are not listed. */
export async function findKeptRuns(home: string, runs: readonly IdentifiedRun[]): Promise<Map<string, string>> {
  const open = runs.filter(({ state }) => state.status !== 'ended' || waitsForAnswer(state));
  const needed = new Map<string, string>();
  const bases = new Map<string, string>();
  for (const { runId, state } of open) {
    for (const { run } of state.needs) needed.set(run, runId);
    bases.set(state.repo.base, runId);
  }
  const reports = new IssueReportFiles(home);
  const kept = new Map<string, string>();
  for (const { runId, state } of runs) {
    const user = needed.get(runId) ?? state.stories.map(({ commit = '' }) => bases.get(commit)).find(Boolean);
    const why =
      reasonInJournal(state) ??
      (user === undefined ? undefined : `run ${user} needs it`) ??
      ((await reports.has(runId)) ? 'its issues do not show its result yet' : undefined) ??
      (await reasonInGit(state));
    if (why !== undefined) kept.set(runId, why);
  }
  return kept;
}

function reasonInJournal(state: RunState): string | undefined {
  if (state.status !== 'ended') return 'it has not ended';
  if (state.stories.some(({ held }) => held !== undefined)) return 'a story waits for approval';
  if (state.stories.some(({ approved }) => approved !== undefined)) return 'an approved story has not landed';
  if (waitsForAnswer(state)) return 'a story waits for an answer';
  return undefined;
}

/** Why the branch of a run may be the only place of its commits. */
async function reasonInGit(state: RunState): Promise<string | undefined> {
  const { repo, tip, landed, scratch, stories } = state;
  const hasCommits = stories.some(({ commit }) => commit !== undefined);
  if (!hasCommits || landed !== undefined || scratch || currentDecision(state)?.verdict === 'rejected')
    return undefined;
  const notLanded = 'its commits have not landed on your branch';
  // The mirror has the only copy until `halo land` pushes it.
  if (isUrl(repo.source)) return notLanded;
  const gitDir = await inspectRunRepo(repo).then(
    (found) => found.gitDir,
    () => undefined,
  );
  if (gitDir === undefined) return 'its commits have not landed, and its repository cannot be read';
  // A journal that somebody copied here may name anything as a commit.
  return isObjectId(tip) && (await isOnOtherBranch(gitDir, tip)) ? undefined : notLanded;
}
