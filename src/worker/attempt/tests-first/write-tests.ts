import type { CriterionClaim } from '../../../core/review/criteria.ts';
import {
  judgeControl,
  judgeRedRun,
  lockedTestsOf,
  testGlobsOf,
  type LockedTests,
  type RedVerdict,
} from '../../../core/review/tests-first.ts';
import { foldName } from '../../../git/import/change-policy.ts';
import { statObjects } from '../../../git/objects/read-objects.ts';
import { listFiles } from '../../../git/objects/trees.ts';
import { compileGlobs } from '../../../lib/glob.ts';
import type { Measurements } from '../attempt-outcome.ts';
import type { AttemptWorkspaces } from '../phases/prepare-workspace.ts';
import type { Attempt } from '../open-attempt.ts';
import { openExporter, readWorkspace } from '../phases/export-tree.ts';
import { importWork } from '../phases/import-candidate.ts';
import type { Candidate } from '../work.ts';
import { runAgent } from '../phases/run-agent.ts';
import { isRegularFile, judgeTests, nameTests } from './locked-tests.ts';
import { lockKeptTests, lockNewTests } from './kept-tests.ts';
import { runControl, runNewTests, type TestsRun } from './red-run.ts';
import { asTestsAttempt } from './tests-attempt.ts';

/**
 * Lets an agent write the tests of the story in the work tree, shows on the base commit that they fail, and locks them.
 * Returns the attempt with its locked tests. Does nothing unless `tests.first` asks for it; `kept` tests of an earlier
 * attempt are locked as they are. With `report`, tests that cannot be locked do not end the attempt.
 */
export async function writeTests(
  attempt: Attempt,
  { work, kept }: Pick<AttemptWorkspaces, 'work' | 'kept'>,
  measured: Measurements,
): Promise<Attempt> {
  if (kept !== undefined) return { ...attempt, locked: await lockKeptTests(attempt, kept) };
  const testing = asTestsAttempt(attempt);
  if (testing === undefined) return attempt;
  const exporter = openExporter(testing, work);
  const { summary, criteria: claims } = await runAgent(testing, work, { exporter, measured });
  const locked = await attempt.journal.phase('red', async () => {
    const candidate = await importWork(testing, await readWorkspace(testing, exporter), summary);
    return lockTests(attempt, candidate, claims);
  });
  return { ...attempt, locked };
}

async function lockTests(
  attempt: Attempt,
  candidate: Candidate | undefined,
  claims: readonly CriterionClaim[] | undefined,
): Promise<LockedTests | undefined> {
  const { config, inputs, resources, signal } = attempt;
  const { command = '', files: globs } = config.tests;
  const { candidateDir } = resources;
  const changed = candidate?.changed ?? [];
  const matcher = compileGlobs(testGlobsOf(globs, inputs.story).map(foldName));
  const refused = changed.filter(
    ({ path, change, mode }) => change !== 'add' || !isRegularFile({ mode }) || !matcher.test(foldName(path)),
  );
  if (refused.length > 0) {
    const paths = refused.map(({ path, change }) => `${path} (${change})`);
    const why = `tests are written to new files that match tests.files, and nothing else is changed: ${nameTests(paths)}`;
    return judgeTests(attempt, 'files', { stopReason: 'POLICY_VIOLATION', why, cause: 'other-files' });
  }
  const added = new Set(changed.map(({ path }) => path));
  const found =
    candidate === undefined
      ? []
      : await listFiles({ gitDir: candidateDir, commit: candidate.commit, signal }, ({ path }) => added.has(path));
  const facts = await statObjects(
    candidateDir,
    found.map(({ id }) => id),
    signal,
  );
  const files = found.map(({ path, id }) => ({ path, blob: id }));
  const locked: LockedTests = { command, files, cases: [] };
  const run: TestsRun =
    candidate === undefined
      ? { exitCode: 0, tests: null, tail: '' }
      : await runNewTests(attempt, { commit: candidate.commit, tests: locked });
  const seen = judgeRedRun({
    files: found.map(({ path, id }) => ({ path, size: facts.get(id)?.size ?? 0 })),
    criteria: inputs.story.acceptance.length,
    claims,
    ...run,
  });
  const verdict = await withControl(attempt, seen, { command, exitCode: run.exitCode });
  if (!verdict.red) return judgeTests(attempt, 'red', { ...verdict, tail: run.tail });
  if (candidate === undefined) return undefined;
  return lockNewTests(attempt, lockedTestsOf({ ...locked, ...verdict }), candidate.commit);
}

/** Without a report, the command must pass without the new tests: otherwise its failure says nothing about them. */
async function withControl(
  attempt: Attempt,
  seen: RedVerdict,
  { command, exitCode }: { command: string; exitCode: number },
): Promise<RedVerdict> {
  if (!seen.red || seen.evidence === 'report') return seen;
  return judgeControl(seen, { red: exitCode, control: (await runControl(attempt, command)).exitCode });
}
