import type { KeptTests } from '../../core/review/tests-first.ts';
import type { Sandbox } from '../../sandbox/sandbox.ts';
import { planCleanSteps, planWorkSteps } from '../workspace/step-plan.ts';
import { Workspace } from '../workspace/workspace.ts';
import { Baseline } from './baseline.ts';
import type { Attempt } from './open-attempt.ts';
import { asTestsAttempt, withTestsGate } from './tests/tests-attempt.ts';
import { openExporter } from './phases/export-tree.ts';

/** The workspaces of an attempt that implements a story. */
export interface AttemptWorkspaces {
  /** Where setup and the agent run. */
  work: Workspace;
  /** Starts, while the agent works, what the phases after it need. `attempt`: with its locked tests. */
  startAhead(attempt: Attempt): StartedAhead;
  /** Stops the baseline if it still runs. */
  stop(): void;
}

export interface StartedAhead {
  exporter: Promise<Sandbox>;
  /** A clean workspace for setup and the gates. */
  clean: Workspace;
  baseline: Baseline;
}

/** `kept`: tests of an earlier attempt, so that no agent has to write any. */
export function openWorkspaces(attempt: Attempt, kept?: KeptTests): AttemptWorkspaces {
  const baseline = new Baseline(attempt, attempt.inputs.base);
  const testing = kept === undefined ? asTestsAttempt(attempt) : undefined;
  const work = new Workspace(attempt, 'work', planWorkSteps(attempt, testing));
  return {
    work,
    startAhead: (ready) => {
      const exporter = openExporter(ready, work);
      const clean = new Workspace(ready, 'clean', planCleanSteps(withTestsGate(ready, ready.locked)));
      baseline.start();
      return { exporter, clean, baseline };
    },
    stop: () => baseline.stop(),
  };
}
