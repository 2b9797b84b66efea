import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { removeSnapshots as removeByKey } from '../../../src/api/snapshots/snapshots.ts';
import { readHomeId } from '../../../src/queue/redis/connect-redis.ts';
import { LOCAL_ENGINE } from '../../../src/core/engine/engine-address.ts';
import type { EngineIdentity } from '../../../src/core/engine/engine-identity.ts';
import { openDockerEngine } from '../../../src/sandbox/docker/engine.ts';
import { SnapshotFiles, type StoredSnapshot } from '../../../src/store/snapshot-files.ts';
import { startWorker } from '../../../src/worker/main.ts';
import { makeRoom, readSnapshotLimits, trimSnapshots } from '../../../src/worker/snapshot/trim-snapshots.ts';
import { hostOf } from '../../support/halo/host.ts';
import { removeSnapshots } from '../../support/halo/remove-snapshots.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { PATIENCE } from '../../support/patience.ts';

const MIRROR = 'shop-01234567';
/** More than any disk has. */
const HUGE = '900000g';

const engine = openDockerEngine();
const log = pino({ level: 'silent' });
let home: string;
let homeId: string;
let snapshots: SnapshotFiles;
beforeEach(async () => {
  home = tempDir('halo-trim');
  homeId = await readHomeId(home);
  snapshots = new SnapshotFiles(home);
});
afterEach(() => removeSnapshots(home));

/** A snapshot of 10 KiB with a real volume; the higher `used`, the later it was used. */
async function add(used: number, onlyRun?: string, of?: EngineIdentity): Promise<StoredSnapshot> {
  const key = createHash('sha256').update(`${home}${used}`).digest('hex');
  const volume = `halo-snapshot-${key.slice(0, 24)}`;
  await engine.createKeptVolume(volume, { kind: 'snapshot', home: homeId, user: 20_000 });
  const common = { v: 1 as const, key, setup: ['true'], image: 'i', inputs: ['x'], commit: 'c', run: 'r' };
  const record = {
    ...common,
    engine: of,
    volume,
    digest: key,
    bytes: 10_240,
    files: 1,
    ms: 1,
    createdAt: '2026-01-01T00:00:00Z',
  };
  const stored = { mirror: MIRROR, record, onlyRun };
  await snapshots.publish(stored);
  const files = readdirSync(join(home, 'snapshots', MIRROR)).filter((name) => name.startsWith(key));
  for (const name of files) utimesSync(join(home, 'snapshots', MIRROR, name), used, used);
  return { ...stored, usedAt: used * 1_000 };
}

const configure = (text: string) => writeFileSync(join(home, 'config.toml'), text);
/** As the worker of the engine with this name and id sees it. */
const workerOf = ({ name, id } = { name: LOCAL_ENGINE, id: 'x' }) => {
  const engineFacts = () => Promise.resolve({ name, id, architecture: 'x64' });
  return { home, now: Date.now, snapshots, engine, engineName: name, engineFacts, homeId, log };
};
const trim = async (of?: EngineIdentity) => trimSnapshots(workerOf(of), await readSnapshotLimits(home));
const room = async () => makeRoom(workerOf(), await readSnapshotLimits(home));

/** The numbers of those that have a record and those that have a volume. */
async function remaining(added: StoredSnapshot[]): Promise<{ records: number[]; volumes: number[] }> {
  const [keys, volumes] = [
    (await snapshots.list()).map(({ record }) => record.key),
    await engine.listKeptVolumes({ kind: 'snapshot', home: homeId }),
  ];
  const numbers = (isThere: (each: StoredSnapshot) => boolean) =>
    added.filter(isThere).map(({ usedAt }) => usedAt / 1_000);
  return {
    records: numbers(({ record }) => keys.includes(record.key)).sort(),
    volumes: numbers(({ record }) => 'volume' in record && volumes.includes(record.volume)).sort(),
  };
}

const only = (...numbers: number[]) => ({ records: numbers, volumes: numbers });

describe('snapshots beyond their limits', () => {
  it('are removed in the order of their last use until the rest is within snapshot.max_size', async () => {
    const added = [await add(3), await add(1), await add(4), await add(2, '0tbq1aaaaaaaaaaa')];
    await trim();
    expect(await remaining(added)).toEqual(only(1, 2, 3, 4));
    configure('[snapshot]\nmax_size = "25k"\n');
    await trim();
    expect(await remaining(added)).toEqual(only(3, 4));
  });

  it('are not removed while they are in use: the next one goes', async () => {
    const added = [await add(1), await add(2), await add(3)];
    const held = await snapshots.hold(added[0]!, 'test');
    configure('[snapshot]\nmax_size = "20k"\n');
    await trim();
    expect(await remaining(added)).toEqual(only(1, 3));
    await held?.release();
    configure('[snapshot]\nmax_size = "10k"\n');
    await trim();
    expect(await remaining(added)).toEqual(only(3));
  });

  it('are removed before a story begins if the disk of the engine is short, except those in use', async () => {
    const added = [await add(1), await add(2), await add(3)];
    configure('[limits]\nfree_disk = "1k"\n[snapshot]\nmax_size = "10k"\n');
    await room();
    expect(await remaining(added)).toEqual(only(1, 2, 3));
    const held = await snapshots.hold(added[1]!, 'test');
    configure(`[limits]\nfree_disk = "${HUGE}"\n`);
    await room();
    expect(await remaining(added)).toEqual(only(2));
    await held?.release();
  });

  it('are removed by an idle worker when the disk of the engine gets short', async () => {
    const added = [await add(1)];
    configure(`[limits]\nfree_disk = "${HUGE}"\n`);
    const worker = await startWorker({ host: hostOf(home), concurrency: 1, log });
    try {
      await vi.waitFor(async () => expect(await remaining(added)).toEqual(only()), PATIENCE);
    } finally {
      await worker.close();
    }
  });

  it('are removed although a file of a killed process is left beside their locks, and so is the file', async () => {
    const added = [await add(1), await add(2)];
    const [first, second] = added.map(({ record }) => ('volume' in record ? record.volume : ''));
    const uses = join(home, 'snapshots', MIRROR, 'uses');
    mkdirSync(uses);
    // A lock is renewed with such a file; the second one may still be in use.
    const [left, young] = [join(uses, `${first}@test.0123abcd.now`), join(uses, `${second}@test.4567abcd.now`)];
    for (const path of [left, young]) writeFileSync(path, '');
    utimesSync(left, 1, 1);
    configure('[snapshot]\nmax_size = "1k"\n');
    await trim();
    expect(await remaining(added)).toEqual(only());
    expect([left, young].map((path) => existsSync(path))).toEqual([false, true]);
  });

  it('leave volumes that no record names: these are removed, unless they are being built', async () => {
    const [lost, built] = [await add(1), await add(2)];
    for (const each of [lost, built]) await snapshots.remove(each);
    const announced = await snapshots.announce(MIRROR, (built.record as { volume: string }).volume);
    await trim();
    expect(await remaining([lost, built])).toEqual({ records: [], volumes: [2] });
    await announced.release();
    await trim();
    expect(await remaining([lost, built])).toEqual(only());
  });
});

describe('snapshots of several engines', () => {
  const [first, second] = [
    { name: 'build-1', id: 'x' },
    { name: 'build-2', id: 'y' },
  ];

  it('are limited for each engine, and no engine removes a volume that another one names', async () => {
    const added = [await add(1, undefined, first), await add(2, undefined, second), await add(3, undefined, second)];
    configure('[snapshot]\nmax_size = "15k"\n');
    await trim(first);
    expect(await remaining(added)).toEqual(only(1, 2, 3));
    await trim(second);
    expect(await remaining(added)).toEqual(only(1, 3));
  });

  it('are lost when another machine has taken over the name of their engine', async () => {
    const added = [await add(1, undefined, first), await add(2, undefined, second)];
    const warned = vi.spyOn(log, 'warn');
    await trim({ ...first, id: 'z' });
    expect(await remaining(added)).toEqual(only(2));
    const says = 'another engine has this name now: its snapshots are lost';
    expect(warned).toHaveBeenCalledWith({ engine: 'build-1', lost: 1 }, says);
  });

  it('from before there were several belong to the engine that has their volume', async () => {
    const added = [await add(1), await add(2)];
    await engine.removeVolume((added[0]!.record as { volume: string }).volume);
    configure('[snapshot]\nmax_size = "1k"\n');
    await trim(first);
    expect(await remaining(added)).toEqual({ records: [1], volumes: [] });
  });
});

describe('halo snapshot rm', () => {
  it('removes records and volumes by the beginnings of keys, except those in use', async () => {
    const added = [await add(1), await add(2), await add(3)];
    const keys = added.map(({ record }) => record.key);
    const held = await snapshots.hold(added[1]!, 'test');
    const removed = await removeByKey(home, [keys[0]!.slice(0, 20), keys[1]!]);
    expect(removed).toEqual({ removed: [keys[0]], inUse: [keys[1]] });
    expect(await remaining(added)).toEqual(only(2, 3));
    await held?.release();
    expect(await removeByKey(home, [])).toMatchObject({ inUse: [] });
    expect(await remaining(added)).toEqual(only());
  });

  it('refuses keys that are unknown or ambiguous, and then removes nothing', async () => {
    const added = [await add(1), await add(2)];
    const [key = ''] = added.map(({ record }) => record.key);
    await expect(removeByKey(home, [key, 'xyz'])).rejects.toThrow('There is no snapshot "xyz".');
    await expect(removeByKey(home, [''])).rejects.toThrow('2 snapshots begin with "".');
    expect(await remaining(added)).toEqual(only(1, 2));
  });
});
