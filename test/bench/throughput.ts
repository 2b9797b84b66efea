import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { OK, openHalo, prdOf, scripted, type TestHalo } from '../support/halo/halo.ts';
import { makeRepository } from '../support/repository/repository.ts';
import { SEQUENCE } from './bare-sequence.ts';
import { median, showRound } from './report.ts';

const REPOSITORIES = 20;
const CONCURRENCY = 4;
/** Of what a shell loop gets done. */
const WANTED = 1.0;

interface Round {
  /** Stories a minute. */
  halo: number;
  bare: number;
  ratio: number;
  /** Resident memory of the worker's process after the round, in MiB. */
  rssMiB: number;
}

/**
 * Stories a minute: a no-op story in each of 20 repositories through the whole of halo, against as many bare sequences of
 * containers by a shell loop, both four at a time and in turn, so that a machine whose speed drifts drifts for both.
 */
export async function measureThroughput({ rounds, json }: { rounds: number; json: boolean }): Promise<void> {
  const repositories = Array.from({ length: REPOSITORIES }, () => makeRepository());
  const roots = repositories.map(({ root }) => root);
  const halo = await openHalo({ concurrency: CONCURRENCY });
  const bare = openBare(roots);
  const measured: Round[] = [];
  let rssStartMiB = 0;
  try {
    for (let round = -1; round < rounds; round += 1) {
      showRound(round, rounds);
      const [halos, bares] = [await timeHalo(halo, roots), bare.time()].map((ms) => (REPOSITORIES / ms) * 60_000);
      const rssMiB = Math.round(process.memoryUsage().rss / 2 ** 20);
      // The first round warms caches.
      if (round < 0) rssStartMiB = rssMiB;
      else measured.push({ halo: halos!, bare: bares!, ratio: halos! / bares!, rssMiB });
    }
  } finally {
    await halo.close();
    bare.close();
    for (const repository of repositories) repository.remove();
  }
  print({ measured, rssStartMiB, json });
}

export async function timeHalo(halo: TestHalo, roots: string[]): Promise<number> {
  const started = performance.now();
  const submitted = (
    await halo.operations.submit({
      prd: prdOf([{ id: 'S-1' }]),
      repos: roots,
      profile: undefined,
      set: scripted(`date +%N > file; ${OK}`, ['true']),
      allowDirty: false,
    })
  ).runs;
  for (const { runId } of submitted) {
    const { stopReason, detail } = await halo.untilEnd(runId);
    if (stopReason !== 'SUCCESS') throw new Error(`halo ended with ${stopReason}: ${detail}`);
  }
  return performance.now() - started;
}

function openBare(roots: string[]) {
  const dir = mkdtempSync(join(tmpdir(), 'halo-floor-'));
  const mirrors = roots.map((root, index) => {
    const mirror = join(dir, `${index}.git`);
    execFileSync('git', ['clone', '-q', '--bare', root, mirror]);
    return mirror;
  });
  execFileSync('chmod', ['-R', 'a+rX', dir]);
  const input = mirrors.map((mirror, index) => `${mirror}\n${index}\n${mirror}.pack\n`).join('');
  return {
    time: () => {
      const started = performance.now();
      const args = ['-P', String(CONCURRENCY), '-n', '3', 'sh', '-c', SEQUENCE, 'sequence'];
      execFileSync('xargs', args, { input, stdio: ['pipe', 'ignore', 'ignore'] });
      return performance.now() - started;
    },
    close: () => rmSync(dir, { recursive: true, force: true }),
  };
}

interface Result {
  measured: Round[];
  rssStartMiB: number;
  json: boolean;
}

function print({ measured, rssStartMiB, json }: Result): void {
  const ratio = median(measured.map((round) => round.ratio));
  const rssEndMiB = measured.at(-1)?.rssMiB ?? rssStartMiB;
  const result = { name: 'throughput', ratio, limit: WANTED, rssStartMiB, rssEndMiB, rounds: measured };
  if (json) return void process.stdout.write(`${JSON.stringify(result)}\n`);
  const line = (...cells: string[]) => `${cells.map((cell) => cell.padStart(12)).join('')}\n`;
  process.stdout.write(line('round', 'halo/min', 'bare/min', 'ratio', 'memory'));
  for (const [index, { halo, bare, ratio, rssMiB }] of measured.entries())
    process.stdout.write(line(String(index + 1), halo.toFixed(1), bare.toFixed(1), ratio.toFixed(2), `${rssMiB} MiB`));
  process.stdout.write(
    `throughput: ratio ${ratio.toFixed(2)}, at least ${WANTED.toFixed(1)} wanted; memory ${rssStartMiB} to ${rssEndMiB} MiB\n`,
  );
}
