import type { JournalEntry } from '../../../core/journal/events.ts';
import type { RunState } from '../../../core/run/state.ts';
import { moveBranch, transferCommit } from '../../../git/land/land-commit.ts';
import type { Attempt } from '../open-attempt.ts';
import { assertCurrent } from '../fence.ts';
import { writeProofNote } from '../../proof/proof-record.ts';
import { recoverOthers } from '../../run/recover-landed.ts';
import { shareLayer } from '../../snapshot/open-layer.ts';
import type { SnapshotLayer } from '../../snapshot/snapshot-layer.ts';
import { runRef } from '../../repository/host-repository.ts';
import { storyEnded, type AttemptOutcome } from '../attempt-outcome.ts';
import type { Work } from '../work.ts';

/** `overtaken`: another story of the run landed first, so nothing has moved; `tip` is the newest commit now. */
export type Landing = { kind: 'landed'; outcome: AttemptOutcome } | { kind: 'overtaken'; tip: string };

/**
 * Transfers the candidate's objects into the host repository. Then, in one transaction of the run's journal, it moves the
 * run's branch by compare-and-swap and records the landing, so that a command that ends the run comes before or after
 * both. From then on, all runs can use `layer`, the snapshot of its gates, if it was made of this commit. Throws RUN_ABORTED if another worker took over the attempt, and CONFLICT if someone else moved the branch.
 */
export async function landCandidate(
  attempt: Attempt,
  { candidate, origin, summary }: Work,
  layer: SnapshotLayer | undefined,
): Promise<Landing> {
  const { identity, inputs, config, worker, resources, signal } = attempt;
  const { candidateDir, mirrorDir } = resources;
  const { hostGitDir } = inputs;
  const { commit, parent } = candidate;
  const { approval } = origin;
  const { runId, location } = identity;
  const started = performance.now();
  await attempt.journal.report({ type: 'phase.started', phase: 'land' });
  const landing = {
    candidateDir,
    mirrorDir,
    hostGitDir,
    ref: runRef(runId),
    commit,
    parent,
    expected: parent === inputs.state.repo.base ? undefined : parent,
  };
  const release = await transferCommit(landing);
  const { usage } = origin;
  const outcome: AttemptOutcome = { verdict: 'passed', stopReason: 'SUCCESS', summary, commit, usage };
  const landed = worker.store.transact<Landing>(runId, async (now) => {
    assertCurrent(now, identity);
    // No commit may appear after a person stopped the run.
    signal.throwIfAborted();
    if (now.tip !== parent) return { entries: [], result: { kind: 'overtaken', tip: now.tip } };
    const recovered = await moveBranch(landing).then(
      () => [],
      (error: unknown) => recoverOthers(worker, { state: now, story: identity.story, hostGitDir, config }, error),
    );
    if (recovered.length > 0)
      return { entries: recovered, result: { kind: 'overtaken', tip: tipAfter(recovered, now) } };
    const attemptRef = { story: identity.story, attempt: identity.attempt };
    const proof = { store: worker.store, location, attemptRef, gitDir: hostGitDir, commit, git: config.git };
    const noted = await writeProofNote({ ...proof, ...(approval && { approvedBy: approval.by }) });
    const ms = Math.round(performance.now() - started);
    const ended: JournalEntry = { type: 'phase.ended', phase: 'land', ms, ...attemptRef };
    return { entries: [ended, ...noted, storyEnded(attemptRef, outcome)], result: { kind: 'landed', outcome } };
  });
  // oxlint-disable-next-line typescript/no-misused-promises -- `finally` waits for the promise
  const result = await landed.finally(release);
  if (result.kind === 'landed') await shareLayer(attempt, layer, commit);
  return result;
}

function tipAfter(entries: JournalEntry[], { tip }: RunState): string {
  return entries.reduce((newest, entry) => (entry.type === 'story.ended' ? (entry.commit ?? newest) : newest), tip);
}
