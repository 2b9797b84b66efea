import { execFileSync } from 'node:child_process';
import { openHalo, OK, scripted, type TestHalo } from '../support/halo/halo.ts';
import { makeRepository } from '../support/repository/repository.ts';
import { POSTGRES_CLIENT, postgresService } from '../support/services/postgres-client.ts';
import { ensureServiceImage } from '../support/services/service-images.ts';
import { median, print, showRound, type Measure } from './report.ts';

/** More than 200 MB of data, nearly all of it in one table. */
const SEED = `CREATE TABLE large AS SELECT id, 0 AS seen, repeat(md5(id::text), 30) AS text FROM generate_series(1, 210000) AS id;
CREATE TABLE small AS SELECT 1 AS id, 0 AS seen;
CHECKPOINT;
`;

const SIZE = "SELECT pg_database_size('postgres')";
const UPDATE = "UPDATE large SET seen = 1 WHERE ctid = '(0,1)'";

/**
 * What a database costs a gate that does nothing: PostgreSQL with an empty data folder, against the bare start of its container
 * until it is ready; and with 200 MB of prepared data, against the empty one. Then what the first UPDATE of the largest table
 * costs, which copies its file, against the second one.
 */
export async function measureServices({ rounds, json }: { rounds: number; json: boolean }): Promise<void> {
  const image = await ensureServiceImage('postgres');
  const repository = makeRepository({ 'sql.py': POSTGRES_CLIENT, 'seed.sql': SEED });
  const prepare = ['python3 sql.py "$(cat seed.sql)"'];
  const seeded = postgresService(image, { prepare, prepare_files: ['seed.sql'], memory: '512m' });
  const empty = postgresService(image, { memory: '512m' });
  const halo = await openHalo({ concurrency: 1 });
  const [starts, seconds, updates]: [Measure[], Measure[], Measure[]] = [[], [], []];
  const run = (settings: string[], gate = 'true') => timeGates(halo, repository.root, settings, gate);
  try {
    for (let round = -1; round < rounds; round += 1) {
      showRound(round, rounds);
      const without = await run([]);
      const bare = timeBareStart(image);
      const fresh = await run([empty]);
      const ready = await run([seeded]);
      const { printed } = await run([seeded], `python3 sql.py --time "${SIZE}" "${UPDATE}" "${UPDATE}"`);
      // The first one makes the snapshot.
      if (round < 0) continue;
      const [first, second] = [...printed.matchAll(/^ms (\d+)$/gm)].slice(1).map(([, ms]) => Number(ms));
      const measure = (of: number, floor: number): Measure => ({ halo: of, floor, ratio: of / floor });
      starts.push(measure(fresh.ms - without.ms, bare));
      seconds.push(measure(ready.ms, fresh.ms + 1_000));
      updates.push(measure(first ?? Number.NaN, Math.max(1, second ?? Number.NaN)));
    }
  } finally {
    await halo.close();
    repository.remove();
  }
  const ratioOf = (measures: Measure[]) => median(measures.map(({ ratio }) => ratio));
  print({ name: 'a ready database for a gate', measures: starts, ratio: ratioOf(starts), limit: 1, json });
  print({ name: 'gates with 200 MB of prepared data, against one second more than without', measures: seconds, ratio: ratioOf(seconds), limit: 1, json }); // prettier-ignore
  print({ name: 'the first UPDATE of the largest table', measures: updates, ratio: ratioOf(updates), limit: Infinity, json }); // prettier-ignore
}

/** The duration of the gates of a story, in ms, and what its gate printed. */
async function timeGates(
  halo: TestHalo,
  root: string,
  settings: string[],
  gate: string,
): Promise<{ ms: number; printed: string }> {
  const state = await halo.run(root, [{ id: 'A' }], scripted(`date > now.txt; ${OK}`, [gate], settings));
  if (state.stopReason !== 'SUCCESS')
    throw new Error(`halo ended with ${state.stopReason}: ${state.stories[0]?.summary}`);
  const ended = halo.journal(state.runId).find((event) => event.type === 'phase.ended' && event.phase === 'gates');
  const printed = halo.readFile(state.runId, `artifacts/${state.stories[0]!.key}/1/gates/1.log`);
  return { ms: ended !== undefined && 'ms' in ended ? Number(ended.ms) : Number.NaN, printed };
}

/** How long `docker run` takes until the server is ready, in ms. */
function timeBareStart(image: string): number {
  const docker = (...words: string[]) => execFileSync('docker', words, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim(); // prettier-ignore
  const begun = performance.now();
  const id = docker('run', '-d', '--network=none', '--memory=512m', '-e', 'POSTGRES_HOST_AUTH_METHOD=trust', image);
  try {
    docker('exec', id, 'sh', '-c', 'until pg_isready -q -h 127.0.0.1; do sleep 0.05; done');
    return performance.now() - begun;
  } finally {
    docker('rm', '-fv', id);
  }
}
