import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { prdOf, scripted } from '../support/halo/halo.ts';
import { openHome } from '../support/halo/halo-process.ts';
import { makeRepository } from '../support/repository/repository.ts';
import { median, print, type Measure } from './report.ts';

const COMMANDS = [['ls'], ['status'], ['logs', '@']];
const RUNS = 5;

/** How long the slowest of `halo ls`, `status` and `logs` takes on a small home, against a start of Node. */
export async function measureStart({ rounds, json }: { rounds: number; json: boolean }): Promise<void> {
  const repository = makeRepository();
  const home = openHome();
  const at = { cwd: repository.root };
  const measures: Measure[] = [];
  try {
    const prd = join(home.dir, 'prd.json');
    writeFileSync(prd, prdOf([{ id: 'S-1' }]).bytes);
    const settings = scripted('true').flatMap((setting) => ['-c', setting]);
    for (let made = 0; made < RUNS; made += 1) {
      const { code, stderr } = await home.halo(['submit', prd, ...settings], at);
      if (code !== 0) throw new Error(stderr);
    }
    const timeOf = async (words: string[]) => {
      const started = performance.now();
      const { code, stderr } = await home.halo(words, at);
      if (code !== 0) throw new Error(stderr);
      return performance.now() - started;
    };
    // The first of each warms caches.
    for (const words of COMMANDS) await timeOf(words);
    for (let round = 0; round < rounds; round += 1) {
      const floors = [timeNode()];
      const times: number[] = [];
      for (const words of COMMANDS) {
        times.push(await timeOf(words));
        floors.push(timeNode());
      }
      const [halo, floor] = [Math.max(...times), floors.reduce((sum, each) => sum + each, 0) / floors.length];
      measures.push({ halo, floor, ratio: halo / floor });
    }
  } finally {
    await home.close();
    repository.remove();
  }
  print({ name: 'start', measures, ratio: median(measures.map(({ ratio }) => ratio)), limit: 3.0, json });
}

function timeNode(): number {
  const started = performance.now();
  execFileSync(process.execPath, ['-e', '0']);
  return performance.now() - started;
}
