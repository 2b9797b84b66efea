import { bringCommit, moveBranch } from '../../git/land.ts';
import type { Attempt } from '../attempt-context.ts';
import { refuseOvertaken } from '../fence.ts';
import { noteProof } from '../keep-proof.ts';
import { endedEntry, type StoryEnd } from '../story-end.ts';
import type { Candidate } from './import.ts';

/**
 * Moves the candidate's objects into the host repository, and then, in one transaction of the run's journal, the
 * run's branch onto it by compare-and-swap and the word of it: whoever ends or stops the run comes before or after
 * that, never between. Throws RUN_ABORTED for an attempt that was overtaken, CONFLICT when the branch moved.
 */
export async function landCandidate(attempt: Attempt, { commit }: Candidate, summary: string): Promise<StoryEnd> {
  const { candidateDir, mirrorDir, hostGitDir, runId, state, base, signal, worker, place, story, config } = attempt;
  const started = Date.now();
  await attempt.report({ type: 'phase.started', phase: 'land' });
  const landing = {
    candidateDir,
    mirrorDir,
    hostGitDir,
    ref: runRef(runId),
    commit,
    expected: base === state.repo.base ? undefined : base,
  };
  await bringCommit(landing);
  const end: StoryEnd = { verdict: 'passed', stopReason: 'SUCCESS', summary, commit, usage: attempt.usage };
  await worker.store.transact(runId, async (now) => {
    refuseOvertaken(now, attempt);
    // A person who stopped the run must not see a commit appear after it.
    signal.throwIfAborted();
    await moveBranch(landing);
    const whose = { story: story.id, attempt: attempt.number };
    const noted = await noteProof({ store: worker.store, place, whose, gitDir: hostGitDir, commit, git: config.git });
    const ended = { type: 'phase.ended' as const, phase: 'land' as const, ms: Date.now() - started, ...whose };
    return { entries: [ended, ...noted, endedEntry(whose, end)], result: undefined };
  });
  return end;
}

/** The branch of a run in the host repository. */
export function runRef(runId: string): string {
  return `refs/heads/halo/${runId}`;
}
