import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { JournalEvent } from '../../src/core/journal/events.ts';
import { sleep } from '../../src/lib/async.ts';
import { newRunId } from '../../src/lib/run-id.ts';
import { OK, prdOf, scripted } from '../support/halo/halo.ts';
import { openHome, type HaloHome } from '../support/halo/halo-process.ts';
import { makeRepository } from '../support/repository/repository.ts';
import { median, print, type Measure } from './report.ts';

const FINISHED = 10_000;
const OPEN = 1_000;
/** Time for a worker to look at all runs once, and time in which it has nothing to do, in ms. */
const SETTLE_MS = 45_000;
const IDLE_MS = 60_000;
/** Clock ticks per second of /proc/<pid>/stat. */
const TICKS = 100;

interface Place {
  home: HaloHome;
  side: string;
  prd: string;
  root: string;
}

/**
 * What a home with 10,000 finished and 1,000 open runs costs: `halo status` against a start of Node, an idle worker
 * against one core, and the time from a submit to the first story against that of an empty home.
 */
export async function measureGrowth({ rounds, json }: { rounds: number; json: boolean }): Promise<void> {
  const repository = makeRepository();
  const side = mkdtempSync(join(tmpdir(), 'halo-bench-'));
  const prd = join(side, 'prd.json');
  writeFileSync(prd, prdOf([{ id: 'S-1' }]).bytes);
  const [small, large] = [openHome(), openHome()].map((home): Place => ({ home, side, prd, root: repository.root }));
  if (small === undefined || large === undefined) throw new Error('no homes');
  try {
    await fill(large);
    const status: Measure[] = [];
    for (let round = -1; round < rounds; round += 1) {
      const halo = await timeOf(() => large.home.halo(['status'], { cwd: side }));
      const floor = await timeOf(() => Promise.resolve(execFileSync(process.execPath, ['-e', '0'])));
      // The first round warms caches, and makes the list of open runs.
      if (round >= 0) status.push({ halo, floor, ratio: halo / floor });
    }
    report('growth of status', status, { limit: 3.0, json });
    const workers = [small, large].map(({ home }) => home.start(['worker'], { cwd: side }));
    await sleep(SETTLE_MS);
    const pid = workers[1]?.process.pid ?? 0;
    const before = cpuMs(pid);
    await sleep(IDLE_MS);
    const idle = cpuMs(pid) - before;
    report('growth of an idle worker', [{ halo: idle, floor: IDLE_MS, ratio: idle / IDLE_MS }], { limit: 0.01, json });
    const claims: Measure[] = [];
    for (let round = -1; round < rounds; round += 1) {
      const [halo, floor] = [await timeClaim(large), await timeClaim(small)];
      if (round >= 0) claims.push({ halo, floor, ratio: halo / floor });
    }
    report('growth of the time to claim', claims, { limit: 1.1, json });
    for (const worker of workers) worker.process.kill('SIGTERM');
    await Promise.all(workers.map(({ ended }) => ended));
  } finally {
    await Promise.all([small.home.close(), large.home.close()]);
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

/** Copies of a cancelled and of a paused run, as they are on disk. */
async function fill({ home, side, prd, root }: Place): Promise<void> {
  const settings = scripted('true').flatMap((setting) => ['-c', setting]);
  const submit = async () => {
    const { code, stdout, stderr } = await home.halo(['submit', prd, '--repo', root, ...settings], { cwd: side });
    if (code !== 0) throw new Error(stderr);
    return stdout.trim();
  };
  const [finished, paused] = [await submit(), await submit()];
  await home.halo(['cancel', finished], { cwd: side });
  await home.halo(['pause', paused], { cwd: side });
  const runs = join(home.dir, 'runs');
  const start = Date.UTC(2030, 0, 1);
  const copies = [...Array<string>(FINISHED).fill(finished), ...Array<string>(OPEN).fill(paused)];
  copies.forEach((template, index) => copyRun(runs, template, newRunId(new Date(start + index * 1000), randomBytes)));
  rmSync(join(home.dir, 'open-runs'), { recursive: true });
}

function copyRun(runs: string, template: string, runId: string): void {
  const [from, to] = [join(runs, template), join(runs, runId)];
  mkdirSync(to);
  for (const entry of readdirSync(from, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    const target = path.replace(from, to);
    if (entry.isDirectory()) mkdirSync(target, { recursive: true });
    else if (entry.isFile()) {
      mkdirSync(join(target, '..'), { recursive: true });
      writeFileSync(target, readFileSync(path, 'utf8').replaceAll(template, runId));
    }
  }
}

/** User and system time of a process so far. */
function cpuMs(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  return ((Number(fields[11]) + Number(fields[12])) / TICKS) * 1000;
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
