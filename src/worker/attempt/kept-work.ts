import type { KeptTests } from '../../core/review/tests-first.ts';
import { needsPerson, storyOf } from '../../core/run/state.ts';
import { holdCommit, openHeldRepository, readHeldCommit } from '../../git/commit/held-commits.ts';
import { mergeOnto } from '../../git/land/merge-commits.ts';
import { sendCommit } from '../../git/mirror/send-commit.ts';
import { updateBase } from '../repository/host-repository.ts';
import { SILENT_JOURNAL } from './attempt-journal.ts';
import { AttemptEnded } from './attempt-outcome.ts';
import type { Attempt, ContinuedWork } from './open-attempt.ts';
import { commitTree } from './phases/import-candidate.ts';
import { findChangedTests } from './tests-first/locked-tests.ts';
import type { Candidate } from './work.ts';

/**
 * Keeps what an agent left when its attempt ended with a question, so that the next attempt continues with it. It has passed the checks
 * of an import, and it lands only as part of a change that passes the gates. Returns the end of the attempt.
 */
export async function keepLeftWork(attempt: Attempt, end: unknown, left: Candidate | undefined): Promise<unknown> {
  if (!(end instanceof AttemptEnded) || !needsPerson({ progress: end.outcome.verdict }) || left === undefined)
    return end;
  // A replay keeps nothing.
  if (attempt.journal === SILENT_JOURNAL || attempt.task === 'refactor') return end;
  const { candidateDir, mirrorDir } = attempt.resources;
  const { runId, storyKey } = attempt.identity;
  const { commit } = left;
  await holdCommit({ candidateDir, mirrorDir, runId, storyKey, commit });
  return new AttemptEnded({ ...end.outcome, left: commit });
}

/**
 * Opens the work of an earlier attempt that asked a question, or whose commit a person sent back. It is not applied if the
 * story has landed files in the meantime that conflict with it, or if tests are written first, for which it would be in the way.
 */
export async function openKeptWork(attempt: Attempt, tests: KeptTests | undefined): Promise<ContinuedWork | undefined> {
  const { inputs, config, worker, identity, signal } = attempt;
  const { kept } = storyOf(inputs.state, inputs.story.id);
  if (kept === undefined) return undefined;
  if (tests === undefined && config.tests.first !== 'off') return { attempt: kept.attempt, commit: undefined };
  const commit = await applyToBase(attempt, kept.commit, tests).catch((error: unknown) => {
    signal.throwIfAborted();
    worker.log.warn({ attempt: identity.id, err: error }, 'kept work could not be applied; starting without it');
    return undefined;
  });
  return { attempt: kept.attempt, commit };
}

async function applyToBase(attempt: Attempt, kept: string, tests: KeptTests | undefined): Promise<string | undefined> {
  const { inputs, resources, signal } = attempt;
  const { mirrorDir, candidateDir } = resources;
  const { base } = inputs;
  await updateBase(attempt);
  const heldDir = await openHeldRepository(mirrorDir);
  const { parent } = await readHeldCommit(heldDir, kept);
  await resources.exposeCommit(base);
  await resources.exposeCommit(parent);
  await sendCommit({ from: heldDir, stores: [candidateDir], commit: kept });
  let commit = kept;
  if (parent !== base) {
    const merged = await mergeOnto({ candidateDir, commit: kept, onto: base, signal });
    if (merged.kind === 'conflict') return undefined;
    commit = await commitTree(attempt, { tree: merged.tree, parent: base, summary: 'Work of an earlier attempt.' });
  }
  if (tests !== undefined && (await findChangedTests(attempt, tests, commit)).length > 0) return undefined;
  return commit;
}
