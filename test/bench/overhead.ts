import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openHalo, OK, scripted } from '../support/halo/halo.ts';
import { makeRepository } from '../support/repository/repository.ts';
import { CLONE, EXPORT, SEALED } from './bare-sequence.ts';
import { familyMs, timeNode } from './processor-time.ts';
import { median, print, showRound, type Measure } from './report.ts';

const STORIES = 4;

/**
 * What halo adds to a story: a no-op agent and a no-op gate through the whole of halo, against the same container
 * commands typed by the docker CLI. Both in turn, so that a machine whose speed drifts drifts for both. Also the processor
 * time of halo and its git processes, against a start of Node.
 */
export async function measureOverhead({ rounds, json }: { rounds: number; json: boolean }): Promise<void> {
  const repository = makeRepository();
  const halo = await openHalo({ concurrency: 1 });
  const floor = openFloor(repository.root);
  const measures: Measure[] = [];
  const processor: Measure[] = [];
  try {
    for (let round = -1; round < rounds; round += 1) {
      showRound(round, rounds);
      const before = familyMs();
      const halos = (await timeHalo(halo, repository.root)) / STORIES;
      const own = (familyMs() - before) / STORIES;
      const bare = timeFloor(floor);
      const node = timeNode();
      // The first round warms caches.
      if (round < 0) continue;
      measures.push({ halo: halos, floor: bare, ratio: halos / bare });
      processor.push({ halo: own, floor: node, ratio: own / node });
    }
  } finally {
    await halo.close();
    floor.close();
    repository.remove();
  }
  const ratioOf = (of: Measure[]) => median(of.map(({ ratio }) => ratio));
  print({ name: 'overhead', measures, ratio: ratioOf(measures), limit: 0.75, json });
  print({ name: 'processor time', measures: processor, ratio: ratioOf(processor), limit: 6, json });
}

async function timeHalo(halo: Awaited<ReturnType<typeof openHalo>>, root: string): Promise<number> {
  const stories = Array.from({ length: STORIES }, (_, index) => ({ id: `S-${index + 1}` }));
  const started = performance.now();
  const state = await halo.run(root, stories, scripted(`date +%N > file; ${OK}`, ['true']));
  if (state.stopReason !== 'SUCCESS') throw new Error(`halo ended with ${state.stopReason}: ${state.detail}`);
  return performance.now() - started;
}

interface Floor {
  mirror: string;
  pack: string;
  close(): void;
}

function openFloor(root: string): Floor {
  const dir = mkdtempSync(join(tmpdir(), 'halo-floor-'));
  const mirror = join(dir, 'mirror.git');
  execFileSync('git', ['clone', '-q', '--bare', root, mirror]);
  execFileSync('chmod', ['-R', 'a+rX', dir]);
  return { mirror, pack: join(dir, 'pack'), close: () => rmSync(dir, { recursive: true, force: true }) };
}

/** Create, start, clone and run; export; clone and gate in a second workspace; remove. In ms. */
function timeFloor({ mirror, pack }: Floor): number {
  const docker = (...args: string[]) =>
    execFileSync('docker', args, { maxBuffer: 1e8, stdio: ['ignore', 'pipe', 'pipe'] });
  const [work, clean] = ['halo-bench-work', 'halo-bench-clean'];
  const at = (volume: string, mode = '') => ['-v', `${volume}:/workspace${mode}`, '-v', `${mirror}:/m:ro`];
  const started = performance.now();
  docker('volume', 'create', work);
  docker('volume', 'create', clean);
  const agent = docker('create', ...SEALED, ...at(work), 'halo-sandbox', 'sh', '-c', `${CLONE} && date +%N > file`);
  docker('start', '-a', agent.toString().trim());
  const exporter = docker('create', ...SEALED, ...at(work, ':ro'), 'halo-sandbox', 'sh', '-c', EXPORT);
  writeFileSync(pack, docker('start', '-a', exporter.toString().trim()));
  const gate = docker('create', ...SEALED, ...at(clean), 'halo-sandbox', 'sh', '-c', `${CLONE} && true`);
  docker('start', '-a', gate.toString().trim());
  docker('rm', ...[agent, exporter, gate].map((id) => id.toString().trim()));
  docker('volume', 'rm', work, clean);
  return performance.now() - started;
}
