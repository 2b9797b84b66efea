import type { Sandbox } from '../sandbox/sandbox.ts';
import type { Attempt } from './attempt-context.ts';
import { readWorkspace } from './attempt/phases/export-tree.ts';
import { importWork } from './phases/import.ts';

/**
 * Keeps what an agent left behind that failed or asked for a person, as a patch among the artifacts: hours of work
 * must not vanish with the volume. It goes the same checked way as finished work, and lands nowhere.
 * Throws the agent's own failure in any case.
 */
export async function keepPartialWork(attempt: Attempt, exporter: Promise<Sandbox>, failure: unknown): Promise<never> {
  try {
    if (!attempt.signal.aborted) await importWork(attempt, await readWorkspace(attempt, exporter), 'unfinished work');
  } catch (error) {
    attempt.worker.log.info({ attempt: attempt.id, err: error }, 'the unfinished work could not be kept');
  }
  throw failure;
}
