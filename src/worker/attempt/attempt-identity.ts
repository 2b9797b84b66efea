import type { AttemptRef } from '../../core/journal/events.ts';
import type { AttemptLocation } from '../../store/run-layout.ts';

/** Which attempt it is. `runId`, `storyKey`, `attempt` and `epoch` also label its sandboxes and volumes. */
export interface AttemptIdentity extends AttemptRef, AttemptLocation {
  /** The fencing epoch. It is unique within the run, and later attempts have higher ones. */
  epoch: number;
  /** Unique over all attempts, repeated ones included: run, story key, attempt number and epoch. */
  id: string;
  /** Where artifacts are stored. */
  location: AttemptLocation;
}

/** The identity of an attempt. Without a `location`, artifacts are stored below its own run. */
export function identifyAttempt(
  { runId, story, storyKey, attempt, epoch }: Omit<AttemptIdentity, 'id' | 'location'>,
  location: AttemptLocation = { runId, storyKey, attempt },
): AttemptIdentity {
  const id = `${runId}-${storyKey}-a${attempt}-e${epoch}`;
  return Object.freeze({ runId, story, storyKey, attempt, epoch, id, location });
}
