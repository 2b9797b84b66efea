import { HaloError } from '../core/errors.ts';
import { planNext } from '../core/plan.ts';
import type { RunState, StoryState } from '../core/run-state.ts';
import { findLanded } from '../git/land.ts';
import type { Enqueue } from '../queue/queue.ts';
import { attemptStory } from './attempt.ts';
import { endRun } from './end-run.ts';
import { noteProof } from './keep-proof.ts';
import { hostGitDirOf } from './host-repo.ts';
import { nextJob } from './next-job.ts';
import { runRef } from './phases/land.ts';
import { endedEntry } from './story-end.ts';
import { readRun, type Run } from './read-run.ts';
import { sweepOrphans } from './sweep.ts';
import type { WorkerContext } from './worker-context.ts';
import { writeBackProgress } from './write-back.ts';

/**
 * Does the next thing of a run, one attempt at one story or its end, and answers with the job that goes on from there.
 * Throws what is no verdict on the story; the journal then still says that the story is in progress.
 */
export async function advanceRun(
  worker: WorkerContext,
  runId: string,
  signal: AbortSignal,
): Promise<Enqueue | undefined> {
  const state = await worker.store.readState(runId);
  if (state.status === 'ended') return undefined;
  const run = await readRun(worker, runId);
  if (state.status === 'queued') await startRun(worker, run);
  const plan = planNext(state);
  if (plan.kind === 'end') {
    await endRun(worker, run, plan);
    return undefined;
  }
  await tryStory(worker, { ...run, state, story: plan.story, number: plan.attempt, signal });
  return goOn(worker, run);
}

/** The agent's version is known where the run is worked on, and not where it was submitted. */
async function startRun(worker: WorkerContext, { runId, config }: Run): Promise<void> {
  await worker.store.append(runId, [{ type: 'run.started' }]);
  const version = await worker.engine.toolVersion(config.agent);
  if (version !== undefined) await worker.store.amend(runId, { agent: { name: config.agent, version } });
}

interface Try extends Run {
  state: RunState;
  story: StoryState;
  number: number;
  signal: AbortSignal;
}

async function tryStory(worker: WorkerContext, request: Try): Promise<void> {
  const { runId, prd, config, state, number, signal } = request;
  const story = prd.stories.find(({ id }) => id === request.story.id);
  if (story === undefined) throw new HaloError('RUN_UNREADABLE', `run ${runId} lost its story ${request.story.id}`);
  const hostGitDir = await hostGitDirOf(worker.home, state.repo);
  if (request.story.progress === 'in_progress' && (await recoverLanded(worker, request, hostGitDir))) return;
  const epoch = state.epoch + 1;
  const image = await worker.engine.imageId(config.image);
  const digest = image === undefined ? {} : { image };
  await worker.store.append(runId, [
    { type: 'story.started', story: story.id, attempt: number, epoch, base: state.tip, ...digest },
  ]);
  // Taken over from a worker that may be dead: what it left of an older epoch goes while this attempt begins.
  if (request.story.progress === 'in_progress') worker.inBackground(sweepOrphans(worker));
  await attemptStory(worker, { runId, state, prd, story, number, epoch, config, hostGitDir, signal });
}

/** A worker may have died between the landing and its word on it: the branch knows. */
async function recoverLanded(
  { store }: WorkerContext,
  { runId, state, story, config }: Try,
  hostGitDir: string,
): Promise<boolean> {
  const { base } = state.repo;
  const commit = await findLanded({ hostGitDir, ref: runRef(runId), base, runId, storyId: story.id });
  if (commit === undefined) return false;
  const whose = { story: story.id, attempt: story.attempts };
  const place = { runId, storyKey: story.key, attempt: story.attempts };
  const noted = await noteProof({ store, place, whose, gitDir: hostGitDir, commit, git: config.git });
  const summary = 'landed before the worker stopped';
  const ended = endedEntry(whose, { verdict: 'passed', stopReason: 'SUCCESS', summary, commit });
  return store.transact(runId, (now) => {
    if (now.stories.find(({ id }) => id === story.id)?.progress !== 'in_progress') return { entries: [], result: true };
    return { entries: [...noted, ended], result: true };
  });
}

async function goOn(worker: WorkerContext, run: Run): Promise<Enqueue | undefined> {
  const state = await worker.store.readState(run.runId);
  const plan = planNext(state);
  if (plan.kind === 'attempt') {
    await writeBackProgress(worker, run);
    return nextJob(state, run.config);
  }
  await endRun(worker, run, plan);
  return undefined;
}
