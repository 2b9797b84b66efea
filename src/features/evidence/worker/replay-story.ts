import { createHash } from 'node:crypto';
import type { Config } from '../../../config/config.ts';
import type { Prd, Story } from '../../../core/prd/prd.ts';
import type { RunState } from '../../../core/run/state.ts';
import { defined } from '../../../lib/guards.ts';
import type { ArtifactStore } from '../../../store/artifact-store.ts';
import type { AttemptLocation } from '../../../store/run-layout.ts';
import { AGENT_FOLDERS } from '../../../core/journal/phase.ts';
import type { CheckName } from '../../../worker/attempt/attempt-identity.ts';
import { SILENT_JOURNAL } from '../../../worker/attempt/attempt-journal.ts';
import { Measurements, passed, toOutcome, type AttemptOutcome } from '../../../worker/attempt/attempt-outcome.ts';
import { openAttempt, type Attempt } from '../../../worker/attempt/open-attempt.ts';
import { judgeHold } from '../../../worker/attempt/phases/approval.ts';
import { describeChange, gateAndReview, gateWork, implementStory } from '../../../worker/attempt/run-attempt.ts';
import { hasChanges } from '../../../worker/attempt/work.ts';
import type { WorkerContext } from '../../../worker/worker-context.ts';
import { resolveImage } from '../../../worker/proof/resolve-image.ts';
import { compareFact, type FactCheck } from './compare-proof.ts';
import { randomEpoch } from '../../../worker/proof/open-check-context.ts';

/** A recorded attempt. */
export interface Recorded {
  location: AttemptLocation;
  prd: Prd;
  story: Story;
  /** The run's state in which it began. */
  state: RunState;
  config: Config;
  /** The id of its image; undefined if the machine did not have it when the attempt started. */
  image: string | undefined;
  end: Pick<AttemptOutcome, 'verdict' | 'stopReason' | 'summary'>;
}

interface ReplayRequest extends Recorded {
  /** Has the artifacts of the recorded attempt; the artifacts of the replay go into the worker's store. */
  originals: ArtifactStore;
  /** The folder with the cassette. */
  cassettes: string;
  hostGitDir: string;
  signal: AbortSignal;
}

interface ReplayResult {
  story: string;
  attempt: number;
  image: string;
  divergence?: string;
  checks: FactCheck[];
}

/** Repeats an attempt with the model's recorded responses and compares the results. Nothing lands. Throws IMAGE_MISSING. */
export async function replayStory(worker: WorkerContext, request: ReplayRequest): Promise<ReplayResult> {
  const { location, originals, story, end, config } = request;
  // By its id, because the name may refer to a different image now.
  const image = await resolveImage(worker, request.image ?? config.image, {
    subject: `story ${JSON.stringify(story.id)}`,
    called: config.image,
  });
  const again = await rehearse(worker, request, image);
  const [before, now, ...divergences] = await Promise.all([
    originals.readArtifact(location, 'diff.patch'),
    worker.store.readArtifact(location, 'diff.patch'),
    ...AGENT_FOLDERS.map((folder) => worker.store.readArtifact(location, `${folder}divergence.txt`)),
  ]);
  const divergence = divergences.find((each) => each !== undefined)?.trim();
  return {
    story: story.id,
    attempt: location.attempt,
    image,
    ...defined({ divergence }),
    checks: [
      compareFact('ending', end.stopReason, again.stopReason),
      compareFact('answer', end.summary, again.summary),
      compareFact('change', digest(before), digest(now)),
    ],
  };
}

async function rehearse(worker: WorkerContext, request: ReplayRequest, image: string): Promise<AttemptOutcome> {
  const { location, config, cassettes } = request;
  const runId: CheckName = 'replaying';
  const replayed = {
    ...request,
    runId,
    base: request.state.tip,
    number: location.attempt,
    epoch: randomEpoch(),
    config: { ...config, image, model: { ...config.model, mode: 'replay' as const, cassettes } },
  };
  const attempt = await openAttempt(worker, replayed, SILENT_JOURNAL);
  try {
    return await rehearseAttempt(attempt);
  } finally {
    await attempt.resources.close();
  }
}

function digest(patch: string | undefined): string {
  return patch === undefined || patch === '' ? 'none' : createHash('sha256').update(patch).digest('hex');
}

/** Runs all phases up to the gates, for a replay: it merges and lands nothing. The caller closes the attempt. */
function rehearseAttempt(attempt: Attempt): Promise<AttemptOutcome> {
  return runToGates(attempt, new Measurements()).catch(toOutcome);
}

async function runToGates(attempt: Attempt, measured: Measurements): Promise<AttemptOutcome> {
  if (attempt.inputs.state.dry) return describeChange(attempt, measured);
  const work = await implementStory(attempt, measured);
  if (hasChanges(work)) {
    const gated = await gateAndReview(attempt, work, measured);
    return (await judgeHold(attempt, gated.work, gated.review)) ?? passed(work);
  }
  await gateWork(attempt, work, measured);
  return passed(work);
}
