import { readAnswer } from '../agents/answer.ts';
import type { Approval } from '../core/run-state.ts';
import { openHeld, readHeld } from '../git/hold.ts';
import { sendCommit } from '../git/mirror/send-commit.ts';
import type { Attempt } from './attempt-context.ts';
import { readProofOf } from './keep-proof.ts';
import { proveMerged, type Proven } from './land-proven.ts';
import { mergeWithTip } from './phases/merge.ts';

/**
 * What a person said yes to, merged onto what landed since and proven again: its agent has done its work. The paths that
 * they saw come along, so that they are not asked again for the same.
 */
export async function proveApproved(attempt: Attempt, { commit, by }: Approval): Promise<Proven & { summary: string }> {
  const { worker, place, mirrorDir, candidateDir } = attempt;
  const heldDir = await openHeld(mirrorDir);
  const { parent, tree, changed } = await readHeld(heldDir, commit);
  // What an attempt merges and proves is in its own repository.
  await attempt.seeCommit(parent);
  await sendCommit({ from: heldDir, stores: [candidateDir], commit });
  const [proof, summary] = await Promise.all([readProofOf(worker.store, place), agentSummary(attempt)]);
  const approved: Attempt = {
    ...attempt,
    startedFrom: proof?.startedFrom ?? parent,
    startedAt: proof?.startedAt ?? attempt.startedAt,
    approval: { by, paths: new Set(changed.map(({ path }) => path)), used: proof?.usage },
  };
  // Whatever looks like a secret in it, or is hidden, they have seen.
  const candidate = { commit, parent, tree, changed, suspects: [], hidden: undefined };
  return { ...(await proveMerged(await mergeWithTip(approved, candidate, summary), 0)), summary };
}

/** Of when its agent ended. */
async function agentSummary({ worker, place }: Attempt): Promise<string> {
  const outcome = readAnswer(await worker.store.readArtifact(place, 'result.json'));
  return outcome.kind === 'answer' ? outcome.answer.summary : '';
}
