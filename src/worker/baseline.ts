import type { Attempt } from './attempt-context.ts';
import { keepEvidence, readEvidence, wereSilent, type Evidence } from './attempt/gate-results.ts';
import { runCommands, type NextCommand } from './on-commit.ts';
import { VIEW } from './workspace/sandbox-paths.ts';
import { planSteps } from './plan-steps.ts';
import { readReports } from './phases/reports.ts';
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
  const { base, mirrorDir } = attempt;
  const clean = openWorkspace(attempt, 'base', planSteps(attempt).cleanSteps);
  await clean.checkOut(base, mirrorDir, [VIEW]);
  const evidence: Evidence = { v: 1, setupFailed: false, gates: [], tests: null };
  const logs: string[] = [];
  const logOf = (name: string) => `baseline/${name}`;
  const open = ({ name }: NextCommand) => attempt.worker.store.openArtifact(attempt.place, logOf(name));
  for await (const { kind, command, name, exit } of runCommands(attempt, clean, open)) {
    const { exitCode } = exit;
    // Killed by a limit or with the attempt: that says nothing of the commit.
    if (exitCode === undefined) return undefined;
    if (kind === 'setup') evidence.setupFailed ||= exitCode !== 0;
    else {
      evidence.gates.push({ command, exitCode });
      logs.push(logOf(name));
    }
  }
  evidence.tests = await readReports(attempt, clean, logs);
  if (attempt.signal.aborted) return undefined;
  await keepEvidence(attempt, base, evidence);
  return evidence;
}
