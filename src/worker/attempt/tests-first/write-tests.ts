import type { CriterionClaim } from '../../../core/review/criteria.ts';
import {
  commandFor,
  judgeControl,
  judgeRedRun,
  lockedTestsOf,
  testGlobsOf,
  type LockedTests,
  type RedVerdict,
} from '../../../core/review/tests-first.ts';
import type { TestCase } from '../../../core/test-report/formats/collect-tests.ts';
import { foldName } from '../../../git/import/change-policy.ts';
import { statObjects } from '../../../git/objects/read-objects.ts';
import { listFiles } from '../../../git/objects/trees.ts';
import { compileGlobs } from '../../../lib/glob.ts';
import { runCommands, setupAndGates, type NextCommand } from '../../workspace/run-commands.ts';
import { CANDIDATE, VIEW } from '../../workspace/sandbox-paths.ts';
import { planCleanSteps } from '../../workspace/step-plan.ts';
import { Workspace } from '../../workspace/workspace.ts';
import { assertCommandPassed } from '../assert-command-passed.ts';
import { assertExited, findMissingProgram, programMissing, type Measurements } from '../attempt-outcome.ts';
import type { Attempt } from '../open-attempt.ts';
import { openExporter, readWorkspace, type Exporter } from '../phases/export-tree.ts';
import { importWork } from '../phases/import-candidate.ts';
import type { AttemptWorkspaces } from '../phases/prepare-workspace.ts';
import { readTestReports } from '../phases/read-test-reports.ts';
import { runAgent } from '../phases/run-agent.ts';
import type { Candidate } from '../work.ts';
import { isRegularFile, judgeTests, lockKeptTests, lockNewTests, nameTests } from './locked-tests.ts';
import { asTestsAttempt, withTestsGate } from './tests-attempt.ts';

/**
 * Lets an agent write the tests of the story in the work tree, shows on the base commit that they fail, and locks them.
 * Returns the attempt with its locked tests, and what reads the change of the next agent. Does nothing unless `tests.first` asks for it; `kept` tests of an earlier
 * attempt are locked as they are. With `report`, tests that cannot be locked do not end the attempt.
 */
export async function writeTests(
  attempt: Attempt,
  { work, kept, exporter }: Pick<AttemptWorkspaces, 'work' | 'kept'> & { exporter: Exporter },
  measured: Measurements,
): Promise<{ attempt: Attempt; exporter: Exporter }> {
  if (kept !== undefined) return { attempt: { ...attempt, locked: await lockKeptTests(attempt, kept) }, exporter };
  const testing = asTestsAttempt(attempt);
  if (testing === undefined) return { attempt, exporter };
  const { summary, criteria: claims } = await runAgent(testing, work, { exporter, measured });
  return attempt.journal.phase('red', async () => {
    const candidate = await importWork(testing, await readWorkspace(testing, exporter), summary);
    // What the second agent changes is what differs from the tree with these tests.
    const commands = attempt.config.setup.length === 0 ? undefined : Promise.resolve();
    const next = openExporter(attempt, work, { commit: candidate?.commit ?? attempt.inputs.base, commands });
    return { attempt: { ...attempt, locked: await lockTests(attempt, candidate, claims) }, exporter: next };
  });
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

/** The result of `tests.command` on a commit. */
interface TestsRun {
  exitCode: number;
  /** Null if it printed no report in a known format. */
  tests: TestCase[] | null;
  /** The end of its output. */
  tail: string;
}

/** Runs setup and new tests in a clean checkout of the base commit with the tests. */
function runNewTests(
  attempt: Attempt,
  { commit, tests }: { commit: string; tests: Pick<LockedTests, 'command' | 'files'> },
): Promise<TestsRun> {
  return runOn(attempt, { name: 'red', commit, gitDir: attempt.resources.candidateDir, tests });
}

/** Runs the same command on the base commit, without test files. */
function runControl(attempt: Attempt, command: string): Promise<TestsRun> {
  const { inputs, resources } = attempt;
  const tests = { command, files: [] };
  return runOn(attempt, { name: 'control', commit: inputs.base, gitDir: resources.mirrorDir, tests });
}

interface TestsCheckout {
  /** Of the workspace, and of the folder of the logs. */
  name: string;
  commit: string;
  gitDir: string;
  tests: Pick<LockedTests, 'command' | 'files'>;
}

async function runOn(attempt: Attempt, { name, commit, gitDir, tests }: TestsCheckout): Promise<TestsRun> {
  const { config, worker, identity } = attempt;
  const only = withTestsGate({ ...attempt, config: { ...config, gates: [] } }, { ...tests, cases: [] });
  const clean = new Workspace(only, name, planCleanSteps(only));
  await clean.checkOut(commit, gitDir, [VIEW, CANDIDATE]);
  const logOf = (next: NextCommand) => `${name}/${next.name}`;
  const openLog = (next: NextCommand) => worker.store.openArtifact(identity.location, logOf(next));
  const plan = {
    commands: setupAndGates(only.config),
    phase: 'baseline' as const,
    openLog,
    staleReports: { paths: config.tests.reports, gates: 1 },
  };
  const logs: string[] = [];
  let result = { exitCode: 0, tail: '' };
  for await (const ended of runCommands(only, clean, plan)) {
    const { kind, exit, tail } = ended;
    if (kind === 'setup') {
      assertCommandPassed(config, ended, { touched: false });
      continue;
    }
    const what = `the tests \`${commandFor(tests)}\``;
    assertExited(exit, { what, limits: config.limits }, tail);
    const program = findMissingProgram(exit, tail);
    if (program !== undefined) throw programMissing(program, { what, image: config.image, tail });
    result = { exitCode: exit.exitCode ?? 0, tail };
    logs.push(logOf(ended));
  }
  const { tests: reported } = await readTestReports(attempt, clean, logs);
  return { ...result, tests: reported };
}
