import { Measurements, passed, toOutcome, type AttemptOutcome } from './attempt-outcome.ts';
import type { Attempt } from './open-attempt.ts';
import { describeChange, implementStory } from './run-attempt.ts';
import { runGatesAndRefactor } from './tests-first/refactor.ts';

/** Runs all phases up to the gates, for a replay: it merges and lands nothing. The caller closes the attempt. */
export function rehearseAttempt(attempt: Attempt): Promise<AttemptOutcome> {
  return rehearse(attempt, new Measurements()).catch(toOutcome);
}

async function rehearse(attempt: Attempt, measured: Measurements): Promise<AttemptOutcome> {
  if (attempt.inputs.state.dry) return describeChange(attempt, measured);
  const work = await implementStory(attempt, measured);
  await runGatesAndRefactor(attempt, work, measured);
  return passed(work);
}
