import { landCommit } from '../../git/land.ts';
import type { Attempt } from '../attempt-context.ts';
import { noteProof } from '../keep-proof.ts';
import type { Candidate } from './import.ts';

/** Moves the candidate's objects into the host repository and the run's branch onto it, by compare-and-swap. */
export async function landCandidate(attempt: Attempt, { commit }: Candidate): Promise<string> {
  return attempt.phase('land', async () => {
    const { candidateDir, mirrorDir, hostGitDir, runId, state, base, signal, worker, place, story, config } = attempt;
    // A person who stopped the run must not see a commit appear after it.
    signal.throwIfAborted();
    await landCommit({
      candidateDir,
      mirrorDir,
      hostGitDir,
      ref: runRef(runId),
      commit,
      expected: base === state.repo.base ? undefined : base,
    });
    await noteProof({ store: worker.store, place, storyId: story.id, gitDir: hostGitDir, commit, git: config.git });
    return commit;
  });
}

/** The branch of a run in the host repository. */
export function runRef(runId: string): string {
  return `refs/heads/halo/${runId}`;
}
