import { addUsage } from '../../../core/agent.ts';
import type { TestCase } from '../../../core/test-report/formats/collect-tests.ts';
import { commandFor, judgeRedRun, type LockedTests } from '../../../core/review/tests-first.ts';
import { foldName } from '../../../git/import/path-policy.ts';
import { statObjects } from '../../../git/objects/read-objects.ts';
import { listFiles } from '../../../git/objects/tree-list.ts';
import { compileGlobs } from '../../../lib/glob.ts';
import { runCommands, setupAndGates, type NextCommand } from '../../workspace/run-commands.ts';
import { CANDIDATE, VIEW } from '../../workspace/sandbox-paths.ts';
import { planCleanSteps } from '../../workspace/step-plan.ts';
import { Workspace } from '../../workspace/workspace.ts';
import { assertCommandPassed } from '../assert-command-passed.ts';
import {
  assertExited,
  findMissingProgram,
  NO_MEASUREMENTS,
  programMissing,
  type AgentMeasurements,
  type OnMeasured,
} from '../attempt-outcome.ts';
import type { Attempt } from '../open-attempt.ts';
import { asTestsAttempt, withTestsGate } from '../tests-attempt.ts';
import { isRegularFile, judgeTests, nameTests } from './check-locks.ts';
import { openExporter, readWorkspace } from './export-tree.ts';
import { importWork, type Candidate } from './import-candidate.ts';
import { readTestReports } from './read-test-reports.ts';
import { requireAnswer, runAgent } from './run-agent.ts';

export interface WrittenTests {
  /** The attempt, with its tests if they are locked. */
  attempt: Attempt;
  /** What the agent that wrote them used. */
  measured: AgentMeasurements;
}

/**
 * Lets an agent write the tests of the story in the work tree, shows on the base commit that they fail, and locks them.
 * Does nothing unless `tests.first` asks for it. With `report`, tests that cannot be locked do not end the attempt.
 */
export async function writeTests(attempt: Attempt, work: Workspace, onMeasured: OnMeasured): Promise<WrittenTests> {
  const testing = asTestsAttempt(attempt);
  if (testing === undefined) return { attempt, measured: NO_MEASUREMENTS };
  const exporter = openExporter(testing, work);
  const { measured, end } = await runAgent(testing, work, exporter);
  onMeasured(measured);
  const { summary } = requireAnswer(end);
  const locked = await attempt.journal.phase('red', async () => {
    const candidate = await importWork(testing, await readWorkspace(testing, exporter), summary);
    return lockTests(attempt, candidate);
  });
  return { attempt: { ...attempt, locked }, measured };
}

/** Joins what two agents of one attempt used. */
export function joinMeasured(first: AgentMeasurements, second: AgentMeasurements): AgentMeasurements {
  return { ...second, usage: addUsage(first.usage, second.usage), denied: first.denied ?? second.denied };
}

async function lockTests(attempt: Attempt, candidate: Candidate | undefined): Promise<LockedTests | undefined> {
  const { config, inputs, resources, journal, signal } = attempt;
  const { command = '', files: globs } = config.tests;
  const { candidateDir } = resources;
  const changed = candidate?.changed ?? [];
  const matcher = compileGlobs(globs.map(foldName));
  const refused = changed.filter(
    ({ path, change, mode }) => change !== 'add' || !isRegularFile({ mode }) || !matcher.test(foldName(path)),
  );
  if (refused.length > 0) {
    const paths = refused.map(({ path, change }) => `${path} (${change})`);
    const why = `tests are written to new files that match tests.files, and nothing else is changed: ${nameTests(paths)}`;
    return judgeTests(attempt, 'files', { stopReason: 'POLICY_VIOLATION', why });
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
  const run =
    candidate === undefined ? { exitCode: 0, tests: null, tail: '' } : await runRed(attempt, candidate.commit, locked);
  const verdict = judgeRedRun({
    files: found.map(({ path, id }) => ({ path, size: facts.get(id)?.size ?? 0 })),
    criteria: inputs.story.acceptance.length,
    ...run,
  });
  if (!verdict.red) return judgeTests(attempt, 'red', { ...verdict, tail: run.tail });
  const cases = verdict.evidence === 'report' ? verdict.cases : [];
  await journal.report({ type: 'tests.judged', step: 'red' }, { type: 'tests.locked', ...locked, cases });
  return { ...locked, cases };
}

interface RedResult {
  exitCode: number;
  tests: TestCase[] | null;
  tail: string;
}

/** Runs setup and the tests in a clean checkout of the base commit with the tests. */
async function runRed(attempt: Attempt, commit: string, locked: LockedTests): Promise<RedResult> {
  const { config, worker, identity, resources } = attempt;
  const only = withTestsGate({ ...attempt, config: { ...config, gates: [] } }, locked);
  const clean = new Workspace(only, 'red', planCleanSteps(only));
  await clean.checkOut(commit, resources.candidateDir, [VIEW, CANDIDATE]);
  const logOf = ({ name }: NextCommand) => `red/${name}`;
  const openLog = (next: NextCommand) => worker.store.openArtifact(identity.place, logOf(next));
  const plan = { commands: setupAndGates(only.config), phase: 'baseline' as const, openLog };
  const logs: string[] = [];
  let result = { exitCode: 0, tail: '' };
  for await (const ended of runCommands(only, clean, plan)) {
    const { kind, exit, tail } = ended;
    if (kind === 'setup') {
      assertCommandPassed(config, ended, { touched: false });
      continue;
    }
    const what = `the tests \`${commandFor(locked)}\``;
    assertExited(exit, { what, limits: config.limits }, tail);
    const program = findMissingProgram(exit, tail);
    if (program !== undefined) throw programMissing(program, { what, image: config.image, tail });
    result = { exitCode: exit.exitCode ?? 0, tail };
    logs.push(logOf(ended));
  }
  return { ...result, tests: await readTestReports(attempt, clean, logs) };
}
