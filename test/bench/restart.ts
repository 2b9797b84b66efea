import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { JournalEvent } from '../../src/core/journal/events.ts';
import { prdOf, scripted } from '../support/halo/halo.ts';
import { openHome, type HaloHome } from '../support/halo/halo-process.ts';
import { makeRepository } from '../support/repository/repository.ts';
import { sleep } from '../../src/lib/async.ts';
import { CLONE, SEALED } from './bare-sequence.ts';
import { median, print, showRound, type Measure } from './report.ts';

/**
 * How long a worker takes from its start to the agent of the story that the one before handed back, against what the
 * machine takes for the least of it: a start of Node, and a container that checks the repository out.
 */
export async function measureRestart({ rounds, json }: { rounds: number; json: boolean }): Promise<void> {
  const repository = makeRepository();
  const home = openHome();
  const side = mkdtempSync(join(tmpdir(), 'halo-bench-'));
  const mirror = join(side, 'mirror.git');
  execFileSync('git', ['clone', '-q', '--bare', repository.root, mirror]);
  execFileSync('chmod', ['-R', 'a+rX', side]);
  const measures: Measure[] = [];
  try {
    const runId = await submit(home, side, repository.root);
    // The first start has no work to continue, and warms caches.
    await timeStart(home, { runId, cwd: side });
    for (let round = 0; round < rounds; round += 1) {
      showRound(round, rounds);
      const [halo, floor] = [await timeStart(home, { runId, cwd: side }), timeFloor(mirror)];
      measures.push({ halo, floor, ratio: halo / floor });
    }
    await home.halo(['cancel', runId], { cwd: side });
  } finally {
    await home.close();
    rmSync(side, { recursive: true, force: true });
    repository.remove();
  }
  print({ name: 'restart', measures, ratio: median(measures.map(({ ratio }) => ratio)), limit: 6.0, json });
}

async function submit(home: HaloHome, side: string, root: string): Promise<string> {
  const path = join(side, 'prd.json');
  writeFileSync(path, prdOf([{ id: 'S-1' }]).bytes);
  const settings = scripted('sleep 600').flatMap((setting) => ['-c', setting]);
  const { code, stdout, stderr } = await home.halo(['submit', path, '--repo', root, ...settings], { cwd: side });
  if (code !== 0) throw new Error(stderr);
  return stdout.trim();
}

/** From the start of a worker until the agent works, in ms; then the worker is stopped, and hands the story back. */
async function timeStart(home: HaloHome, { runId, cwd }: { runId: string; cwd: string }): Promise<number> {
  const before = agentStarts(home, runId);
  const started = performance.now();
  const worker = home.start(['worker'], { cwd });
  while (agentStarts(home, runId) === before) await sleep(10);
  const took = performance.now() - started;
  worker.process.kill('SIGTERM');
  await worker.ended;
  return took;
}

function agentStarts({ dir }: HaloHome, runId: string): number {
  const lines = readFileSync(join(dir, 'runs', runId, 'journal.jsonl'), 'utf8')
    .split('\n')
    .slice(0, -1);
  return lines
    .map((line) => JSON.parse(line) as JournalEvent)
    .filter((event) => event.type === 'phase.started' && event.phase === 'agent').length;
}

function timeFloor(mirror: string): number {
  const started = performance.now();
  execFileSync(process.execPath, ['-e', '0']);
  execFileSync(
    'docker',
    [
      'run',
      '--rm',
      ...SEALED,
      '--tmpfs',
      '/workspace:mode=1777',
      '-v',
      `${mirror}:/m:ro`,
      'halo-sandbox',
      'sh',
      '-c',
      CLONE,
    ],
    { stdio: 'ignore' },
  );
  return performance.now() - started;
}
