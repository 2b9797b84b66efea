import { HaloError } from '../core/errors.ts';
import type { StopReason } from '../core/stop-reason.ts';
import { inspectRepo, listChanges } from '../git/repo.ts';
import { landRun } from './land-run.ts';
import type { Run } from './read-run.ts';
import type { WorkerContext } from './worker-context.ts';
import { writeBackProgress } from './write-back.ts';

/** What ending a run takes; any process that has the run directory has it. */
export type RunKeeper = Pick<WorkerContext, 'home' | 'store' | 'log'>;

/** Writes a run's end, whatever it is: lands it when the configuration says so, and bundles up what explains a failure. */
export async function endRun(
  worker: RunKeeper,
  { runId, config }: Pick<Run, 'runId' | 'config'>,
  end: { stopReason: StopReason; detail: string },
): Promise<void> {
  const { stopReason, detail } = end;
  await writeBackProgress(worker, { runId, config });
  // The bundle first: whoever sees the end finds it, too.
  if (stopReason !== 'SUCCESS') await bundleFailure(worker, { runId, config, end: { stopReason, detail } });
  await worker.store.append(runId, [{ type: 'run.ended', stopReason, detail }]);
  if (stopReason !== 'SUCCESS' || config.land.mode !== 'ff') return;
  try {
    await landRun(worker.store, worker.home, runId);
  } catch (error) {
    if (!(error instanceof HaloError)) throw error;
    worker.log.warn({ runId, reason: error.message }, 'the run could not be fast-forwarded; its branch is there');
  }
}

interface Failure extends Pick<Run, 'runId' | 'config'> {
  end: { stopReason: StopReason; detail: string };
}

async function bundleFailure(worker: RunKeeper, { runId, config, end }: Failure): Promise<void> {
  const { store, log } = worker;
  try {
    const state = await store.readState(runId);
    const story = state.stories.find(({ progress }) => ['failed', 'needs_human', 'in_progress'].includes(progress));
    const place = story && { runId, storyKey: story.key, attempt: Math.max(1, story.attempts) };
    const diff = place && (await store.readArtifact(place, 'diff.patch'));
    await store.writeDebugBundle(runId, {
      end,
      ...(place === undefined ? {} : { storyKey: place.storyKey, attempt: place.attempt }),
      gitStatus: await describeCheckout(state.repo.source),
      ...(diff === undefined ? {} : { gitDiff: diff }),
      container: { image: config.image, limits: config.limits },
    });
  } catch (error) {
    // The run's end is written already; a bundle that cannot be made must not undo it.
    log.error({ runId, err: error }, 'the debug bundle could not be written');
  }
}

async function describeCheckout(source: string): Promise<string> {
  try {
    const { root, head, branch } = await inspectRepo(source);
    const changes = await listChanges(root);
    return [`HEAD ${head} (${branch ?? 'detached'})`, ...changes].join('\n') + '\n';
  } catch (error) {
    return `unknown: ${error instanceof Error ? error.message : String(error)}\n`;
  }
}
