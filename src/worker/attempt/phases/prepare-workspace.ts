import type { KeptTests } from '../../../core/review/tests-first.ts';
import { updateBase } from '../../repository/host-repository.ts';
import { openBaseLayer } from '../../snapshot/open-layer.ts';
import { onLayer, type Attempt, type StorySession } from '../open-attempt.ts';
import { CANDIDATE, VIEW } from '../../workspace/sandbox-paths.ts';
import { openStorySession } from '../../workspace/story-session.ts';
import { planCleanSteps, planReadingSteps, planWorkSteps } from '../../workspace/step-plan.ts';
import { Workspace } from '../../workspace/workspace.ts';
import { openBaseline, type Baseline } from '../baseline.ts';
import { openKeptWork } from '../kept-work.ts';
import { exposeKeptTests, findKeptTests } from '../tests-first/locked-tests.ts';
import { asTestsAttempt, withTestsGate } from '../tests-first/tests-attempt.ts';
import type { Exporter } from './export-tree.ts';

/** What is done before an attempt begins: for it, and for the next one of its run. */
export interface WorkAhead {
  /** A workspace for the base commit. */
  prepared?: Workspace | undefined;
  /** Called with the commit that the gates will check if no other story lands first. */
  onCandidate?: (commit: string) => void;
}

/** The workspaces of an attempt that implements a story. */
export interface AttemptWorkspaces {
  /** The attempt; its workspaces begin with the snapshot of its base, if there is one. */
  onSnapshot: Attempt;
  /** Where setup and the agent run. */
  work: Workspace;
  /** Tests of an earlier attempt, so that no agent has to write any. */
  kept: KeptTests | undefined;
  /** The commit that is checked out in it. */
  commit: string;
  /** Starts, while the agent works, what the gates need. `attempt`: with its locked tests; `exporter`: is needed before. */
  startAhead(this: void, attempt: Attempt, exporter: Exporter): StartedAhead;
}

interface StartedAhead {
  /** A clean workspace for setup and the gates. */
  clean: Workspace;
  /** Aborts no later than when the attempt closes. */
  baseline: Baseline;
}

/**
 * Opens the workspaces, or uses the one that was prepared if it begins in the same way, and checks out the story's base commit, with the tests and the work that it has already. Without a snapshot of
 * the base, setup may run for one first; ends the attempt if that fails.
 */
export async function prepareWorkspaces(opened: Attempt, prepared?: Workspace): Promise<AttemptWorkspaces> {
  const kept = await findKeptTests(opened);
  const continued = await openKeptWork(opened, kept);
  const own = continued?.commit;
  const session = await openSession(opened);
  const onSnapshot = onLayer({ ...opened, continued, session }, await openBaseLayer(opened, own));
  // Setup may make something else of the base than of kept work.
  const baseline = openBaseline(own === undefined ? onSnapshot : opened, opened.inputs.base);
  opened.resources.onClose(() => Promise.resolve(baseline.stop()));
  const testing = kept === undefined ? asTestsAttempt(onSnapshot) : undefined;
  const isPlain = kept === undefined && own === undefined && testing === undefined;
  const isAsPrepared = isPlain && prepared?.layerVolume === onSnapshot.layer?.volume;
  const work =
    (isAsPrepared ? prepared : undefined) ?? new Workspace(onSnapshot, 'work', planWorkSteps(onSnapshot, testing));
  const startAhead = (attempt: Attempt, { sandbox: after }: Exporter): StartedAhead => {
    const clean = new Workspace(attempt, 'clean', planCleanSteps(withTestsGate(attempt, attempt.locked)), { after });
    baseline.start();
    return { clean, baseline };
  };
  await checkOutBase(onSnapshot, work, kept);
  return { onSnapshot, work, kept, commit: own ?? kept?.commit ?? opened.inputs.base, startAhead };
}

/** The session of the agent, if it keeps one. */
async function openSession(opened: Attempt): Promise<StorySession | undefined> {
  const { sessionMs } = opened.config.agentOptions;
  if (opened.agent.launch.sessionDir === undefined || sessionMs === undefined) return undefined;
  return openStorySession(opened, sessionMs);
}

/** Checks out the base commit into the workspace of a dry run, which its agent can only read. */
export async function prepareReadingWorkspace(attempt: Attempt): Promise<Workspace> {
  const work = new Workspace(attempt, 'work', planReadingSteps(attempt));
  await checkOutBase(attempt, work);
  return work;
}

/** Updates the mirror and checks out the base commit, or that of kept work or tests, into the work volume. */
async function checkOutBase(attempt: Attempt, work: Workspace, kept?: KeptTests): Promise<void> {
  const { inputs, resources } = attempt;
  await attempt.journal.phase('prepare', async () => {
    await updateBase(attempt);
    const own = attempt.continued?.commit;
    if (own !== undefined) return work.checkOut(own, resources.candidateDir, [VIEW, CANDIDATE]);
    if (kept === undefined) return work.checkOut(inputs.base, resources.mirrorDir, [VIEW]);
    await exposeKeptTests(attempt, kept);
    await work.checkOut(kept.commit, resources.candidateDir, [VIEW, CANDIDATE]);
  });
}
