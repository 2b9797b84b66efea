import type { Config } from '../../../config/config.ts';
import { explainOutput } from '../../../core/command-needs.ts';
import { failureSign, resolveBrokenBase, type BrokenBaseMode } from '../../../core/failure/broken-base.ts';
import { checkClaims, type CriterionClaim } from '../../../core/review/criteria.ts';
import type { GateProof } from '../../../core/review/proof.ts';
import { describeRestored, joinRestored, type Restored } from '../../../core/review/restored-paths.ts';
import { storyOf } from '../../../core/run/state.ts';
import {
  describeFailedTests,
  failedTestsLines,
  findFailedTests,
  type FailedTests,
} from '../../../core/test-report/failed-tests.ts';
import type { TestCase } from '../../../core/test-report/formats/collect-tests.ts';
import {
  compareTests,
  hasLostTests,
  type ReportedTests,
  type TestChanges,
} from '../../../core/test-report/test-report.ts';
import { safeLine } from '../../../core/text/safe-text.ts';
import { listFiles } from '../../../git/objects/trees.ts';
import { defined } from '../../../lib/guards.ts';
import { openLayer } from '../../snapshot/open-layer.ts';
import { runCommands, setupAndGates, type EndedCommand, type NextCommand } from '../../workspace/run-commands.ts';
import { resultOf } from '../../workspace/run-step.ts';
import { CANDIDATE, VIEW } from '../../workspace/sandbox-paths.ts';
import { planCleanSteps } from '../../workspace/step-plan.ts';
import { Workspace } from '../../workspace/workspace.ts';
import {
  assertExited,
  AttemptEnded,
  attemptFailed,
  describeExit,
  findMissingProgram,
  programMissing,
  withCause,
} from '../attempt-outcome.ts';
import { openBaseline, type Baseline } from '../baseline.ts';
import { openGateResults, type GateResults } from '../gate-results.ts';
import { onLayer, type Attempt, type SnapshotLayer } from '../open-attempt.ts';
import { requirePassedTests } from '../tests-first/locked-tests.ts';
import { withTestsGate } from '../tests-first/tests-attempt.ts';
import type { ImplementedWork } from '../work.ts';
import { readTestReports } from './read-test-reports.ts';
import { recordSetup } from './run-setup.ts';

/** The gates that passed, and the snapshot that they began with. */
export interface PassedGates {
  gates: GateProof[];
  layer: SnapshotLayer | undefined;
}

/** Runs setup and all gates in a clean checkout; without a candidate, on the attempt's base. Each gate must exit 0. */
export async function runGates(given: Attempt, work: ImplementedWork): Promise<PassedGates> {
  const { candidate, merges, gatesFolder, claims = [], locked } = work;
  const judging = withTestsGate({ ...given, locked }, locked);
  const { base } = given.inputs;
  const baseline = work.baseline ?? openBaseline(given, candidate?.parent ?? base);
  const commit = candidate?.commit ?? base;
  try {
    return await given.journal.phase('gates', async () => {
      if ((judging.config.gates ?? []).length === 0) {
        await reportClaims(judging, claims, null);
        return { gates: [], layer: undefined };
      }
      const checkout = { commit, gitDir: given.resources.candidateDir, sources: [VIEW, CANDIDATE] };
      const fromStory = candidate !== undefined;
      const layer = await openLayer(given, { checkout, phase: 'gates', folder: gatesFolder, fromStory });
      const attempt = onLayer(judging, layer);
      const ahead = work.clean?.layerVolume === layer?.volume ? work.clean : undefined;
      const clean = ahead ?? new Workspace(attempt, `gates-${merges}`, planCleanSteps(attempt));
      const project = onLayer(given, layer);
      const request = { project, commit, clean, baseline, claims, folder: gatesFolder };
      return { gates: await gateCommit(attempt, request), layer };
    });
  } finally {
    baseline.stop();
  }
}

interface GatesRequest {
  /** The attempt without the gate of the locked tests. */
  project: Attempt;
  commit: string;
  clean: Workspace;
  baseline: Baseline;
  /** Which criteria the agent claims to have met; they are reported together with the results of its tests. */
  claims: readonly CriterionClaim[];
  /** The folder of the logs among the artifacts. */
  folder: string;
}

async function gateCommit(attempt: Attempt, request: GatesRequest): Promise<GateProof[]> {
  const { config, worker, identity, journal, resources } = attempt;
  const { project, commit, clean, baseline, claims, folder } = request;
  const logOf = ({ name }: NextCommand) => `${folder}/${name}`;
  let restored: Restored | undefined;
  const commands = runCommands(attempt, clean, {
    commands: setupAndGates(config),
    phase: 'gates',
    openLog: (next) => worker.store.openArtifact(identity.location, logOf(next)),
    // Of the locked tests, then of the project.
    staleReports: { paths: config.tests.reports, gates: attempt.locked === undefined ? 0 : 2 },
    onNext: async ({ kind, command }) => {
      if (kind === 'gate') await journal.report({ type: 'gate.started', command });
    },
    onRestored: async ({ command }, paths) => {
      restored = joinRestored(restored, paths);
      await journal.report({ type: 'tree.restored', command, ...paths });
    },
  });
  const proofs: GateProof[] = [];
  const logs: string[] = [];
  let lockedTests: TestCase[] = [];
  await clean.checkOut(commit, resources.candidateDir, [VIEW, CANDIDATE]);
  for await (const ended of commands) {
    const log = logOf(ended);
    if (ended.kind === 'setup') {
      await recordSetup(attempt, ended, { phase: 'gates', log });
      continue;
    }
    proofs.push(await recordGate(attempt, ended, { log, restored, baseline }));
    if (attempt.locked !== undefined && proofs.length === 1)
      lockedTests = await requirePassedTests(attempt, attempt.locked, { clean, log });
    else logs.push(log);
  }
  const reported = await readTestReports(project, clean, logs);
  const { tests } = reported;
  await reportClaims(
    attempt,
    claims,
    tests === null && lockedTests.length === 0 ? null : [...lockedTests, ...(tests ?? [])],
  );
  await reportTestChanges(attempt, reported, baseline);
  const gates = attempt.locked === undefined ? proofs : proofs.slice(1);
  await (await openGateResults(project)).save(commit, { v: 1, setupFailed: false, gates, ...reported });
  return proofs;
}

interface GateFacts {
  /** The name of its log among the artifacts. */
  log: string;
  /** What was undone before this and earlier gates. */
  restored: Restored | undefined;
  baseline: Baseline;
}

/** Records a gate, and ends the attempt unless it exited 0. */
async function recordGate(
  { config, worker, identity, journal, resources, signal, inputs: { state, story, base } }: Attempt,
  ended: EndedCommand,
  { log, restored, baseline }: GateFacts,
): Promise<GateProof> {
  const { command, exit, sha256 } = ended;
  const printed = exit.exitCode === 0 ? undefined : await worker.store.readArtifact(identity.location, log);
  const failed = printed === undefined ? undefined : findFailedTests(printed);
  await journal.report({ type: 'gate.ended', ...resultOf(ended), ...(failed && { failed }), log, sha256 });
  assertExited(exit, { what: `gate \`${command}\``, limits: config.limits }, ended.tail);
  if (exit.exitCode !== 0) {
    const { answered } = storyOf(state, story.id);
    const brokenBase = resolveBrokenBase(config.tests.brokenBase, { ...defined({ task: state.task }), answered });
    const submodules = await listSubmodules({ gitDir: resources.mirrorDir, commit: base, signal });
    throw gateFailed(config, ended, { failed, restored, onBase: await baseline.results(), brokenBase, submodules });
  }
  return { command, exitCode: exit.exitCode, ms: exit.ms, sha256 };
}

async function reportClaims(
  { journal }: Attempt,
  claims: readonly CriterionClaim[],
  tests: TestCase[] | null,
): Promise<void> {
  if (claims.length === 0) return;
  await journal.report({ type: 'criteria.claimed', criteria: checkClaims(claims, tests), reported: tests !== null });
}

const MAX_NAMED_TESTS = 50;
const MAX_SHOWN_TESTS = 5;

/**
 * Reports which tests of the base are removed, skipped or empty after the story, and which reports could not be read. Ends
 * the attempt if `tests.removed` is "block" and there are any, or only the reports of the base could be read.
 */
async function reportTestChanges(attempt: Attempt, after: ReportedTests, baseline: Baseline): Promise<void> {
  const base = await (after.tests === null ? baseline.startedResults() : baseline.results());
  const before = base?.tests ?? undefined;
  const unread = after.unread.length > 0 ? after.unread : (base?.unread ?? []);
  if (before === undefined && unread.length === 0) return;
  // Nothing is known about tests whose reports could not be read.
  const now = after.tests ?? (after.unread.length > 0 ? (before ?? []) : []);
  const changes = { ...compareTests(before ?? now, now), after: after.tests?.length ?? 0 };
  if (before === undefined) changes.before = 0;
  await attempt.journal.report({
    type: 'tests.compared',
    ...limitNames(changes),
    ...(unread.length > 0 && { unread: unread.map((why) => safeLine(why)) }),
  });
  if (attempt.config.tests.removed !== 'block') return;
  if (hasLostTests(changes))
    throw attemptFailed('GATE_FAILED', `tests that were there before are gone: ${describeLost(changes)}`);
  const wasRead = (base?.unread ?? []).length === 0 || after.tests === null;
  if (before !== undefined && after.unread.length > 0 && wasRead)
    throw attemptFailed(
      'GATE_FAILED',
      `whether tests that were there before are gone is not known: ${safeLine(after.unread.join('; '), 400)}`,
    );
}

/** Test names come from untrusted code. */
function limitNames(changes: TestChanges): TestChanges {
  const short = (names: string[]) => names.slice(0, MAX_NAMED_TESTS).map((name) => safeLine(name));
  return {
    ...changes,
    removed: short(changes.removed),
    skipped: short(changes.skipped),
    emptied: short(changes.emptied),
  };
}

function describeLost({ removed, skipped, emptied }: TestChanges): string {
  const groups: [string, string[]][] = [
    ['removed', removed],
    ['skipped', skipped],
    ['emptied', emptied],
  ];
  return groups
    .filter(([, names]) => names.length > 0)
    .map(([what, names]) => {
      const shown = names.slice(0, MAX_SHOWN_TESTS).map((name) => safeLine(name, 80));
      const more = names.length > MAX_SHOWN_TESTS ? ', …' : '';
      return `${names.length} ${what} (${shown.join(', ')}${more})`;
    })
    .join(', ');
}

async function listSubmodules(place: Parameters<typeof listFiles>[0]): Promise<string[]> {
  return (await listFiles(place, ({ mode }) => mode === '160000')).map(({ path }) => path);
}

/** What is known about a gate in addition to its exit. */
export interface GateHistory {
  /** The failed tests, if its output names them. */
  failed: FailedTests | undefined;
  /** What was undone before this and earlier gates. */
  restored: Restored | undefined;
  /** The results of the gates on the commit that the story builds on; undefined if they are not known. */
  onBase: GateResults | undefined;
  /** What happens if the gate fails there in the same way. */
  brokenBase: BrokenBaseMode;
  /** The submodules of the base, whose folders are empty unless setup has filled them. */
  submodules?: readonly string[];
}

const MAY_REPAIR = 'Is the agent to repair it? Otherwise cancel the story, and start a new run after repairing it.';

/** What a person can answer, if the gate fails on the base commit. */
const REPAIRS = ['Repair it as part of this story.', 'Do not repair it: what made the gate fail is fixed already.'];

/** The failure of a gate that exited with another code than 0 on the work of a story. */
export function gateFailed(
  { limits, image }: Pick<Config, 'limits' | 'image'>,
  { command, exit, tail }: Pick<EndedCommand, 'command' | 'exit' | 'tail'>,
  { failed, restored, onBase, brokenBase, submodules = [] }: GateHistory,
): AttemptEnded {
  const what = `gate \`${command}\``;
  const base = onBase?.gates.find((gate) => gate.command === command);
  const program = findMissingProgram(exit, tail);
  // If the base has the program, the story removed it.
  if (program !== undefined && base?.exitCode === 127) return programMissing(program, { what, image, tail });
  const isBroken = base !== undefined && base.exitCode !== 0;
  const sign = failureSign({ exitCode: exit.exitCode, failed, tail });
  const isAlike = isBroken && sign !== undefined && sign === base.sign;
  const before = restored === undefined ? '' : `; halo had ${describeRestored(restored)}`;
  const tests = failed === undefined ? '' : `${describeFailedTests(failed)}; `;
  // The command comes last, because it may be long.
  const said = explainOutput('gate', { command, tail, submodules });
  const hint = said === undefined ? '' : `; ${said}`;
  const why = `${tests}gate ${describeExit(exit, limits, tail)}${describeBase()}${before}${hint}: \`${command}\``;
  const log = failed === undefined ? tail : `${failedTestsLines(failed).join('\n')}\n\n${tail}`;
  const end = attemptFailed('GATE_FAILED', why, log);
  if (!isBroken) return end;
  if (!isAlike || brokenBase === 'retry') return withCause('base-fails', end);
  if (brokenBase === 'stop') return withCause('base-broken', end);
  const question = `${why}. The base commit is broken. ${MAY_REPAIR}`;
  const asks = { verdict: 'needs_human', stopReason: 'NEEDS_HUMAN', summary: question, options: REPAIRS } as const;
  return withCause('base-broken', new AttemptEnded({ ...end.outcome, ...asks }));

  function describeBase(): string {
    if (onBase?.setupFailed === true) return '; on the base commit not even setup works';
    if (!isBroken) return '';
    return `; it fails on the base commit as well${isAlike || sign === undefined ? '' : ', in another way'}`;
  }
}
