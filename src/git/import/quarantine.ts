import type { Readable } from 'node:stream';
import { HaloError } from '../../core/failure/errors.ts';
import { gitFailure, lastWords, tryGit } from '../process/git.ts';
import { violation } from '../violation.ts';

/** Windows small enough that the mirror's packs fit into the limited address space. */
const SMALL_WINDOWS = ['-c', 'core.packedGitWindowSize=16m', '-c', 'core.packedGitLimit=128m'];
const MEMORY_BYTES = 3 * 1024 * 1024 * 1024;
const OWN_FAULT = /No space left|quota exceeded|Permission denied|Read-only file system|Too many open files/i;

export interface PackReceipt {
  quarantine: string;
  pack: Readable;
  limits: { packBytes: number; timeMs: number };
  signal: AbortSignal | undefined;
}

/**
 * Stores and checks a hostile thin pack. Throws POLICY_VIOLATION for what git refuses, GIT_FAILED or
 * DISK_FAILED when the host is at fault, RUN_ABORTED on the signal, and the stream's own error when it broke off.
 */
export async function receivePack({ quarantine, pack, limits, signal }: PackReceipt): Promise<void> {
  const args = ['index-pack', '--stdin', '--strict', '--fix-thin', `--max-input-size=${limits.packBytes}`];
  const outcome = await tryGit([...SMALL_WINDOWS, ...args], {
    gitDir: quarantine,
    input: pack,
    timeoutMs: limits.timeMs,
    memoryBytes: MEMORY_BYTES,
    ...(signal === undefined ? {} : { signal }),
  });
  if (pack.errored !== null) throw pack.errored;
  if (outcome.exitCode === 0) return;
  if (outcome.ended === 'aborted') throw new HaloError('RUN_ABORTED', 'The import was stopped on request.');
  if (outcome.ended === 'timeout') throw violation(undefined, `its pack took longer than ${limits.timeMs} ms to check`);
  const words = lastWords(outcome.stderr) ?? 'git could not read its pack';
  if (OWN_FAULT.test(words)) throw gitFailure(`git index-pack failed in ${quarantine}: ${words}`);
  throw violation(undefined, `git does not accept its pack (${words})`);
}
