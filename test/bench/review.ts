import { openHalo, scripted, type TestHalo } from '../support/halo/halo.ts';
import { REVIEW_SETTINGS, reviewedAgent, reviewWith } from '../support/halo/reviewed.ts';
import { newRepository } from '../support/repository/new-repository.ts';
import { median, print, showRound, type Measure } from './report.ts';

/** How long the reviewer reads, and a gate runs, in ms: the sandbox of the reviewer starts beside the gate. */
const SESSION_MS = 5000;

/** What a reviewer adds to a story, with its session against that session alone: stories with and without one, in turn. */
export async function measureReview({ rounds, json }: { rounds: number; json: boolean }): Promise<void> {
  const halo = await openHalo({ concurrency: 1 });
  const measures: Measure[] = [];
  try {
    for (let round = -1; round < rounds; round += 1) {
      showRound(round, rounds);
      const reviewed = await timeStory(halo, REVIEW_SETTINGS);
      const alone = await timeStory(halo, []);
      const added = reviewed - alone;
      // The first round warms caches.
      if (round >= 0) measures.push({ halo: added, floor: SESSION_MS, ratio: added / SESSION_MS });
    }
  } finally {
    await halo.close();
  }
  print({ name: 'review', measures, ratio: median(measures.map(({ ratio }) => ratio)), limit: 1.1, json });
}

/** In ms. */
async function timeStory(halo: TestHalo, settings: string[]): Promise<number> {
  const repository = newRepository({});
  const seconds = SESSION_MS / 1000;
  const agent = reviewedAgent('echo hello > greeting.txt', `sleep ${seconds}; ${reviewWith([])}`);
  const started = performance.now();
  const state = await halo.run(repository.root, [{ id: 'S-1' }], scripted(agent, [`sleep ${seconds}`], settings));
  const ms = performance.now() - started;
  if (state.stopReason !== 'SUCCESS') throw new Error(`halo ended with ${state.stopReason}: ${state.detail}`);
  return ms;
}
