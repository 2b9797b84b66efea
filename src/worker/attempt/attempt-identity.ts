import { randomBytes } from 'node:crypto';
import type { AttemptRef } from '../../core/journal/event-parts.ts';
import { processMark } from '../../lib/process-identity.ts';
import type { AttemptLocation } from '../../store/run-layout.ts';

/**
 * Labels of sandboxes that belong to no run, in place of a run id. Run ids have another form, so that a worker's sweep of
 * attempts ignores such sandboxes.
 */
export const CHECK_NAMES = ['verifying', 'checking', 'replaying', 'debugging'] as const;
export type CheckName = (typeof CHECK_NAMES)[number];

/** Which attempt it is. `runId`, `storyKey`, `attempt` and `epoch` also label its sandboxes and volumes. */
export interface AttemptIdentity extends AttemptRef, AttemptLocation {
  /** The fencing epoch. It is unique within the run, and later attempts have higher ones. */
  epoch: number;
  /**
   * Unique: run, story key, attempt number, epoch, and a random part, because two workers may prepare an attempt with the
   * same epoch. Those of checks name their process, too, so that a sweep can find out whether it has died.
   */
  id: string;
  /** Where artifacts are stored. */
  location: AttemptLocation;
}

/** The identity of an attempt. Without a `location`, artifacts are stored below its own run. */
export function identifyAttempt(
  { runId, story, storyKey, attempt, epoch }: Omit<AttemptIdentity, 'id' | 'location'>,
  location: AttemptLocation = { runId, storyKey, attempt },
): AttemptIdentity {
  const ofProcess = isCheck(runId) ? [processMark()] : [];
  const id = [runId, storyKey, `a${attempt}`, `e${epoch}`, ...ofProcess, randomBytes(3).toString('hex')].join('-');
  return Object.freeze({ runId, story, storyKey, attempt, epoch, id, location });
}

function isCheck(runId: string): boolean {
  return CHECK_NAMES.some((name) => name === runId);
}
