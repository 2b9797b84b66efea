import { execFileSync } from 'node:child_process';
import { expect, vi } from 'vitest';
import type { RunState } from '../../../src/core/run/state.ts';
import type { TestRepository } from '../../support/repository/repository.ts';
import type { World } from '../../support/faults/world.ts';
import { PATIENCE } from '../../support/patience.ts';

/** A run as it was when "cancelled" was shown. */
export interface Cancelled {
  runId: string;
  repository: TestRepository;
  /** From asking to the answer, and to the end of its last container, in ms. */
  answeredMs: number;
  stoppedMs: number;
  /** The branch of the run at that moment. */
  branch: string;
}

/** Cancels a run, and waits until nothing of it runs any more. */
export async function cancelRun(world: World, runId: string, repository: TestRepository): Promise<Cancelled> {
  const asked = Date.now();
  const said = await world.operations.cancel({ runId });
  const answeredMs = Date.now() - asked;
  const branch = branchOf(repository, runId);
  expect(said).toMatchObject({ changed: true });
  await vi.waitFor(() => expect(containersOf(runId), runId).toBe(''), PATIENCE);
  return { runId, repository, answeredMs, stoppedMs: Date.now() - asked, branch };
}

/** One end, by that word alone, and nothing has landed since. */
export async function expectCancelled(world: World, { runId, repository, branch }: Cancelled): Promise<void> {
  expect(branchOf(repository, runId), `the branch of ${runId}`).toBe(branch);
  const { state } = await world.operations.getRun({ runId });
  expect(state).toMatchObject({ status: 'ended', stopReason: 'USER_ABORT' });
  expect(world.journal(runId).filter(({ type }) => type === 'run.ended')).toHaveLength(1);
  expect(landed(state), `what the journal says of ${runId}`).toBe(branch);
}

/** The value that `share` of all values do not pass. */
export function percentile(values: number[], share: number): number {
  return values.toSorted((a, b) => a - b)[Math.ceil(values.length * share) - 1] ?? 0;
}

function branchOf(repository: TestRepository, runId: string): string {
  return repository.git('for-each-ref', '--format=%(objectname)', `refs/heads/halo/${runId}`);
}

function landed({ tip, repo }: RunState): string {
  return tip === repo.base ? '' : tip;
}

/** Those that run; created ones and volumes follow in the background. */
function containersOf(runId: string): string {
  return execFileSync('docker', ['ps', '-q', '--filter', `label=dev.halo.run=${runId}`], { encoding: 'utf8' }).trim();
}
