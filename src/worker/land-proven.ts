import { keepProof } from './keep-proof.ts';
import { openBaseline } from './baseline.ts';
import type { GateProof } from '../core/review/proof.ts';
import { runGates } from './phases/gates.ts';
import { holdForPerson } from './phases/hold.ts';
import { landCandidate } from './phases/land.ts';
import { mergeCandidate, type Based } from './phases/merge.ts';
import { planSteps } from './plan-steps.ts';
import { AttemptOver, type StoryEnd } from './story-end.ts';
import { openWorkspace } from './workspace.ts';

export interface Proven extends Based {
  gates: GateProof[];
}

/** Each of them means that another story landed while the gates ran. */
const MOST_MERGES = 10;

/** Lands what is proven. When other stories were quicker, their work and this one are merged and proven together first. */
export async function landProven(work: Proven, summary: string): Promise<StoryEnd> {
  let proven = work;
  for (let merges = 0; merges <= MOST_MERGES; merges += 1) {
    await keepProof(proven.attempt, proven.candidate, proven.gates);
    await holdForPerson(proven.attempt, proven.candidate);
    const landing = await landCandidate(proven.attempt, proven.candidate, summary);
    if (landing.kind === 'landed') return landing.end;
    proven = await proveMerged(await mergeCandidate(proven, landing.tip, summary), merges + 1);
  }
  throw new AttemptOver({
    verdict: 'failed',
    stopReason: 'CONFLICT',
    summary: `other stories landed ${MOST_MERGES} times while its gates ran`,
    conflicts: [],
  });
}

/** `count` is that of the merges so far. */
export async function proveMerged({ attempt, candidate }: Based, count: number): Promise<Proven> {
  const clean = openWorkspace(attempt, `merged-${count}`, planSteps(attempt).cleanSteps);
  const baseline = openBaseline(attempt);
  try {
    return { attempt, candidate, gates: await runGates(attempt, clean, { candidate, baseline }) };
  } finally {
    baseline.stop();
  }
}
