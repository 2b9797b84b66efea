import type { StorySample } from './story-samples.ts';

/** With fewer stories there is no estimate. */
const MIN_SAMPLES = 3;
/** With at least so many stories of the same agent, those of others do not count. */
const ENOUGH_SAMPLES = 5;
/** With fewer stories the range is too narrow: of sums like the history it contains about 6 of 10, not 8. */
const CERTAIN_SAMPLES = 10;
const MAX_ROUNDS = 1_000;
const MIN_ROUNDS = 100;
/** Limits the time for a PRD with very many stories. */
const MAX_DRAWS = 1_000_000;

/** The 10th, 50th and 90th percentile. */
export interface Percentiles {
  low: number;
  median: number;
  high: number;
}

/** What one story takes, and all stories of the PRD together. */
interface StoryAndSum {
  story: Percentiles;
  sum: Percentiles;
}

/** What the open stories of a PRD will probably take, from earlier stories of the repository. */
export interface PrdEstimate {
  /** Open stories of the PRD. */
  stories: number;
  /** What it is based on. `agent` and `model` are set if only their stories count. */
  basis: { stories: number; landed: number; runs: number; agent?: string; model?: string };
  /** Absent if the cost of too few stories is known. */
  costUsd?: StoryAndSum;
  /** The time of attempts, as if they ran one after the other; absent if there are too few stories. */
  minutes?: StoryAndSum;
  /** What limits the estimate, a sentence each. */
  notes: string[];
}

/** What the PRD will be run with, as far as it is known. */
interface EstimatedWith {
  agent?: string | undefined;
  model?: string | undefined;
}

/**
 * Estimates what `stories` stories take. Counts the samples of the same agent and model if there are enough, else those of
 * the same agent, else all.
 */
export function estimateStories(
  samples: readonly StorySample[],
  { stories, ...wanted }: EstimatedWith & { stories: number },
): PrdEstimate {
  const { used, ...same } = chooseSamples(samples, wanted);
  const prices = used.flatMap(({ costUsd }) => costUsd ?? []);
  const count = used.length;
  const basis = {
    stories: count,
    landed: used.filter(({ landed }) => landed).length,
    runs: new Set(used.map(({ runId }) => runId)).size,
    ...same,
  };
  if (count < MIN_SAMPLES) {
    const notes = [
      `An estimate needs at least ${MIN_SAMPLES} stories of ended runs of this repository; there ${count === 1 ? 'is' : 'are'} ${count === 0 ? 'none' : count}.`,
    ];
    return { stories, basis, notes };
  }
  const notes = [
    ...(wanted.agent !== undefined && same.agent === undefined
      ? [`Fewer than ${ENOUGH_SAMPLES} stories were run with ${wanted.agent}, so those of all agents count.`]
      : []),
    ...(wanted.model !== undefined && same.agent !== undefined && same.model === undefined
      ? [`Fewer than ${ENOUGH_SAMPLES} stories were run with ${wanted.model}, so those of all models count.`]
      : []),
    ...(count < CERTAIN_SAMPLES ? [`Rough estimate: only ${count} earlier ${count === 1 ? 'story' : 'stories'}.`] : []),
    ...(prices.length < count
      ? [
          `The cost of ${count - prices.length} of ${count} stories is not known, for example because the model has no price.`,
        ]
      : []),
  ];
  return {
    stories,
    basis,
    ...(prices.length >= MIN_SAMPLES && { costUsd: estimateSum(prices, stories) }),
    minutes: estimateSum(
      used.map(({ minutes }) => minutes),
      stories,
    ),
    notes,
  };
}

function chooseSamples(
  samples: readonly StorySample[],
  { agent, model }: EstimatedWith,
): { used: readonly StorySample[]; agent?: string; model?: string } {
  if (agent === undefined) return { used: samples };
  const ofAgent = samples.filter((sample) => sample.agent === agent);
  const ofModel = ofAgent.filter((sample) => sample.model === model);
  if (model !== undefined && ofModel.length >= ENOUGH_SAMPLES) return { used: ofModel, agent, model };
  return ofAgent.length >= ENOUGH_SAMPLES ? { used: ofAgent, agent } : { used: samples };
}

/**
 * The percentiles of the values, and of the sum of `count` values. The sum is resampled: each round draws a history of the
 * same length from the values, and `count` values from that history, so that a short history results in a wide range. The
 * draws are the same for the same values.
 */
export function estimateSum(values: readonly number[], count: number): StoryAndSum {
  const random = seededRandom();
  const draw = (from: readonly number[]) => from[Math.floor(random() * from.length)] ?? 0;
  const rounds = Math.max(MIN_ROUNDS, Math.min(MAX_ROUNDS, Math.floor(MAX_DRAWS / Math.max(1, count))));
  const sums = Array.from({ length: rounds }, () => {
    const history = values.map(() => draw(values));
    let sum = 0;
    for (let index = 0; index < count; index += 1) sum += draw(history);
    return sum;
  });
  return { story: percentilesOf(values), sum: percentilesOf(sums) };
}

function percentilesOf(values: readonly number[]): Percentiles {
  const sorted = [...values].sort((a, b) => a - b);
  return { low: percentile(sorted, 0.1), median: percentile(sorted, 0.5), high: percentile(sorted, 0.9) };
}

/** Interpolates between the two nearest of the sorted values, to a millionth. */
function percentile(sorted: readonly number[], share: number): number {
  const at = share * (sorted.length - 1);
  const below = sorted[Math.floor(at)] ?? 0;
  const above = sorted[Math.ceil(at)] ?? below;
  return Math.round((below + (above - below) * (at - Math.floor(at))) * 1e6) / 1e6;
}

/** The generator mulberry32: numbers from 0 to below 1, always the same ones. */
function seededRandom(): () => number {
  let state = 1;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
