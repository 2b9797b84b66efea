import { storyOf } from '../../../core/run/state.ts';
import { lockedTestsOf, type KeptTests, type LockedTests } from '../../../core/review/tests-first.ts';
import { fetchKeptTests, hasKeptTests, keepTests } from '../../../git/commit/held-commits.ts';
import { SILENT_JOURNAL } from '../attempt-journal.ts';
import type { Attempt } from '../open-attempt.ts';

/**
 * The tests that an earlier attempt at the story has locked, if this attempt builds on the same commit and runs them with
 * the same command. An implementation that failed must not get other tests, which may be weaker.
 */
export async function findKeptTests({
  config,
  inputs,
  resources,
  worker,
  identity,
}: Attempt): Promise<KeptTests | undefined> {
  const { first, command } = config.tests;
  const kept = storyOf(inputs.state, inputs.story.id).keptTests;
  if (first === 'off' || kept === undefined || kept.base !== inputs.base || kept.command !== command) return undefined;
  const found = await hasKeptTests(resources.mirrorDir, kept.commit).catch((error: unknown) => {
    worker.log.warn({ attempt: identity.id, err: error }, 'locked tests could not be read; writing others');
    return false;
  });
  return found ? kept : undefined;
}

/** Makes the commit with the kept tests available to the sandboxes of the attempt. */
export async function exposeKeptTests({ resources }: Attempt, { base, commit }: KeptTests): Promise<void> {
  const { mirrorDir, candidateDir } = resources;
  await resources.exposeCommit(base);
  await fetchKeptTests(mirrorDir, candidateDir, commit);
}

/** Locks tests that this attempt has written, so that later attempts can use them. `commit`: with the tests, on the base. */
export async function lockNewTests(attempt: Attempt, locked: LockedTests, commit: string): Promise<LockedTests> {
  const { journal, resources, identity, inputs } = attempt;
  const { candidateDir, mirrorDir } = resources;
  const { runId, storyKey } = identity;
  // A replay keeps nothing.
  if (journal !== SILENT_JOURNAL) await keepTests({ candidateDir, mirrorDir, runId, storyKey, commit });
  await journal.report(
    { type: 'tests.judged', step: 'red' },
    { type: 'tests.locked', ...locked, base: inputs.base, commit },
  );
  return locked;
}

/** Locks the tests of an earlier attempt for this one. */
export async function lockKeptTests({ journal }: Attempt, kept: KeptTests): Promise<LockedTests> {
  const { base, commit, attempt: from } = kept;
  const locked = lockedTestsOf(kept);
  await journal.report({ type: 'tests.locked', ...locked, base, commit, from });
  return locked;
}
