import type { Writable } from 'node:stream';
import type { Proof } from '../../core/review/proof.ts';
import { commandFor, findChangedLocks, findUnprovenTests, selectTestsOf } from '../../core/review/tests-first.ts';
import type { TestCase } from '../../core/test-report/formats/collect-tests.ts';
import { commitFiles } from '../../git/commit/create-commit.ts';
import { listFiles } from '../../git/objects/trees.ts';
import { tailSink } from '../../lib/streams.ts';
import type { SandboxContext } from '../attempt/open-attempt.ts';
import { readPrintedReports } from '../attempt/phases/read-test-reports.ts';
import { nameTests } from '../attempt/tests-first/locked-tests.ts';
import { runCommands, setupAndGates, type CommandPlan } from '../workspace/run-commands.ts';
import { CANDIDATE, VIEW } from '../workspace/sandbox-paths.ts';
import { planCleanSteps } from '../workspace/step-plan.ts';
import { Workspace } from '../workspace/workspace.ts';
import { compareFact, type FactCheck } from './compare-record.ts';

type Tests = NonNullable<Proof['tests']>;

const MAX_OUTPUT_BYTES = 16 * 1024 * 1024;

/** The output of the last command. */
export interface Printed {
  openLog: () => Writable;
  text: () => string;
}

export function openPrinted(): Printed {
  let last: ReturnType<typeof tailSink> | undefined;
  return {
    openLog: () => {
      last = tailSink(MAX_OUTPUT_BYTES);
      return last.sink;
    },
    text: () => last?.text() ?? '',
  };
}

/** Checks that each locked test ran and passed on the commit, as far as a report names them. */
export async function checkGreenAgain(
  context: SandboxContext,
  clean: Workspace,
  { tests, printed }: { tests: Tests; printed: Printed },
): Promise<FactCheck[]> {
  if (tests.cases.length === 0) return [];
  const unproven = findUnprovenTests(tests.cases, await readOwn(context, clean, { tests, printed }));
  const found = unproven.length === 0 ? 'pass' : `not passed: ${nameTests(unproven)}`;
  return [compareFact('tests after the change', 'pass', found)];
}

/** Checks that the commit has the locked tests, and that they fail on the commit that the agent started from. */
export async function repeatRedRun(
  context: SandboxContext,
  { proof, commit, gitDir }: { proof: Proof; commit: string; gitDir: string },
): Promise<FactCheck[]> {
  const { tests, startedFrom, base } = proof;
  if (tests === undefined) return [];
  const paths = new Set(tests.files.map(({ path }) => path));
  const files = await listFiles({ gitDir, commit }, ({ path }) => paths.has(path));
  const changed = findChangedLocks(tests.files, new Map(files.map(({ path, id }) => [path, id])));
  const locks = compareFact('locked tests', 'unchanged', changed.length === 0 ? 'unchanged' : 'changed or missing');
  if (changed.length > 0) return [locks];
  const { config, resources } = context;
  const { candidateDir } = resources;
  const from = startedFrom ?? base;
  await resources.exposeCommit(commit);
  const red = await commitFiles({ gitDir: candidateDir, parent: from, files });
  const only = { ...context, config: { ...config, gates: [commandFor(tests)] } };
  const clean = new Workspace(only, 'red', planCleanSteps(only));
  await resources.exposeCommit(from);
  await clean.checkOut(red, candidateDir, [VIEW, CANDIDATE]);
  const printed = openPrinted();
  const plan: CommandPlan = {
    commands: setupAndGates(only.config),
    phase: 'baseline',
    openLog: printed.openLog,
    staleReports: { paths: config.tests.reports, gates: 1 },
  };
  const checks = [locks];
  for await (const { kind, exit } of runCommands(only, clean, plan)) {
    const failed = exit.exitCode !== undefined && exit.exitCode !== 0;
    if (kind === 'gate') {
      const found = failed ? judgeRedAgain(tests, await readOwn(only, clean, { tests, printed })) : undefined;
      checks.push(compareFact('tests on the base', 'fail', found ?? describeExitCode(exit.exitCode)));
    } else if (failed) checks.push(compareFact('setup on the base', 'exit 0', describeExitCode(exit.exitCode)));
  }
  return checks;
}

/** Each test must fail as it did, except those that passed before the change. */
function judgeRedAgain({ cases, holding = [] }: Tests, reported: TestCase[] | null): string {
  const wanted = cases.filter((name) => !holding.includes(name));
  const failed = new Set(reported?.filter((test) => test.failed === true).map(({ name }) => name));
  const others = wanted.filter((name) => !failed.has(name));
  return others.length === 0 ? 'fail' : `not failed: ${nameTests(others)}`;
}

async function readOwn(
  context: SandboxContext,
  clean: Workspace,
  { tests, printed }: { tests: Tests; printed: Printed },
): Promise<TestCase[] | null> {
  if (tests.cases.length === 0) return null;
  const reported = await readPrintedReports(context, clean, [printed.text]);
  return reported && selectTestsOf(tests.files, reported);
}

export function describeExitCode(exitCode: number | undefined): string {
  return exitCode === undefined ? 'stopped' : `exit ${exitCode}`;
}
