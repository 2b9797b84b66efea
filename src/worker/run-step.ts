import type { Writable } from 'node:stream';
import type { CommandResult } from '../core/journal/events.ts';
import type { NetworkPhase } from '../core/network.ts';
import { maskInto } from '../lib/secrets/masking-sink.ts';
import type { SandboxExit } from '../sandbox/sandbox.ts';
import type { Attempt } from './attempt-context.ts';
import { throughChannel } from './carry.ts';
import { EGRESS_PORT } from './workspace/sandbox-paths.ts';
import { reportNetwork } from './report-network.ts';
import { openStepLog } from './workspace/command-log.ts';
import type { StartedStep } from './workspace.ts';

export interface StepResult {
  exit: SandboxExit;
  /** The last bytes of its output, as text. */
  tail: string;
  /** Of its whole output, without secrets. */
  sha256: string;
}

/**
 * Runs one of the user's commands (setup or gate) as the main process of its sandbox; its output goes to `log`. `phase` is
 * what it is part of.
 */
export async function runStep(
  attempt: Attempt,
  { sandbox, way }: StartedStep,
  { command, log, phase }: { command: string; log: Writable; phase: NetworkPhase },
): Promise<StepResult> {
  const { wallMs, idleMs, outputBytes } = attempt.config.limits;
  const { masker } = attempt.worker;
  const output = openStepLog(log);
  const exit = await sandbox.run({
    script: way === undefined ? command : throughChannel(attempt, EGRESS_PORT, `${way.script}${command}`),
    // Before anything is cut: of half a secret nobody knows what it is.
    stdout: maskInto(masker, output.stdout),
    stderr: maskInto(masker, output.stderr),
    wallMs,
    idleMs,
    outputBytes,
    signal: attempt.signal,
  });
  await Promise.all([sandbox.remove(), way?.channel.close(), output.close()]);
  // Of the commands here only those of setup have a way out.
  if (way !== undefined) await reportNetwork(attempt, phase, way.channel);
  return { exit, tail: output.tail(), sha256: output.digest() };
}

/** The result of a command for the journal: with the end of its output when it failed, since that says why. */
export function resultOf(command: string, exit: SandboxExit, tail: string): CommandResult {
  const why = exit.exitCode === 0 || tail.trim() === '' ? {} : { tail };
  return { command, exitCode: exit.exitCode, ms: exit.ms, ...why };
}
