import type { Readable } from 'node:stream';
import { HaloError } from '../../core/failure/errors.ts';
import { gitFailure, tryGit } from '../process/git.ts';
import { lastErrorLine } from '../process/output.ts';
import { policyViolation } from './policy-violation.ts';
import { defined } from '../../lib/guards.ts';

/** Small windows, so that the mirror's packs fit into the limited address space. */
const SMALL_WINDOWS = ['-c', 'core.packedGitWindowSize=16m', '-c', 'core.packedGitLimit=128m'];
const MEMORY_BYTES = 3 * 1024 * 1024 * 1024;
const HOST_FAULT = /No space left|quota exceeded|Permission denied|Read-only file system|Too many open files/i;

export interface PackReceipt {
  quarantine: string;
  pack: Readable;
  limits: { packBytes: number; timeMs: number };
  signal: AbortSignal | undefined;
}

/**
 * Stores and checks a hostile thin pack. Throws POLICY_VIOLATION when git rejects it, GIT_FAILED or DISK_FAILED when the
 * host is the cause, RUN_ABORTED on the signal, and the error of the stream when it fails.
 */
export async function receivePack({ quarantine, pack, limits, signal }: PackReceipt): Promise<void> {
  const args = ['index-pack', '--stdin', '--strict', '--fix-thin', `--max-input-size=${limits.packBytes}`];
  const outcome = await tryGit([...SMALL_WINDOWS, ...args], {
    gitDir: quarantine,
    input: pack,
    timeoutMs: limits.timeMs,
    memoryBytes: MEMORY_BYTES,
    ...defined({ signal }),
  });
  if (pack.errored !== null) throw pack.errored;
  if (outcome.exitCode === 0) return;
  if (outcome.ended === 'aborted') throw new HaloError('RUN_ABORTED', 'The import was cancelled.');
  if (outcome.ended === 'timeout')
    throw policyViolation(undefined, `its pack took longer than ${limits.timeMs} ms to check`);
  const words = lastErrorLine(outcome.stderr) ?? 'git could not read its pack';
  if (HOST_FAULT.test(words)) throw gitFailure(`git index-pack failed in ${quarantine}: ${words}`);
  throw policyViolation(undefined, `git does not accept its pack (${words})`);
}
