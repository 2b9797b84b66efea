import type { Writable } from 'node:stream';
import type { Config } from '../../../config/config.ts';
import { allowsPrivateAddress } from '../../../config/trust/trust.ts';
import type { Proof } from '../../../core/review/proof.ts';
import { commandFor, findChangedLocks, findUnprovenTests, selectTestsOf } from '../../../core/review/tests-first.ts';
import type { TestCase } from '../../../core/test-report/formats/collect-tests.ts';
import { commitFiles } from '../../../git/commit/create-commit.ts';
import { readParents } from '../../../git/commit/read-commits.ts';
import { listFiles } from '../../../git/objects/trees.ts';
import { gitText } from '../../../git/process/git.ts';
import { mirrorName } from '../../../git/repository/repo-url.ts';
import { tailSink } from '../../../lib/streams.ts';
import { AttemptEnded } from '../../../worker/attempt/attempt-outcome.ts';
import type { SandboxContext } from '../../../worker/attempt/open-attempt.ts';
import { readPrintedReports } from '../../../worker/attempt/phases/read-test-reports.ts';
import { nameTests } from '../../../worker/attempt/tests-first/locked-tests.ts';
import { withIntactMirror } from '../../../worker/repository/with-intact-mirror.ts';
import type { WorkerContext } from '../../../worker/worker-context.ts';
import { runCommands, setupAndGates, type CommandPlan } from '../../../worker/workspace/run-commands.ts';
import { CANDIDATE, VIEW } from '../../../worker/workspace/sandbox-paths.ts';
import { planCleanSteps } from '../../../worker/workspace/step-plan.ts';
import { Workspace } from '../../../worker/workspace/workspace.ts';
import {
  compareFact,
  compareReview,
  compareSettings,
  type FactCheck,
  type ReferenceSettings,
} from './compare-proof.ts';
import { openCheckContext } from '../../../worker/proof/open-check-context.ts';
import { resolveImage } from '../../../worker/proof/resolve-image.ts';

interface VerifyRequest {
  proof: Proof;
  commit: string;
  /** The repository that has the commit. */
  gitDir: string;
  /** The expected settings of the proof, and all settings that it does not contain. */
  reference: ReferenceSettings;
  /** Use the proof's settings even if they differ from the reference. */
  trustProof: boolean;
  signal: AbortSignal;
}

/**
 * Verifies a landed commit against its proof: the commit, the settings, and its gates, which run again in a clean sandbox
 * of the recorded image. No command runs with settings that differ from the reference, unless `trustProof` is set. Throws
 * IMAGE_MISSING if this machine lacks the image.
 */
export async function verifyProof(worker: WorkerContext, request: VerifyRequest): Promise<FactCheck[]> {
  const { proof, commit, gitDir, reference, trustProof, signal } = request;
  const facts = [...(await checkCommit(request)), ...compareReview(proof, reference)];
  const different = compareSettings(proof, reference);
  const same = `as in ${reference.origin}`;
  const settings = different.length === 0 ? [compareFact('settings', same, same)] : different;
  if (different.length > 0 && !trustProof) return [...facts, ...settings, NOT_RUN];
  const rows = settings.map((row): FactCheck => (different.length === 0 ? row : { ...row, ok: null }));
  if (different.length > 0 && allowsPrivateAddress({ key: 'network.allow', value: proof.allow })) {
    const hosts = { what: 'hosts', recorded: proof.allow.join(', '), found: 'not public: refused', ok: false };
    return [...facts, ...rows, hosts, NOT_RUN];
  }
  await resolveImage(worker, proof.image.id, { subject: commit.slice(0, 12), called: proof.image.name });
  const config = settingsOf(proof, reference, different.length === 0);
  const repo = { source: gitDir, mirror: mirrorName(gitDir) };
  return withIntactMirror({ home: worker.home, repo }, async () => {
    const story = proof.story.id;
    const context = await openCheckContext(worker, { name: 'verifying', gitDir, commit, story, config, signal });
    try {
      return [...facts, ...rows, ...(await runGatesAgain(context, request)), ...(await repeatRedRun(context, request))];
    } catch (error) {
      if (!(error instanceof AttemptEnded)) throw error;
      return [...facts, ...rows, compareFact('services', 'ready', error.outcome.summary)];
    } finally {
      await context.resources.close();
    }
  });
}

const NOT_RUN: FactCheck = {
  what: 'setup and gates',
  recorded: '',
  found: 'not run, because the settings differ',
  ok: null,
};

async function checkCommit({ proof, commit, gitDir }: VerifyRequest): Promise<FactCheck[]> {
  const [tree, parents] = await Promise.all([
    gitText(['rev-parse', '--verify', '--end-of-options', `${commit}^{tree}`], { gitDir }),
    readParents(gitDir, commit),
  ]);
  return [
    compareFact('commit', proof.commit, commit),
    compareFact('base', proof.base, parents.length === 0 ? 'none' : parents.join(' ')),
    compareFact('tree', proof.tree, tree),
  ];
}

/** The recorded settings. If they differ from the reference, only public addresses are reachable, as for a repository's file. */
function settingsOf(proof: Proof, { config }: ReferenceSettings, same: boolean): Config {
  const { network } = config;
  return {
    ...config,
    agent: 'command',
    agentCommand: 'true',
    image: proof.image.id,
    env: proof.env,
    setup: proof.setup,
    gates: [...(proof.tests ? [commandFor(proof.tests)] : []), ...proof.gates.map(({ command }) => command)],
    tests: { ...config.tests, reports: proof.reports ?? [] },
    network: same ? network : { ...network, allow: proof.allow, registries: proof.registries, private: [] },
  };
}

async function runGatesAgain(context: SandboxContext, { commit, proof }: VerifyRequest): Promise<FactCheck[]> {
  const clean = new Workspace(context, 'clean', planCleanSteps(context));
  await clean.checkOut(commit, context.resources.mirrorDir, [VIEW]);
  const checks: FactCheck[] = [];
  const printed = openPrinted();
  const plan: CommandPlan = {
    commands: setupAndGates(context.config),
    phase: 'baseline',
    openLog: printed.openLog,
    staleReports: { paths: context.config.tests.reports, gates: proof.tests === undefined ? 0 : 2 },
  };
  let gates = 0;
  for await (const { kind, command, exit } of runCommands(context, clean, plan)) {
    checks.push(compareFact(`${kind} ${command}`, 'exit 0', describeExitCode(exit.exitCode)));
    if (kind !== 'gate') continue;
    gates += 1;
    if (proof.tests !== undefined && gates === 1)
      checks.push(...(await checkGreenAgain(context, clean, { tests: proof.tests, printed })));
  }
  return checks;
}

type Tests = NonNullable<Proof['tests']>;

const MAX_OUTPUT_BYTES = 16 * 1024 * 1024;

/** The output of the last command. */
interface Printed {
  openLog: () => Writable;
  text: () => string;
}

function openPrinted(): Printed {
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
async function checkGreenAgain(
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
async function repeatRedRun(
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
  const { tests: reported } = await readPrintedReports(context, clean, [printed.text]);
  return reported && selectTestsOf(tests.files, reported);
}

function describeExitCode(exitCode: number | undefined): string {
  return exitCode === undefined ? 'stopped' : `exit ${exitCode}`;
}
