import { imagesOfVersions } from '../../config/choice/chosen-versions.ts';
import type { Config } from '../../config/config.ts';
import { findOtherImage, type EngineImages } from '../../core/engine/engine-images.ts';
import { HaloError } from '../../core/failure/errors.ts';
import { judgeFailure } from '../../core/failure/judge-failure.ts';
import type { AttemptRef } from '../../core/journal/event-parts.ts';
import type { JournalEntry } from '../../core/journal/events.ts';
import { startFactsOf, type StartFacts } from '../../core/journal/start-facts.ts';
import { isAttemptDue, planStory, type PlannedAttempt } from '../../core/run/plan.ts';
import type { StoryProgress } from '../../core/run/progress.ts';
import type { RunState } from '../../core/run/state.ts';
import { processMark } from '../../lib/process-identity.ts';
import { HALO_IMAGE } from '../../sandbox/docker/image/image-recipe.ts';
import { storyEnded, type AttemptOutcome } from '../attempt/attempt-outcome.ts';
import type { AttemptRequest } from '../attempt/open-attempt.ts';
import { sweepOrphans } from '../recovery/sweep-orphans.ts';
import type { WorkerContext } from '../worker-context.ts';
import { attemptKey } from './infrastructure-failure.ts';
import type { RunInputs } from './read-run.ts';
import { recoverLanded, wasBegun } from './recover-landed.ts';
import { defined } from '../../lib/guards.ts';

type StartedAttempt = Pick<AttemptRequest, 'state' | 'story' | 'number' | 'epoch' | 'base' | 'start'>;

/** `taken`: the story was in progress; its last worker may be dead. */
type Start =
  | { kind: 'started'; started: StartedAttempt; taken: boolean }
  | { kind: 'landed-before' }
  | { kind: 'running-here'; attemptRef: AttemptRef }
  | { kind: 'not-started' };

/** `start`: what is known before its engine. */
interface StartRequest extends Pick<StartInputs, 'queuedMs' | 'start'> {
  ordinal: number;
  hostGitDir: string;
}

/**
 * Starts an attempt on the newest commit of the run. Undefined if it may not run now, because another worker started it or
 * the run has changed since the job was queued. One transaction, so that `parallel` is never exceeded.
 */
export async function startAttempt(
  worker: WorkerContext,
  { runId, prd, config }: RunInputs,
  { ordinal, hostGitDir, queuedMs, start: known }: StartRequest,
): Promise<StartedAttempt | undefined> {
  const [image, { name, id }, images] = await Promise.all([
    worker.engine.imageId(config.image),
    worker.engineFacts(),
    readImages(worker, config),
  ]);
  const start = await worker.store.transact<Start>(runId, async (state) => {
    const open = state.status === 'running' && state.paused === undefined;
    const planned = open ? planStory(state, ordinal) : undefined;
    const now = worker.now();
    // A job may arrive early, for example after the queue was rebuilt from the journals.
    if (planned === undefined || !isAttemptDue(planned, now)) return { entries: [], result: { kind: 'not-started' } };
    const story = prd.stories.find(({ id }) => id === planned.story.id);
    if (story === undefined)
      throw new HaloError('RUN_UNREADABLE', `Run ${runId} no longer has its story ${planned.story.id}.`);
    if (wasBegun(planned.story)) {
      const landed = await recoverLanded(worker, { state, stories: [planned.story], hostGitDir, config });
      if (landed.length > 0) return { entries: landed, result: { kind: 'landed-before' } };
    }
    const other = findOtherImage(state.images, images);
    if (other !== undefined) throw imageDiffers(other, { here: name, began: state.images?.engine ?? '' });
    const decision = decideStart(state, planned, {
      self: processMark(),
      image,
      policies: config,
      now,
      queuedMs,
      start: { ...known, engine: { name, id } },
    });
    switch (decision.kind) {
      case 'running-here':
        return {
          entries: [],
          result: { kind: 'running-here', attemptRef: { story: story.id, attempt: planned.attempt } },
        };
      case 'give-up':
        return { entries: [decision.entry], result: { kind: 'not-started' } };
      case 'start': {
        const { attempt: number, epoch, base } = decision.entry;
        const taken = isInProgress(planned.story.progress);
        const started = { state, story, number, epoch, base, start: startFactsOf(decision.entry) };
        return { entries: [decision.entry], result: { kind: 'started', started, taken } };
      }
    }
  });
  // Resources of the worker that had the story before; removed in the background.
  if (start.kind === 'landed-before' || (start.kind === 'started' && start.taken))
    worker.inBackground(sweepOrphans(worker));
  if (start.kind === 'running-here') {
    const key = attemptKey(runId, start.attemptRef);
    const unrecorded = worker.unrecorded.get(key);
    worker.unrecorded.delete(key);
    throw (
      unrecorded ??
      new HaloError('REDIS_UNAVAILABLE', `The queue assigned the story again while this worker was running it.`, {
        hint: 'Check whether this machine or Redis is overloaded; `halo doctor` checks Redis.',
      })
    );
  }
  return start.kind === 'started' ? start.started : undefined;
}

/** What a worker does with a story that may run now and has not landed. */
type StartDecision =
  | { kind: 'start'; entry: JournalEntry & { type: 'story.started' } }
  /** This process started the story and has not ended it: it did not die. An immediate restart could meet the same cause. */
  | { kind: 'running-here' }
  /** Too many workers died during this story. */
  | { kind: 'give-up'; entry: JournalEntry };

/** The facts outside the journal that decide about a start. `self`: this process; `now`: ms since 1970. */
export interface StartInputs {
  self: string;
  /** The id of the image, if this machine has it. */
  image: string | undefined;
  policies: Pick<Config, 'retry' | 'breaker'>;
  now: number;
  /** How long its job was ready before it started. */
  queuedMs?: number | undefined;
  start: StartFacts;
}

/** Decides whether a story starts, starts again after the death of its worker, or is given up. */
export function decideStart(state: RunState, planned: PlannedAttempt, facts: StartInputs): StartDecision {
  const { story, attempt } = planned;
  const { starts = 0 } = story;
  const inProgress = isInProgress(story.progress);
  if (inProgress && starts > 0 && story.startedBy === facts.self) return { kind: 'running-here' };
  if (inProgress && starts >= facts.policies.retry.crashes)
    return { kind: 'give-up', entry: crashLoopEntry(state, planned, facts) };
  return {
    kind: 'start',
    entry: {
      type: 'story.started',
      story: story.id,
      attempt,
      epoch: state.epoch + 1,
      base: state.tip,
      worker: facts.self,
      ...startFactsOf(facts.start),
      ...defined({ image: facts.image, queuedMs: facts.queuedMs }),
      ...(inProgress && starts > 0 ? { workerDied: true } : {}),
    },
  };
}

/** What the images of a run contain on the engine of the worker. A missing one is reported where it is needed. */
export async function readImages(worker: WorkerContext, config: Config): Promise<EngineImages> {
  const names = new Set([HALO_IMAGE, config.image, ...worker.services.images(config), ...imagesOfVersions(config)]);
  const found = await Promise.all(
    [...names].map(async (name) => [name, (await worker.engine.describeImage(name))?.content] as const),
  );
  const contents = Object.fromEntries(
    found.flatMap(([name, content]) => (content === undefined ? [] : [[name, content]])),
  );
  return { engine: worker.engineName, contents };
}

function imageDiffers(image: string, { here, began }: { here: string; began: string }): HaloError {
  const message = `The image ${image} of the engine ${here} is not the one with which the run began on the engine ${began}.`;
  return new HaloError('IMAGE_MISSING', message, {
    hint: `Run \`halo image push ${here} ${image}\`, or \`docker pull\` the same digest on both engines; then resume the run.`,
  });
}

function isInProgress(progress: StoryProgress): boolean {
  return progress === 'in_progress';
}

/** The end of a story during which too many workers died in a row. */
function crashLoopEntry(state: RunState, { story, attempt }: PlannedAttempt, facts: StartInputs): JournalEntry {
  const attemptRef = { story: story.id, attempt };
  const summary = `workers died in the middle of this story, ${story.starts} times in a row`;
  const end: AttemptOutcome = { verdict: 'failed', stopReason: 'INFRASTRUCTURE', cause: 'worker-died', summary };
  const { failure } = judgeFailure(state, { ...attemptRef, ...end }, facts);
  return storyEnded(attemptRef, end, { verdict: 'failed', failure });
}
