import type { Config } from '../config/config.ts';
import { HaloError } from '../core/failure/errors.ts';
import type { JournalEntry } from '../core/journal/events.ts';
import { judgeFailure } from '../core/failure/judge-failure.ts';
import { planNext, type PlannedAttempt } from '../core/run/plan.ts';
import type { RunState, StoryProgress } from '../core/run-state.ts';
import { mirrorPath } from '../git/mirror/mirror.ts';
import { repackMirror } from '../git/mirror/repack-mirror.ts';
import { markProcess } from '../lib/process-identity.ts';
import type { JobRef } from '../queue/job.ts';
import type { Enqueue } from '../queue/queue.ts';
import type { AttemptRequest } from './attempt-context.ts';
import { attemptStory } from './attempt.ts';
import { guardAttempt } from './disturbance.ts';
import { endRun, planEnd } from './run/end-run.ts';
import { hostGitDirOf } from './host-repo.ts';
import { nextJobs } from './run/next-jobs.ts';
import { noteAgent } from './note-agent.ts';
import { readRun, requireSettings, type Run } from './run/read-run.ts';
import { recoverLanded, wasBegun } from './recover-landed.ts';
import { askBreakers } from './run/shared-breakers.ts';
import { watchControl } from './run/watch-control.ts';
import { endedEntry, type StoryEnd } from './story-end.ts';
import { sweepOrphans } from './recovery/sweep-orphans.ts';
import type { WorkerContext } from './worker-context.ts';
import { writeBackProgress } from './run/mark-prd-progress.ts';

/**
 * Takes a run further by one job: an attempt at one of its stories, when the journal says that it may run now, or the
 * end of the run. Answers with the jobs that go on from there. Throws when the attempt was taken from this worker, and
 * when the journal cannot be read or written.
 */
export async function advanceRun(
  worker: WorkerContext,
  { runId, ordinal, attempt }: JobRef,
  signal: AbortSignal,
): Promise<Enqueue[]> {
  const state = await worker.store.readState(runId);
  if (state.status === 'ended' || rests(state)) return [];
  const run = await readRun(worker, runId);
  requireSettings(runId, run.config);
  const planned = planFor(state, ordinal);
  // A job may outlive its attempt, such as one that waited while a person had the story done anew.
  if (planned?.attempt !== attempt) return goOn(worker, run);
  const whose = { story: planned.story.id, attempt: planned.attempt };
  const fatal = await guardAttempt(worker, { ...run, repo: state.repo, whose, signal }, async () => {
    if (state.status === 'queued') await startRun(worker, run);
    if (await isHeldBack(worker, run, { state, planned })) return;
    const hostGitDir = await hostGitDirOf(worker.home, state.repo);
    const started = await startAttempt(worker, run, { ordinal, hostGitDir });
    if (started === undefined) return;
    await writeBackProgress(worker, run);
    await attemptWhileWanted(worker, { ...run, ...started, hostGitDir, signal });
  });
  worker.inBackground(repackMirror(mirrorPath(worker.home, state.repo.mirror)));
  if (fatal === undefined) return goOn(worker, run);
  await endRun(worker, run, () => fatal);
  return [];
}

/** The attempt that may be under way now at a story. */
function planFor(state: RunState, ordinal: number): PlannedAttempt | undefined {
  const plan = planNext(state);
  return plan.kind === 'end' ? undefined : plan.attempts.find(({ story }) => story === state.stories[ordinal]);
}

/** Whether a person lets the run rest, and it has not come to its end all the same. */
function rests(state: RunState): boolean {
  return state.paused !== undefined && planEnd(state) === undefined;
}

/** What a person says while the attempt is under way reaches it through the journal, whoever wrote it there. */
async function attemptWhileWanted(worker: WorkerContext, request: AttemptRequest): Promise<void> {
  const control = watchControl(worker.store, request.runId, request);
  try {
    await attemptStory(worker, { ...request, signal: AbortSignal.any([request.signal, control.signal]) });
  } catch (error) {
    const unwanted = control.signal.aborted || (error instanceof HaloError && error.code === 'RUN_ABORTED');
    if (!unwanted || request.signal.aborted) throw error;
  } finally {
    control.stop();
  }
}

async function startRun(worker: WorkerContext, { runId, config }: Run): Promise<void> {
  const channel = await worker.channel(config);
  const isFirst = await worker.store.transact(runId, ({ status }) => {
    const isFirst = status === 'queued';
    return { entries: isFirst ? [{ type: 'run.started', channel }] : [], result: isFirst };
  });
  if (isFirst) await noteAgent(worker, runId, config);
}

type Started = Pick<AttemptRequest, 'state' | 'story' | 'number' | 'epoch' | 'base'>;
/** With what the story was before; or it had landed already, or this process began it before and has lost it. */
type Begun = (Started & { progress: StoryProgress }) | 'landed' | 'lost' | undefined;

/**
 * Begins an attempt on the newest commit of the run, unless the journal says that it may not run now: another worker
 * was quicker, or the run has changed since the job was queued. In one transaction, so that no more stories are under
 * way than the run allows.
 */
async function startAttempt(
  worker: WorkerContext,
  { runId, prd, config }: Run,
  { ordinal, hostGitDir }: { ordinal: number; hostGitDir: string },
): Promise<Started | undefined> {
  const image = await worker.engine.imageId(config.image);
  const begun = await worker.store.transact<Begun>(runId, async (state) => {
    const open = state.status === 'running' && state.paused === undefined;
    const planned = open ? planFor(state, ordinal) : undefined;
    // A job may come early, e.g. when the queue was made anew from the journals.
    if (planned === undefined || isEarly(worker, planned)) return { entries: [], result: undefined };
    const { id, progress } = planned.story;
    const story = prd.stories.find((each) => each.id === id);
    if (story === undefined) throw new HaloError('RUN_UNREADABLE', `run ${runId} lost its story ${id}`);
    if (wasBegun(planned.story)) {
      const landed = await recoverLanded(worker.store, { state, stories: [planned.story], hostGitDir, config });
      if (landed.length > 0) return { entries: landed, result: 'landed' };
    }
    // No worker died: it lives. It must not begin again at once either, for whatever took the story from it may last.
    if (progress === 'in_progress' && isOurs(planned)) return { entries: [], result: 'lost' };
    if (progress === 'in_progress') {
      const poisoned = refusePoison(state, planned, { policies: config, now: worker.now() });
      if (poisoned !== undefined) return { entries: [poisoned], result: undefined };
    }
    const started = { story, number: planned.attempt, epoch: state.epoch + 1, base: state.tip };
    const entry: JournalEntry = {
      type: 'story.started',
      story: id,
      attempt: started.number,
      epoch: started.epoch,
      base: started.base,
      worker: markProcess(),
      ...(image === undefined ? {} : { image }),
    };
    return { entries: [entry], result: { ...started, state, progress } };
  });
  if (begun === 'lost') {
    throw new HaloError('REDIS_UNAVAILABLE', `The queue gave the story out again while this worker worked on it.`, {
      hint: 'See whether this machine or Redis is overloaded; `halo doctor` checks Redis.',
    });
  }
  // Taken over from a worker that may be dead: what it left of an older epoch goes while this attempt begins.
  const taken = begun === 'landed' || begun?.progress === 'in_progress';
  if (taken) worker.inBackground(sweepOrphans(worker));
  return begun === 'landed' ? undefined : begun;
}

/** Whether a breaker that runs share keeps an attempt from beginning; the journal then says until when. */
async function isHeldBack(
  worker: WorkerContext,
  { runId, config }: Run,
  { state, planned }: { state: RunState; planned: PlannedAttempt },
): Promise<boolean> {
  // One that is under way already was let through, and one that waits asks when its time has come.
  if (planned.story.progress === 'in_progress' || isEarly(worker, planned)) return false;
  // Its agent is not asked any more.
  if (planned.story.approved !== undefined) return false;
  const { story, attempt } = planned;
  const held = await askBreakers(worker, { state, config, story: story.id, attempt });
  if (held !== undefined) await worker.store.append(runId, [held]);
  return held !== undefined;
}

/** Whether this process made the last start of a story, and nothing is known of how that went on. */
function isOurs({ story }: PlannedAttempt): boolean {
  return (story.starts ?? 0) > 0 && story.startedBy === markProcess();
}

function isEarly({ now }: WorkerContext, { notBefore }: PlannedAttempt): boolean {
  return notBefore !== undefined && Date.parse(notBefore) > now();
}

/** A story in the middle of which workers die again and again fails, instead of taking down one worker after the other. */
function refusePoison(
  state: RunState,
  { story, attempt }: PlannedAttempt,
  facts: { policies: Config; now: number },
): JournalEntry | undefined {
  const { starts = 0 } = story;
  if (starts < facts.policies.retry.crashes) return undefined;
  const whose = { story: story.id, attempt };
  const summary = `workers died in the middle of this story, ${starts} times in a row`;
  const end: StoryEnd = { verdict: 'failed', stopReason: 'INFRASTRUCTURE', cause: 'worker-died', summary };
  const { failure } = judgeFailure(state, { ...whose, ...end }, facts);
  return endedEntry(whose, end, failure);
}

async function goOn(worker: WorkerContext, run: Run): Promise<Enqueue[]> {
  const state = await worker.store.readState(run.runId);
  if (planEnd(state) !== undefined) {
    await endRun(worker, run, planEnd);
    return [];
  }
  await writeBackProgress(worker, run);
  return state.status === 'ended' ? [] : nextJobs(state, worker.now());
}
