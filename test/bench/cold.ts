import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { OK, prdOf, scripted } from '../support/halo/halo.ts';
import { openHome, type HaloHome } from '../support/halo/halo-process.ts';
import { makeRepository } from '../support/repository/repository.ts';
import { PAIR } from './bare-sequence.ts';
import { median, print, showRound, type Measure } from './report.ts';

/**
 * From the keystroke to the end of the command, with nothing running: `halo run` of a story that does nothing against two
 * `docker run` that clone, commit and push the same, and `halo submit` against a start of Node.
 */
export async function measureCold({ rounds, json }: { rounds: number; json: boolean }): Promise<void> {
  const dir = mkdtempSync(join(tmpdir(), 'halo-cold-'));
  const measures: { run: Measure[]; submit: Measure[] } = { run: [], submit: [] };
  try {
    for (let round = -1; round < rounds; round += 1) {
      showRound(round, rounds);
      const run = await timeHalo('run', dir);
      const pair = timePair(dir);
      const submit = await timeHalo('submit', dir);
      const node = timeOf(() => execFileSync(process.execPath, ['-e', '0']));
      // The first round warms caches.
      if (round < 0) continue;
      measures.run.push({ halo: run, floor: pair, ratio: run / pair });
      measures.submit.push({ halo: submit, floor: node, ratio: submit / node });
    }
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
  report('cold', measures.run, { limit: 1.9, json });
  report('cold submit', measures.submit, { limit: 5, json });
}

function report(name: string, measures: Measure[], how: { limit: number; json: boolean }): void {
  print({ name, measures, ratio: median(measures.map(({ ratio }) => ratio)), ...how });
}

/** One command in a home and a repository of its own, whose first run has been made before: it found what the engine can do. */
async function timeHalo(command: 'run' | 'submit', dir: string): Promise<number> {
  const home = openHome();
  const repository = makeRepository();
  try {
    await halo(home, repository.root, { command, dir });
    return await halo(home, repository.root, { command, dir });
  } finally {
    await home.close();
    repository.remove();
  }
}

async function halo(home: HaloHome, cwd: string, { command, dir }: { command: string; dir: string }): Promise<number> {
  const prd = join(dir, 'prd.json');
  // A run marks its story in the PRD.
  writeFileSync(prd, prdOf([{ id: 'S-1' }]).bytes);
  const settings = scripted(`date +%N > file; ${OK}`, ['true']).flatMap((setting) => ['-c', setting]);
  const started = performance.now();
  const { code, stderr } = await home.halo([command, prd, ...settings], { cwd });
  const ms = performance.now() - started;
  if (code !== 0) throw new Error(stderr);
  return ms;
}

function timePair(dir: string): number {
  const repository = makeRepository();
  const origin = join(dir, 'origin.git');
  try {
    execFileSync('git', ['clone', '-q', '--bare', repository.root, origin]);
    execFileSync('chmod', ['-R', 'a+rwX', dir]);
    return timeOf(() => execFileSync('sh', ['-c', PAIR, 'sh', origin], { stdio: ['ignore', 'ignore', 'pipe'] }));
  } finally {
    rmSync(origin, { recursive: true, force: true });
    repository.remove();
  }
}

function timeOf(work: () => unknown): number {
  const started = performance.now();
  work();
  return performance.now() - started;
}
