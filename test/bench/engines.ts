import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { EngineAddress } from '../../src/core/engine/engine-address.ts';
import { openMachines } from '../support/engines/machines.ts';
import { openHalo, OK, scripted, type TestHalo } from '../support/halo/halo.ts';
import { openTcpProxy } from '../support/redis/tcp-proxy.ts';
import { makeRepository } from '../support/repository/repository.ts';
import { median, print, showRound, type Measure } from './report.ts';

const STORIES = 4;
/** From here to the engine and back. */
const ROUND_TRIP_MS = 5;
const TREE_BYTES = 16 * 1024 * 1024;

/**
 * What another machine costs a story: a no-op agent and a no-op gate on an engine in namespaces of its own, with mutual TLS
 * behind a proxy that delays each round trip by 5 ms, against the same on the engine of this machine, in turn. Then how much
 * the second story of a repository sends, against the size of its files.
 */
export async function measureEngines({ rounds, json }: { rounds: number; json: boolean }): Promise<void> {
  const opened = await openMachines(['remote']);
  if ('missing' in opened) throw new Error(opened.missing);
  const machine = opened.machines.remote;
  const proxy = await openTcpProxy({ host: new URL(machine.address).hostname, port: 2376 });
  const [ca = '', cert = '', key = ''] = ['ca', 'cert', 'key'].map((name) =>
    readFileSync(join(machine.certificates, `${name}.pem`), 'utf8'),
  );
  const engine: EngineAddress = { name: 'local', address: `tcp://127.0.0.1:${proxy.port}`, tls: { ca, cert, key } };
  const repository = makeRepository({ large: randomBytes(TREE_BYTES / 2).toString('hex') });
  const [here, there] = [await openHalo({ concurrency: 1 }), await openHalo({ concurrency: 1, engine })];
  const measures: Measure[] = [];
  const sent: Measure[] = [];
  try {
    for (let round = -1; round < rounds; round += 1) {
      showRound(round, rounds);
      proxy.turn({ slowMs: ROUND_TRIP_MS / 2 });
      const remote = await timeStories(there, repository.root);
      const local = await timeStories(here, repository.root);
      const before = proxy.sentBytes();
      await timeStories(there, repository.root, 1);
      const bytes = proxy.sentBytes() - before;
      // The first round sends the repository and warms caches.
      if (round < 0) continue;
      measures.push({ halo: remote, floor: local, ratio: remote / local });
      sent.push({ halo: bytes, floor: TREE_BYTES, ratio: bytes / TREE_BYTES });
    }
  } finally {
    await Promise.all([here.close(), there.close()]);
    await proxy.close();
    await opened.close();
    repository.remove();
  }
  const ratioOf = (of: Measure[]) => median(of.map(({ ratio }) => ratio));
  print({ name: 'engines', measures, ratio: ratioOf(measures), limit: 1.25, json });
  print({
    name: 'bytes that a further story sends',
    measures: sent,
    ratio: ratioOf(sent),
    limit: 0.05,
    json,
    unit: 'B',
  });
}

/** In ms a story. */
async function timeStories(halo: TestHalo, root: string, count = STORIES): Promise<number> {
  const stories = Array.from({ length: count }, (_, index) => ({ id: `S-${index + 1}` }));
  const started = performance.now();
  const state = await halo.run(root, stories, scripted(`date +%N > file; ${OK}`, ['true']));
  if (state.stopReason !== 'SUCCESS') throw new Error(`halo ended with ${state.stopReason}: ${state.detail}`);
  return (performance.now() - started) / count;
}
