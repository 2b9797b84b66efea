import type { FailureCause } from '../../../core/failure/failure.ts';
import type { StopReason } from '../../../core/failure/stop-reason.ts';
import {
  findChangedLocks,
  findTestsWithoutAsserts,
  findUnprovenTests,
  lockedTestsOf,
  selectTestsOf,
  type KeptTests,
  type LockedTests,
  type TestsStep,
} from '../../../core/review/tests-first.ts';
import { storyOf } from '../../../core/run/state.ts';
import type { TestCase } from '../../../core/test-report/formats/collect-tests.ts';
import { safeLine } from '../../../core/text/safe-text.ts';
import { fetchKeptTests, hasKeptTests, keepTests } from '../../../git/commit/held-commits.ts';
import { listFiles } from '../../../git/objects/trees.ts';
import type { Workspace } from '../../workspace/workspace.ts';
import { SILENT_JOURNAL } from '../attempt-journal.ts';
import { attemptFailed, withCause } from '../attempt-outcome.ts';
import type { Attempt } from '../open-attempt.ts';
import { readTestReports } from '../phases/read-test-reports.ts';

const FILE_MODES = ['100644', '100755'];
const MAX_NAMED = 5;
const MAX_TAIL = 8_192;
const NO_ASSERTS = 'tests passed without an assertion that their runner counts';

/** What reporting a finding needs of an attempt. */
interface Judged {
  journal: Pick<Attempt['journal'], 'report'>;
  config: { tests: Pick<Attempt['config']['tests'], 'first'> };
}

/** Ends the attempt if locked tests of a commit were changed or removed. */
export async function assertLockedTests(
  attempt: Judged & Pick<Attempt, 'signal'> & { resources: Pick<Attempt['resources'], 'candidateDir'> },
  locked: LockedTests | undefined,
  commit: string,
): Promise<void> {
  if (locked === undefined) return;
  const changed = await findChangedTests(attempt, locked, commit);
  const why = `the tests of the story may not be changed: ${nameTests(changed)}`;
  if (changed.length > 0) await judgeTests(attempt, 'locks', { stopReason: 'POLICY_VIOLATION', why });
}

/** The paths of the locked tests that a commit changes or removes. */
export async function findChangedTests(
  { resources, signal }: Pick<Attempt, 'signal'> & { resources: Pick<Attempt['resources'], 'candidateDir'> },
  locked: Pick<LockedTests, 'files'>,
  commit: string,
): Promise<string[]> {
  const paths = new Set(locked.files.map(({ path }) => path));
  const at = { gitDir: resources.candidateDir, commit, signal };
  const files = await listFiles(at, ({ path }) => paths.has(path));
  return findChangedLocks(locked.files, new Map(files.filter(isRegularFile).map(({ path, id }) => [path, id])));
}

/**
 * Ends the attempt unless each locked test ran after the change and passed. `log`: of the command that runs them. Returns
 * the reported tests.
 */
export async function requirePassedTests(
  attempt: Attempt,
  locked: LockedTests,
  { clean, log }: { clean: Workspace; log: string },
): Promise<TestCase[]> {
  if (locked.cases.length === 0) return [];
  const { tests: reported } = await readTestReports(attempt, clean, [log]);
  const own = reported && selectTestsOf(locked.files, reported);
  const unchecked = findTestsWithoutAsserts(locked.cases, own);
  if (unchecked.length > 0)
    await judgeTests(attempt, 'green', { stopReason: 'TESTS_MISSING', why: `${NO_ASSERTS}: ${nameTests(unchecked)}` });
  const unproven = findUnprovenTests(locked.cases, own);
  if (unproven.length === 0) return reported ?? [];
  const why = `tests of the story did not run and pass after its change: ${nameTests(unproven)}`;
  const printed = await attempt.worker.store.readArtifact(attempt.identity.location, log);
  await judgeTests(attempt, 'green', { stopReason: 'GATE_FAILED', why, tail: printed?.slice(-MAX_TAIL) });
  return reported ?? [];
}

interface TestsFault {
  stopReason: StopReason;
  why: string;
  tail?: string | undefined;
  cause?: FailureCause;
}

/** Reports what is wrong with the tests, and ends the attempt unless `tests.first` is "report". */
export async function judgeTests(
  attempt: Judged,
  step: TestsStep,
  { stopReason, why, tail, cause }: TestsFault,
): Promise<undefined> {
  await attempt.journal.report({ type: 'tests.judged', step, why });
  if (attempt.config.tests.first === 'report') return;
  const end = attemptFailed(stopReason, why, tail);
  throw cause === undefined ? end : withCause(cause, end);
}

export function isRegularFile({ mode }: { mode: string }): boolean {
  return FILE_MODES.includes(mode);
}

/** Paths and names come from untrusted code. */
export function nameTests(names: readonly string[]): string {
  const shown = names.slice(0, MAX_NAMED).map((name) => safeLine(name, 80));
  return [...shown, ...(names.length > MAX_NAMED ? [`${names.length - MAX_NAMED} more`] : [])].join(', ');
}

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
