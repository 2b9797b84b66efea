import { createHash } from 'node:crypto';
import { Writable } from 'node:stream';
import { finished } from 'node:stream/promises';
import type { NetworkPhase } from '../../core/journal/egress-events.ts';
import { TAIL_BYTES, type CommandResult } from '../../core/journal/event-parts.ts';
import { maskingSink } from '../../lib/secrets/masker.ts';
import { createByteBuffer } from '../../lib/streams.ts';
import type { SandboxExit } from '../../sandbox/sandbox.ts';
import type { SandboxContext } from '../attempt/open-attempt.ts';
import { forwardsOf, recordNetwork, wrapWithForwarder } from '../network/channel.ts';
import type { StartedStep } from './workspace.ts';

export interface StepResult {
  exit: SandboxExit;
  /** The last bytes of the output, as text. */
  tail: string;
  /** The sha256 of the whole masked output. */
  sha256: string;
}

/**
 * Runs a setup or gate command as the main process of its sandbox and writes its output to `log`. Ends the attempt if one
 * of its services does not get ready, or ends before it.
 */
export async function runStep(
  context: SandboxContext,
  { sandbox, egress, services, forwards }: StartedStep,
  { command, log, phase }: { command: string; log: Writable; phase: NetworkPhase },
): Promise<StepResult> {
  const { config, worker, resources, signal } = context;
  const { wallMs, idleMs, outputBytes } = config.limits;
  const { masker } = worker;
  await services?.ready(phase);
  const output = openCommandLog(log);
  const exit = await sandbox.run({
    script: wrapWithForwarder(
      [...forwardsOf(resources.channel, egress?.channel), ...forwards],
      `${egress?.script ?? ''}${command}`,
    ),
    // Before truncation: a truncated secret could not be recognised.
    stdout: maskingSink(masker, output.stdout),
    stderr: maskingSink(masker, output.stderr),
    wallMs,
    idleMs,
    outputBytes,
    signal: services === undefined ? signal : AbortSignal.any([signal, services.lost]),
  });
  // Services outlast the sandbox that uses them.
  const removing = sandbox.remove();
  if (services === undefined) worker.inBackground(removing);
  await Promise.all([services && removing, egress?.channel.close(), output.close()]);
  if (!signal.aborted) await services?.end({ failed: exit.exitCode !== 0 });
  // Only setup commands have a channel.
  if (egress !== undefined) await recordNetwork(context, phase, egress.channel);
  return { exit, tail: output.tail(), sha256: output.digest() };
}

/** The result of a command for the journal, with the end of its output if it failed. */
export function resultOf({ command, exit, tail }: StepResult & { command: string }): CommandResult {
  const why = exit.exitCode === 0 || tail.trim() === '' ? {} : { tail };
  const stopped = exit.ended === 'aborted' ? { interrupted: true as const } : {};
  return { command, exitCode: exit.exitCode, ...stopped, ms: exit.ms, ...why };
}

/** How much a log keeps of the beginning and of the end; the bytes between them are only counted. */
export const HEAD_BYTES = 8 * 1024 * 1024;
export const TAIL_LOG_BYTES = 1024 * 1024;

/**
 * Joins both output streams of a command in one log, in the order of arrival, and keeps its tail. A very long log keeps
 * its head and tail, and a line between them says how many bytes are missing.
 */
export function openCommandLog(log: Writable): {
  stdout: Writable;
  stderr: Writable;
  tail(): string;
  /** The sha256 of the whole output; call it after `close`. */
  digest(): string;
  close(): Promise<void>;
} {
  const hash = createHash('sha256');
  const end = keepEnd();
  let headBytes = 0;
  // Writes and `close` reject on a full disk; this avoids an uncaught event.
  log.on('error', () => undefined);
  const join = () =>
    new Writable({
      write(chunk: Buffer, _encoding, done) {
        hash.update(chunk);
        const head = chunk.subarray(0, HEAD_BYTES - headBytes);
        headBytes += head.length;
        end.add(chunk, chunk.length - head.length);
        if (head.length === 0) done();
        else log.write(head, done);
      },
    });
  return {
    stdout: join(),
    stderr: join(),
    tail: () => end.last(TAIL_BYTES).toString('utf8'),
    digest: () => hash.digest('hex'),
    close: async () => {
      const { missing, rest } = end.close();
      if (missing > 0) log.write(`\n[halo: ${missing} bytes are missing here]\n`);
      log.end(rest);
      await finished(log);
    },
  };
}

/** Keeps the last bytes of a stream and counts those after the head. */
function keepEnd() {
  const kept = createByteBuffer();
  let afterHead = 0;
  const last = (bytes: number) => {
    const all = kept.take();
    kept.add(all);
    return all.subarray(Math.max(0, all.length - bytes));
  };
  return {
    last,
    add(chunk: Buffer, behindHead: number): void {
      kept.add(chunk);
      afterHead += behindHead;
      if (kept.length() >= 2 * TAIL_LOG_BYTES) kept.add(kept.take().subarray(-TAIL_LOG_BYTES));
    },
    close(): { missing: number; rest: Buffer } {
      const rest = last(Math.min(afterHead, TAIL_LOG_BYTES));
      return { missing: afterHead - rest.length, rest };
    },
  };
}
