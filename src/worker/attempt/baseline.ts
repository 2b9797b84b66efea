import type { Attempt } from './open-attempt.ts';
import { saveGateResults, readGateResults, lastReportedNoTests, type GateResults } from './gate-results.ts';
import { runCommands, setupAndGates, type NextCommand } from '../workspace/run-commands.ts';
import { VIEW } from '../workspace/sandbox-paths.ts';
import { planCleanSteps } from '../workspace/step-plan.ts';
import { readTestReports } from './phases/read-test-reports.ts';
import { onLayer } from '../snapshot/snapshot-layer.ts';
import { findLayer } from '../snapshot/open-layer.ts';
import { Workspace } from '../workspace/workspace.ts';

/**
 * The results of the gates on the commit `base` that a story builds on. Nothing runs before `start` or `results`. Never
 * throws.
 */
export class Baseline {
  private readonly attempt: Attempt;
  private readonly base: string;
  private readonly stopper = new AbortController();
  private readonly isOff: boolean;
  /** The cached results. */
  private readonly known: Promise<GateResults | undefined>;
  private started: Promise<void> | undefined;
  private running: Promise<GateResults | undefined> | undefined;

  constructor(attempt: Attempt, base: string) {
    const { tests, gates = [] } = attempt.config;
    this.attempt = { ...attempt, signal: AbortSignal.any([attempt.signal, this.stopper.signal]) };
    this.base = base;
    this.isOff = tests.baseline === 'never' || gates.length === 0;
    this.known = this.isOff ? Promise.resolve(undefined) : this.orSkip(readGateResults(attempt, base));
  }

  /** Starts the run in the background, unless the results are known or not wanted. */
  start(): void {
    this.started ??= this.orSkip(this.startIfWanted());
  }

  /** The results: cached, from the started run, or from a run that starts now. Undefined if there are none. */
  async results(): Promise<GateResults | undefined> {
    const known = await this.known;
    if (this.isOff || known !== undefined) return known;
    await this.started;
    return this.run();
  }

  /** The results, but without starting a run for them. */
  async startedResults(): Promise<GateResults | undefined> {
    await this.started;
    return (await this.known) ?? this.running;
  }

  /** Aborts the run. */
  stop(): void {
    this.stopper.abort();
  }

  private async startIfWanted(): Promise<undefined> {
    if (this.isOff || (await this.known) !== undefined) return;
    const always = this.attempt.config.tests.baseline === 'always';
    const wanted = always || !(await lastReportedNoTests(this.attempt));
    if (wanted && !this.stopper.signal.aborted) void this.run();
  }

  private run(): Promise<GateResults | undefined> {
    return (this.running ??= this.orSkip(runOnBase(this.attempt, this.base)));
  }

  /** Continues without a baseline if `work` fails. */
  private async orSkip<T>(work: Promise<T>): Promise<T | undefined> {
    try {
      return await work;
    } catch (error) {
      const { worker, identity } = this.attempt;
      if (!this.stopper.signal.aborted)
        worker.log.warn({ attempt: identity.id, err: error }, 'baseline failed; continuing without it');
      return undefined;
    }
  }
}

async function runOnBase(given: Attempt, base: string): Promise<GateResults | undefined> {
  const { mirrorDir } = given.resources;
  const known = given.layer === undefined;
  const attempt = known
    ? onLayer(given, await findLayer(given, { gitDir: mirrorDir, commit: base, sources: [VIEW] }))
    : given;
  const { config, worker, identity, resources } = attempt;
  const clean = new Workspace(attempt, 'base', planCleanSteps(attempt));
  await clean.checkOut(base, resources.mirrorDir, [VIEW]);
  const results: GateResults = { v: 1, setupFailed: false, gates: [], tests: null };
  const logs: string[] = [];
  const logOf = ({ name }: NextCommand) => `baseline/${name}`;
  const openLog = (next: NextCommand) => worker.store.openArtifact(identity.location, logOf(next));
  const commands = setupAndGates(config);
  for await (const ended of runCommands(attempt, clean, { commands, phase: 'baseline', openLog })) {
    const { kind, command, exit } = ended;
    const { exitCode } = exit;
    // A limit or the end of the attempt killed it, which says nothing about the commit.
    if (exitCode === undefined) return undefined;
    if (kind === 'setup') results.setupFailed ||= exitCode !== 0;
    else {
      results.gates.push({ command, exitCode });
      logs.push(logOf(ended));
    }
  }
  results.tests = await readTestReports(attempt, clean, logs);
  if (attempt.signal.aborted) return undefined;
  await saveGateResults(attempt, base, results);
  return results;
}
