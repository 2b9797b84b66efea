import type { Config } from '../../config/config.ts';
import { failureSign } from '../../core/failure/broken-base.ts';
import { findFailedTests } from '../../core/test-report/failed-tests.ts';
import { defined } from '../../lib/guards.ts';
import { onLayer, type Attempt } from './open-attempt.ts';
import { openGateResults, type GateResults } from './gate-results.ts';
import { runCommands, setupAndGates, type NextCommand } from '../workspace/run-commands.ts';
import { VIEW } from '../workspace/sandbox-paths.ts';
import { planCleanSteps } from '../workspace/step-plan.ts';
import { readTestReports } from './phases/read-test-reports.ts';
import { findLayer } from '../snapshot/open-layer.ts';
import { Workspace } from '../workspace/workspace.ts';

/** How the results of a commit are found. */
export interface BaselineSource {
  /** `tests.baseline`; `never` without gates. */
  mode: Config['tests']['baseline'];
  /** The cached results. */
  read(): Promise<GateResults | undefined>;
  /** Whether the gates reported no tests the last time they ran. */
  lastReportedNoTests(): Promise<boolean>;
  /** Runs the gates on the commit until `signal` aborts. Undefined if that says nothing about the commit. */
  run(signal: AbortSignal): Promise<GateResults | undefined>;
  onError(error: unknown): void;
}

/** The baseline of an attempt, for the commit `base` that its story builds on. */
export function openBaseline(attempt: Attempt, base: string): Baseline {
  const { worker, identity, config, signal } = attempt;
  const files = () => openGateResults(attempt);
  return new Baseline({
    mode: (config.gates ?? []).length === 0 ? 'never' : config.tests.baseline,
    read: async () => (await files()).read(base),
    lastReportedNoTests: async () => (await files()).lastReportedNoTests(),
    run: (stop) => runOnBase({ ...attempt, signal: AbortSignal.any([signal, stop]) }, base),
    onError: (err) => worker.log.warn({ attempt: identity.id, err }, 'baseline failed; continuing without it'),
  });
}

/** The results of the gates on a commit. Nothing runs before `start` or `results`. Never throws. */
export class Baseline {
  private readonly source: BaselineSource;
  private readonly stopper = new AbortController();
  private readonly known: Promise<GateResults | undefined>;
  private started: Promise<void> | undefined;
  private running: Promise<GateResults | undefined> | undefined;

  constructor(source: BaselineSource) {
    this.source = source;
    this.known = this.isOff ? Promise.resolve(undefined) : this.orSkip(source.read());
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

  private get isOff(): boolean {
    return this.source.mode === 'never';
  }

  private async startIfWanted(): Promise<undefined> {
    if (this.isOff || (await this.known) !== undefined) return;
    const wanted = this.source.mode === 'always' || !(await this.source.lastReportedNoTests());
    if (wanted && !this.stopper.signal.aborted) void this.run();
  }

  private run(): Promise<GateResults | undefined> {
    return (this.running ??= this.orSkip(this.source.run(this.stopper.signal)));
  }

  /** Continues without a baseline if `work` fails. */
  private async orSkip<T>(work: Promise<T>): Promise<T | undefined> {
    try {
      return await work;
    } catch (error) {
      if (!this.stopper.signal.aborted) this.source.onError(error);
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
    const { kind, command, exit, tail } = ended;
    const { exitCode } = exit;
    // A limit or the end of the attempt killed it, which says nothing about the commit.
    if (exitCode === undefined) return undefined;
    if (kind === 'setup') results.setupFailed ||= exitCode !== 0;
    else {
      const log = logOf(ended);
      const printed = exitCode === 0 ? undefined : await worker.store.readArtifact(identity.location, log);
      const failed = printed === undefined ? undefined : findFailedTests(printed);
      const sign = printed === undefined ? undefined : failureSign({ exitCode, failed, tail });
      results.gates.push({ command, exitCode, ...defined({ sign }) });
      logs.push(log);
    }
  }
  Object.assign(results, await readTestReports(attempt, clean, logs));
  if (attempt.signal.aborted) return undefined;
  await (await openGateResults(attempt)).save(base, results);
  return results;
}
