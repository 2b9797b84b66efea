import type { KeptTests } from '../../core/review/tests-first.ts';
import type { Sandbox } from '../../sandbox/sandbox.ts';
import { openBaseLayer } from '../snapshot/open-layer.ts';
import { onLayer } from '../snapshot/snapshot-layer.ts';
import { planCleanSteps, planReadingSteps, planWorkSteps } from '../workspace/step-plan.ts';
import { Workspace } from '../workspace/workspace.ts';
import { Baseline } from './baseline.ts';
import type { Attempt } from './open-attempt.ts';
import { openExporter } from './phases/export-tree.ts';
import { findKeptTests } from './tests-first/kept-tests.ts';
import { asTestsAttempt, withTestsGate } from './tests-first/tests-attempt.ts';

/** The workspaces of an attempt that implements a story. */
export interface AttemptWorkspaces {
  /** The attempt; its workspaces begin with the snapshot of its base, if there is one. */
  onSnapshot: Attempt;
  /** Where setup and the agent run. */
  work: Workspace;
  /** Tests of an earlier attempt, so that no agent has to write any. */
  kept: KeptTests | undefined;
  /** Starts, while the agent works, what the phases after it need. `attempt`: with its locked tests. */
  startAhead(this: void, attempt: Attempt): StartedAhead;
}

export interface StartedAhead {
  exporter: Promise<Sandbox>;
  /** A clean workspace for setup and the gates. */
  clean: Workspace;
  /** Aborts no later than when the attempt closes. */
  baseline: Baseline;
}

/** Opens the workspaces. Without a snapshot of the base, setup may run for one first; ends the attempt if that fails. */
export async function openWorkspaces(opened: Attempt): Promise<AttemptWorkspaces> {
  const onSnapshot = onLayer(opened, await openBaseLayer(opened));
  const kept = await findKeptTests(onSnapshot);
  const baseline = new Baseline(onSnapshot, onSnapshot.inputs.base);
  opened.resources.onClose(() => Promise.resolve(baseline.stop()));
  const testing = kept === undefined ? asTestsAttempt(onSnapshot) : undefined;
  const work = new Workspace(onSnapshot, 'work', planWorkSteps(onSnapshot, testing));
  const startAhead = (attempt: Attempt): StartedAhead => {
    const exporter = openExporter(attempt, work);
    const clean = new Workspace(attempt, 'clean', planCleanSteps(withTestsGate(attempt, attempt.locked)));
    baseline.start();
    return { exporter, clean, baseline };
  };
  return { onSnapshot, work, kept, startAhead };
}

/** The workspace of a dry run, which its agent can only read. */
export function openReadingWorkspace(attempt: Attempt): Workspace {
  return new Workspace(attempt, 'work', planReadingSteps(attempt));
}
