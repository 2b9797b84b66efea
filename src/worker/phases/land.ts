import type { JournalEntry } from '../../core/journal/events.ts';
import type { RunState, StoryState } from '../../core/run-state.ts';
import { bringCommit, moveBranch } from '../../git/land/land-commit.ts';
import type { Attempt } from '../attempt-context.ts';
import { refuseOvertaken } from '../fence.ts';
import { noteProof } from '../keep-proof.ts';
import { recoverLanded } from '../recover-landed.ts';
import { runRef } from '../run-ref.ts';
import { endedEntry, type StoryEnd } from '../story-end.ts';
import type { Candidate } from './import.ts';

/** Overtaken: another story of the run landed first, and `tip` is the newest commit now; nothing has moved. */
export type Landing = { kind: 'landed'; end: StoryEnd } | { kind: 'overtaken'; tip: string };

/**
 * Moves the candidate's objects into the host repository, and then, in one transaction of the run's journal, the
 * run's branch onto it by compare-and-swap and the word of it: whoever ends or stops the run comes before or after
 * that, never between. Throws RUN_ABORTED for an attempt that was overtaken, CONFLICT when the branch moved.
 */
export async function landCandidate(
  attempt: Attempt,
  { commit, parent }: Candidate,
  summary: string,
): Promise<Landing> {
  const { candidateDir, mirrorDir, hostGitDir, runId, state, signal, worker, place, story, config, approval } = attempt;
  const started = performance.now();
  await attempt.report({ type: 'phase.started', phase: 'land' });
  const landing = {
    candidateDir,
    mirrorDir,
    hostGitDir,
    ref: runRef(runId),
    commit,
    expected: parent === state.repo.base ? undefined : parent,
  };
  const release = await bringCommit(landing);
  const end: StoryEnd = { verdict: 'passed', stopReason: 'SUCCESS', summary, commit, usage: attempt.usage };
  const landed = worker.store.transact<Landing>(runId, async (now) => {
    refuseOvertaken(now, attempt);
    // A person who stopped the run must not see a commit appear after it.
    signal.throwIfAborted();
    if (now.tip !== parent) return { entries: [], result: { kind: 'overtaken', tip: now.tip } };
    const unsettled = await moveBranch(landing).then(
      () => [],
      (error: unknown) => settleFirst(attempt, now, error),
    );
    if (unsettled.length > 0)
      return { entries: unsettled, result: { kind: 'overtaken', tip: tipAfter(unsettled, now) } };
    const whose = { story: story.id, attempt: attempt.number };
    const proof = { store: worker.store, place, whose, gitDir: hostGitDir, commit, git: config.git };
    const noted = await noteProof({ ...proof, ...(approval && { approvedBy: approval.by }) });
    const ms = Math.round(performance.now() - started);
    const ended: JournalEntry = { type: 'phase.ended', phase: 'land', ms, ...whose };
    return { entries: [ended, ...noted, endedEntry(whose, end)], result: { kind: 'landed', end } };
  });
  return landed.finally(release);
}

/**
 * The branch is not where the journal says. Perhaps a worker died between the landing of another story and its word
 * on it, which is made up for. Else somebody else wrote to the branch: throws their CONFLICT, nothing is overwritten.
 */
async function settleFirst(
  { worker, story, hostGitDir, config }: Attempt,
  now: RunState,
  error: unknown,
): Promise<JournalEntry[]> {
  const stories = now.stories.filter((other) => other.id !== story.id && mayHaveLanded(other));
  const landed = await recoverLanded(worker.store, { state: now, stories, hostGitDir, config });
  if (landed.length === 0) throw error;
  return landed;
}

function mayHaveLanded({ progress, held }: StoryState): boolean {
  return progress === 'in_progress' || held !== undefined;
}

function tipAfter(entries: JournalEntry[], { tip }: RunState): string {
  return entries.reduce((newest, entry) => (entry.type === 'story.ended' ? (entry.commit ?? newest) : newest), tip);
}
