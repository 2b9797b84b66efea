import { HaloError } from '../failure/errors.ts';
import type { RunState } from './state.ts';

/** A sentence about a run whose artifacts retention has removed. */
export function prunedText({ runId, pruned }: { runId: string; pruned: { at: string } }): string {
  return `Retention removed the artifacts of run ${runId} on ${dateTime(pruned.at)}.`;
}

/** `2030-01-31 03:20:00 UTC` */
export function dateTime(at: string): string {
  return `${at.slice(0, 10)} ${at.slice(11, 19)} UTC`;
}

/** ARTIFACT_UNREADABLE of a run whose artifacts retention has removed says so; any other error is returned unchanged. */
export function toPrunedError({ runId, pruned }: Pick<RunState, 'runId' | 'pruned'>, error: unknown): unknown {
  if (pruned === undefined || !(error instanceof HaloError) || error.code !== 'ARTIFACT_UNREADABLE') return error;
  return new HaloError('ARTIFACT_UNREADABLE', prunedText({ runId, pruned }), {
    hint: 'Read what its journal has with `halo logs` and `halo show`.',
    cause: error,
  });
}
