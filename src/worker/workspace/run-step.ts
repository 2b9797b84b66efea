import type { Writable } from 'node:stream';
import type { CommandResult } from '../../core/journal/events.ts';
import type { NetworkPhase } from '../../core/journal/egress-events.ts';
import { maskingSink } from '../../lib/secrets/masker.ts';
import type { SandboxExit } from '../../sandbox/sandbox.ts';
import type { SandboxContext } from '../attempt/open-attempt.ts';
import { recordNetwork, wrapWithForwarder } from '../network/channel.ts';
import { EGRESS_PORT } from './sandbox-paths.ts';
import { openCommandLog } from './command-log.ts';
import type { StartedStep } from './workspace.ts';

export interface StepResult {
  exit: SandboxExit;
  /** The last bytes of the output, as text. */
  tail: string;
  /** The sha256 of the whole masked output. */
  sha256: string;
}

/** Runs a setup or gate command as the main process of its sandbox and writes its output to `log`. */
export async function runStep(
  context: SandboxContext,
  { sandbox, egress }: StartedStep,
  { command, log, phase }: { command: string; log: Writable; phase: NetworkPhase },
): Promise<StepResult> {
  const { config, worker, resources, signal } = context;
  const { wallMs, idleMs, outputBytes } = config.limits;
  const { masker } = worker;
  const output = openCommandLog(log);
  const exit = await sandbox.run({
    script:
      egress === undefined ? command : wrapWithForwarder(resources.channel, EGRESS_PORT, `${egress.script}${command}`),
    // Before truncation: a truncated secret could not be recognised.
    stdout: maskingSink(masker, output.stdout),
    stderr: maskingSink(masker, output.stderr),
    wallMs,
    idleMs,
    outputBytes,
    signal,
  });
  await Promise.all([sandbox.remove(), egress?.channel.close(), output.close()]);
  // Only setup commands have a channel.
  if (egress !== undefined) await recordNetwork(context, phase, egress.channel);
  return { exit, tail: output.tail(), sha256: output.digest() };
}

/** The result of a command for the journal, with the end of its output if it failed. */
export function resultOf({ command, exit, tail }: StepResult & { command: string }): CommandResult {
  const why = exit.exitCode === 0 || tail.trim() === '' ? {} : { tail };
  return { command, exitCode: exit.exitCode, ms: exit.ms, ...why };
}
