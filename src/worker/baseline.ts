import type { Attempt } from './attempt-context.ts';
import { keepEvidence, readEvidence, wereSilent, type Evidence } from './evidence.ts';
import { MIRROR } from './places.ts';
import { planSteps } from './plan-steps.ts';
import { readReports } from './phases/reports.ts';
import { runStep, type StepResult } from './run-step.ts';
import { openWorkspace } from './workspace.ts';

/** What the gates say of the commit that a story builds on. */
export interface Baseline {
  /** Starts it beside the agent, unless it is known or not wanted. */
  start(): void;
  /** Known already, from the run that was started ahead, or from one now; undefined when nobody can say. */
  evidence(): Promise<Evidence | undefined>;
  /** The same, but never from a run that is not started yet. */
  ready(): Promise<Evidence | undefined>;
  /** Gives up a run that nobody needs any more. */
  stop(): void;
}

/** The gates on the base commit of a story; nothing runs before it is started or asked for. Never throws. */
export function openBaseline(attempt: Attempt): Baseline {
  const { config, base } = attempt;
  const { baseline: mode } = config.tests;
  const stop = new AbortController();
  const without: Attempt = { ...attempt, signal: AbortSignal.any([attempt.signal, stop.signal]) };
  let running: Promise<Evidence | undefined> | undefined;
  const goWithout = (error: unknown) => {
    if (!stop.signal.aborted) attempt.worker.log.warn({ attempt: attempt.id, err: error }, 'no baseline of the gates');
    return undefined;
  };
  const run = () => (running ??= runOnBase(without).catch(goWithout));
  const off = mode === 'never' || (config.gates ?? []).length === 0;
  const known = off ? Promise.resolve(undefined) : readEvidence(attempt, base).catch(goWithout);
  const startWanted = async () => {
    const wanted = !off && (await known) === undefined && (mode === 'always' || !(await wereSilent(attempt)));
    if (wanted && !stop.signal.aborted) void run();
  };
  let started: Promise<void> | undefined;
  return {
    start: () => void (started ??= startWanted().catch(goWithout)),
    evidence: async () => {
      const evidence = await known;
      if (off || evidence !== undefined) return evidence;
      await started;
      return run();
    },
    ready: async () => {
      await started;
      return (await known) ?? running;
    },
    stop: () => stop.abort(),
  };
}

async function runOnBase(attempt: Attempt): Promise<Evidence | undefined> {
  const { config, base, mirrorDir } = attempt;
  const clean = openWorkspace(attempt, 'base', planSteps(attempt).cleanSteps);
  await clean.checkOut(base, mirrorDir, [MIRROR]);
  const evidence: Evidence = { v: 1, setupFailed: false, gates: [], tests: null };
  const runNext = async (command: string, log: string): Promise<StepResult['exit']> => {
    const output = attempt.worker.store.openArtifact(attempt.place, log);
    return (await runStep(attempt, await clean.take(), { command, log: output })).exit;
  };
  for (const [index, command] of config.setup.entries()) {
    const { exitCode } = await runNext(command, `baseline/setup-${index + 1}.log`);
    // Killed by a limit or with the attempt: that says nothing of the commit.
    if (exitCode === undefined) return undefined;
    evidence.setupFailed ||= exitCode !== 0;
    if (evidence.setupFailed) break;
  }
  const logs: string[] = [];
  for (const [index, command] of (evidence.setupFailed ? [] : (config.gates ?? [])).entries()) {
    const log = `baseline/${index + 1}.log`;
    const { exitCode } = await runNext(command, log);
    if (exitCode === undefined) return undefined;
    evidence.gates.push({ command, exitCode });
    logs.push(log);
  }
  evidence.tests = await readReports(attempt, clean, logs);
  if (attempt.signal.aborted) return undefined;
  await keepEvidence(attempt, base, evidence);
  return evidence;
}
