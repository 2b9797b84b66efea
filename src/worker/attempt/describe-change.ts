import { planReadingSteps } from '../workspace/step-plan.ts';
import { Workspace } from '../workspace/workspace.ts';
import { passed, type AttemptOutcome, type OnMeasured } from './attempt-outcome.ts';
import type { Attempt } from './open-attempt.ts';
import { prepareWorkspace } from './phases/prepare-workspace.ts';
import { requireAnswer, runAgent } from './phases/run-agent.ts';

/** The attempt of a dry run: the agent reads the workspace and describes what it would change. Nothing is exported. */
export async function describeChange(attempt: Attempt, onMeasured: OnMeasured): Promise<AttemptOutcome> {
  const work = new Workspace(attempt, 'work', planReadingSteps(attempt));
  await prepareWorkspace(attempt, work);
  const { measured, end } = await runAgent(attempt, work, undefined);
  onMeasured(measured);
  return { ...passed(requireAnswer(end)), described: true };
}
