import { commandFor, type LockedTests } from '../../../core/review/tests-first.ts';
import type { TestCase } from '../../../core/test-report/formats/collect-tests.ts';
import { runCommands, setupAndGates, type NextCommand } from '../../workspace/run-commands.ts';
import { CANDIDATE, VIEW } from '../../workspace/sandbox-paths.ts';
import { planCleanSteps } from '../../workspace/step-plan.ts';
import { Workspace } from '../../workspace/workspace.ts';
import { assertCommandPassed } from '../assert-command-passed.ts';
import { assertExited, findMissingProgram, programMissing } from '../attempt-outcome.ts';
import type { Attempt } from '../open-attempt.ts';
import { readTestReports } from '../phases/read-test-reports.ts';
import { withTestsGate } from './tests-attempt.ts';

/** The result of `tests.command` on a commit. */
export interface TestsRun {
  exitCode: number;
  /** Null if it printed no report in a known format. */
  tests: TestCase[] | null;
  /** The end of its output. */
  tail: string;
}

/** Runs setup and new tests in a clean checkout of the base commit with the tests. */
export function runNewTests(
  attempt: Attempt,
  { commit, tests }: { commit: string; tests: Pick<LockedTests, 'command' | 'files'> },
): Promise<TestsRun> {
  return runOn(attempt, { name: 'red', commit, gitDir: attempt.resources.candidateDir, tests });
}

/** Runs the same command on the base commit, without test files. */
export function runControl(attempt: Attempt, command: string): Promise<TestsRun> {
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
  return { ...result, tests: await readTestReports(attempt, clean, logs) };
}
