import type { Sandbox } from '../../sandbox/sandbox.ts';
import type { Attempt } from './open-attempt.ts';
import { readWorkspace } from './phases/export-tree.ts';
import { importWork } from './phases/import-candidate.ts';

/**
 * Saves the changes of an agent that failed or needs a person as a patch among the artifacts, because the volume is
 * removed. They pass the same checks as finished work and never land. Returns whether there are any; undefined if they
 * could not be read. Never throws.
 */
export async function savePartialWork(attempt: Attempt, exporter: Promise<Sandbox>): Promise<boolean | undefined> {
  const { signal, worker, identity } = attempt;
  if (signal.aborted) return undefined;
  try {
    return (await importWork(attempt, await readWorkspace(attempt, exporter), 'unfinished work')) !== undefined;
  } catch (error) {
    worker.log.info({ attempt: identity.id, err: error }, 'unfinished work could not be saved');
    return undefined;
  }
}
