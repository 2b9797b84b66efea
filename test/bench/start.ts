import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { prdOf, scripted } from '../support/halo/halo.ts';
import { openHome } from '../support/halo/halo-process.ts';
import { makeRepository } from '../support/repository/repository.ts';
import { processorTime, timeNode, WITH_TIMES } from './processor-time.ts';
import { median, print, showRound, type Measure } from './report.ts';

const COMMANDS = [['ls'], ['status'], ['logs', '@']];
const RUNS = 5;

/** The processor time that the slowest of `halo ls`, `status` and `logs` takes on a small home, against a start of Node. */
export async function measureStart({ rounds, json }: { rounds: number; json: boolean }): Promise<void> {
  const repository = makeRepository();
  const home = openHome();
  const at = { cwd: repository.root };
  const measures: Measure[][] = COMMANDS.map(() => []);
  try {
    const prd = join(home.dir, 'prd.json');
    writeFileSync(prd, prdOf([{ id: 'S-1' }]).bytes);
    const settings = scripted('true').flatMap((setting) => ['-c', setting]);
    for (let made = 0; made < RUNS; made += 1) {
      const { code, stderr } = await home.halo(['submit', prd, ...settings], at);
      if (code !== 0) throw new Error(stderr);
    }
    const timeOf = async (words: string[]) => {
      const { code, stdout, stderr } = await home.halo(words, { ...at, via: WITH_TIMES });
      if (code !== 0) throw new Error(stderr);
      return processorTime(stdout);
    };
    // The first of each warms caches.
    for (const words of COMMANDS) await timeOf(words);
    for (let round = 0; round < rounds; round += 1) {
      showRound(round, rounds);
      let before = timeNode();
      for (const [at, words] of COMMANDS.entries()) {
        const halo = await timeOf(words);
        const after = timeNode();
        const floor = (before + after) / 2;
        measures[at]?.push({ halo, floor, ratio: halo / floor });
        before = after;
      }
    }
  } finally {
    await home.close();
    repository.remove();
  }
  const ratioOf = (rounds: Measure[]) => median(rounds.map(({ ratio }) => ratio));
  const slowest = measures.reduce((one, other) => (ratioOf(one) < ratioOf(other) ? other : one));
  print({ name: 'start', measures: slowest, ratio: ratioOf(slowest), limit: 2.6, json });
}
