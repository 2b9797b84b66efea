import { createHash, randomInt } from 'node:crypto';
import type { Config } from '../../config/config.ts';
import type { Prd, Story } from '../../core/prd/prd.ts';
import type { RunState } from '../../core/run-state.ts';
import type { AttemptPlace } from '../../store/run-layout.ts';
import type { Store } from '../../store/store.ts';
import { openAttempt } from '../attempt-context.ts';
import { rehearseStory } from '../attempt.ts';
import { check, requireImage, unheard, type Check } from '../check.ts';
import type { StoryEnd } from '../story-end.ts';
import type { WorkerContext } from '../worker-context.ts';

/** What is kept of an attempt. */
export interface Recorded {
  place: AttemptPlace;
  prd: Prd;
  story: Story;
  /** The run's state in which it began. */
  state: RunState;
  config: Config;
  /** Id of its image; absent in journals of older versions. */
  image: string | undefined;
  end: Pick<StoryEnd, 'verdict' | 'stopReason' | 'summary'>;
}

export interface ReplayRequest extends Recorded {
  /** Holds the artifacts of the recorded attempt; the worker's own store takes those of the repetition. */
  originals: Store;
  /** Folder with the cassette. */
  cassettes: string;
  hostGitDir: string;
  signal: AbortSignal;
}

interface Found {
  story: string;
  attempt: number;
  image: string;
  divergence?: string;
  checks: Check[];
}

/** Does an attempt again with the model's recorded answers, and compares. Nothing lands. Throws IMAGE_MISSING. */
export async function replayStory(worker: WorkerContext, request: ReplayRequest): Promise<Found> {
  const { place, originals, story, end, config } = request;
  // By its id: a name may mean another one by now.
  const image = await requireImage(worker, request.image ?? config.image, {
    whose: `story ${JSON.stringify(story.id)}`,
    called: config.image,
  });
  const again = await rehearse(worker, request, image);
  const [before, now, divergence] = await Promise.all([
    originals.readArtifact(place, 'diff.patch'),
    worker.store.readArtifact(place, 'diff.patch'),
    worker.store.readArtifact(place, 'divergence.txt'),
  ]);
  const parted = again.summary.startsWith('Replay: ') ? again.summary : divergence?.trim();
  return {
    story: story.id,
    attempt: place.attempt,
    image,
    ...(parted === undefined ? {} : { divergence: parted }),
    checks: [
      check('ending', end.stopReason, again.stopReason),
      check('answer', end.summary, again.summary),
      check('change', digest(before), digest(now)),
    ],
  };
}

async function rehearse(worker: WorkerContext, request: ReplayRequest, image: string): Promise<StoryEnd> {
  const { place, config, cassettes } = request;
  const attempt = await openAttempt(worker, {
    ...request,
    base: request.state.tip,
    // No id of a run looks like this, so that a worker's sweep leaves it alone.
    runId: 'replaying',
    number: place.attempt,
    epoch: randomInt(1_000_000, 1_000_000_000),
    config: { ...config, image, model: { ...config.model, mode: 'replay', cassettes } },
  });
  try {
    return await rehearseStory({ ...unheard(attempt), place });
  } finally {
    await attempt.close();
  }
}

function digest(patch: string | undefined): string {
  return patch === undefined || patch === '' ? 'none' : createHash('sha256').update(patch).digest('hex');
}
