import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { JournalEvent } from '../../src/core/journal/events.ts';
import { sleep } from '../../src/lib/async.ts';
import { OK, prdOf, scripted } from '../support/halo/halo.ts';
import { openHome, type HaloHome } from '../support/halo/halo-process.ts';
import { makeRepository } from '../support/repository/repository.ts';
import { copyRuns } from './filled-home.ts';
import { cpuMs } from './processor-time.ts';
import { median, print, showRound, type Measure } from './report.ts';

/** Finished and open runs; of the open ones, half are paused and half wait for another run. */
const FINISHED = 10_000;
const OPEN = 1_000;
/** Time in which a worker starts and looks at the open runs once, and time in which it has nothing to do, in ms. */
const START_MS = 30_000;
const IDLE_MS = 60_000;

interface GrowthOptions {
  rounds: number;
  json: boolean;
  /** The share of the runs to make, for a faster measurement. */
  share?: string | undefined;
}

interface Place {
  home: HaloHome;
  side: string;
  prd: string;
  root: string;
}

/**
 * What a home with 10,000 finished and 1,000 open runs costs: `halo status`, with a fleet limit, and a filtered `halo ls`
 * against a start of Node; the
 * processor time of a worker that starts against that in a home with the open runs alone; an idle worker against one core;
 * and the time from a submit to the first story against that of an empty home.
 */
export async function measureGrowth({ rounds, json, share = '1' }: GrowthOptions): Promise<void> {
  const repository = makeRepository();
  const side = mkdtempSync(join(tmpdir(), 'halo-bench-'));
  const prd = join(side, 'prd.json');
  writeFileSync(prd, prdOf([{ id: 'S-1' }]).bytes);
  const place = (): Place => ({ home: openHome(), side, prd, root: repository.root });
  const [small, open, large] = [place(), place(), place()];
  try {
    await fill(open, 0, OPEN * Number(share));
    await fill(large, FINISHED * Number(share), OPEN * Number(share));
    const [status, filtered]: [Measure[], Measure[]] = [[], []];
    for (let round = -1; round < rounds; round += 1) {
      showRound(round, rounds);
      const halo = await timeOf(() => large.home.halo(['status'], { cwd: side }));
      const floor = await timeOf(() => Promise.resolve(execFileSync(process.execPath, ['-e', '0'])));
      const list = await timeOf(() =>
        large.home.halo(['ls', '--user', 'somebody', '--status', 'failed'], { cwd: side }),
      );
      // The first round warms caches, and makes the lists of runs.
      if (round < 0) continue;
      status.push({ halo, floor, ratio: halo / floor });
      filtered.push({ halo: list, floor, ratio: list / floor });
    }
    report('growth of status', status, { limit: 3.0, json });
    report('growth of a list in which no run matches', filtered, { limit: 3.0, json });
    // Makes the list of open runs.
    await open.home.halo(['status'], { cwd: side });
    const workers = [small, open, large].map(({ home }) => home.start(['worker'], { cwd: side }));
    await sleep(START_MS);
    const pids = workers.map(({ process }) => process.pid ?? 0);
    const [, floor = 0, start = 0] = pids.map(cpuMs);
    report('growth of the start of a worker', [{ halo: start, floor, ratio: start / floor }], { limit: 1.1, json });
    await sleep(IDLE_MS);
    const idle = cpuMs(pids[2] ?? 0) - start;
    report('growth of an idle worker', [{ halo: idle, floor: IDLE_MS, ratio: idle / IDLE_MS }], { limit: 0.01, json });
    const claims: Measure[] = [];
    for (let round = -1; round < rounds; round += 1) {
      showRound(round, rounds);
      const [halo, floor] = [await timeClaim(large), await timeClaim(small)];
      if (round >= 0) claims.push({ halo, floor, ratio: halo / floor });
    }
    report('growth of the time to claim', claims, { limit: 1.1, json });
    for (const worker of workers) worker.process.kill('SIGTERM');
    await Promise.all(workers.map(({ ended }) => ended));
  } finally {
    await Promise.all([small, open, large].map(({ home }) => home.close()));
    rmSync(side, { recursive: true, force: true });
    repository.remove();
  }
}

function report(name: string, measures: Measure[], { limit, json }: { limit: number; json: boolean }): void {
  print({ name, measures, ratio: median(measures.map(({ ratio }) => ratio)), limit, json });
}

async function timeOf(work: () => Promise<unknown>): Promise<number> {
  const started = performance.now();
  await work();
  return performance.now() - started;
}

/** Copies of a cancelled, of a paused and of a waiting run, as they are on disk. */
async function fill({ home, side, prd, root }: Place, ended: number, open: number): Promise<void> {
  const settings = scripted('true').flatMap((setting) => ['-c', setting]);
  const submit = async (...flags: string[]) => {
    const args = ['submit', prd, '--repo', root, ...settings, ...flags];
    const { code, stdout, stderr } = await home.halo(args, { cwd: side });
    if (code !== 0) throw new Error(stderr);
    return stdout.trim();
  };
  const [finished, paused] = [await submit(), await submit()];
  await home.halo(['cancel', finished], { cwd: side });
  await home.halo(['pause', paused], { cwd: side });
  const waiting = await submit('--after', paused);
  writeFileSync(join(home.dir, 'config.toml'), '[fleet]\nmax = 100\n');
  // The pass over all runs that a worker makes once a day has been made.
  writeFileSync(join(home.dir, 'retention.json'), JSON.stringify({ v: 1, at: new Date().toISOString() }));
  const copies = [
    ...Array<string>(ended).fill(finished),
    ...Array<string>(open / 2).fill(paused),
    ...Array<string>(open / 2).fill(waiting),
  ];
  copyRuns(home.dir, copies);
}

/** From the creation of a run to the start of its story, by its journal. */
async function timeClaim({ home, side, prd, root }: Place): Promise<number> {
  // A run marks its story in the PRD.
  writeFileSync(prd, prdOf([{ id: 'S-1' }]).bytes);
  const settings = scripted(OK).flatMap((setting) => ['-c', setting]);
  const { stdout, stderr, code } = await home.halo(['submit', prd, '--repo', root, ...settings], { cwd: side });
  if (code !== 0) throw new Error(stderr);
  const journal = join(home.dir, 'runs', stdout.trim(), 'journal.jsonl');
  for (;;) {
    const events = readFileSync(journal, 'utf8')
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line) as JournalEvent);
    const timeAt = (type: JournalEvent['type']) => Date.parse(events.find((event) => event.type === type)?.at ?? '');
    if (events.some(({ type }) => type === 'run.ended')) return timeAt('story.started') - timeAt('run.created');
    await sleep(50);
  }
}
