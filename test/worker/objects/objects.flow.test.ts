import { randomBytes } from 'node:crypto';
import { chmodSync, readdirSync, rmSync, statSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import Docker from 'dockerode';
import { pino } from 'pino';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { LOCAL_ENGINE } from '../../../src/core/engine/engine-address.ts';
import { openDockerEngine } from '../../../src/sandbox/docker/engine.ts';
import { readHomeId } from '../../../src/queue/redis/connect-redis.ts';
import { ObjectsVolumeFiles, type StoredObjectsVolume } from '../../../src/store/objects-volume-files.ts';
import { trimObjects } from '../../../src/worker/objects/trim-objects.ts';
import { openEngineProxy, type EngineProxy } from '../../support/docker/engine-proxy.ts';
import { openHalo, OK, scripted, type TestHalo } from '../../support/halo/halo.ts';
import { PATIENCE } from '../../support/patience.ts';
import { newRepository } from '../../support/repository/new-repository.ts';
import type { TestRepository } from '../../support/repository/repository.ts';

const ENGINE = (process.env.DOCKER_HOST ?? 'unix:///var/run/docker.sock').replace('unix://', '');
const MIB = 1024 * 1024;
const PATIENT = ['retry.infrastructure.retries=3', 'retry.infrastructure.backoff="10ms"'];

let proxy: EngineProxy;
let halo: TestHalo;
let repository: TestRepository;
beforeAll(async () => {
  proxy = await openEngineProxy(ENGINE);
  halo = await openHalo({ engine: { name: 'local', address: `unix://${proxy.socket}` } });
});
afterAll(async () => {
  await halo.close();
  await proxy.close();
});
beforeEach(() => {
  repository = newRepository({ 'large.txt': random(MIB), 'other.txt': random(MIB) });
});
// The next test begins with an engine that has nothing.
afterEach(async () => {
  proxy.misbehave(() => undefined);
  await trim(Date.now(), true);
});

/** Text that cannot be compressed to less than half. */
const random = (bytes: number) => randomBytes(bytes).toString('hex');

const settings = (script: string, gates?: string[], more: string[] = []) =>
  scripted(`${script}; ${OK}`, gates, ['workspace.transport=stream', ...more]);
const run = async (script: string, gates?: string[], more?: string[]) => {
  const before = proxy.sentBytes();
  const answeredBefore = proxy.answeredBytes();
  const state = await halo.run(repository.root, [{ id: 'A' }], settings(script, gates, more));
  // An attempt holds its volume until it has cleaned up, after the end of its run.
  await vi.waitFor(async () => expect(await inUse()).toEqual([]), PATIENCE);
  return { state, sent: proxy.sentBytes() - before, answered: proxy.answeredBytes() - answeredBefore };
};

const ofType = (runId: string, type: string) => halo.journal(runId).filter((event) => event.type === type);

const files = async () => {
  const { id } = await openDockerEngine().info();
  return new ObjectsVolumeFiles(halo.home, { name: LOCAL_ENGINE, id });
};

async function inUse(): Promise<string[]> {
  const all = await (await files()).listAll();
  const held = await Promise.all(all.map(async ({ record }) => (await files()).isInUse(record.volume)));
  return all.filter((_, index) => held[index]).map(({ record }) => record.volume);
}

/** The volumes that halo knows, the oldest first. */
async function known(): Promise<StoredObjectsVolume[]> {
  const stored = await (await files()).listAll();
  return stored.sort((a, b) => a.record.createdAt.localeCompare(b.record.createdAt));
}
const onEngine = async () => openDockerEngine().listKeptVolumes({ kind: 'objects', home: await readHomeId(halo.home) });
async function folderOf(volume: string): Promise<string> {
  return (await new Docker().getVolume(volume).inspect()).Mountpoint;
}
const trim = async (now = Date.now(), isShort = false) =>
  trimObjects(
    {
      home: halo.home,
      homeId: await readHomeId(halo.home),
      engine: openDockerEngine(),
      engineFacts: () =>
        openDockerEngine()
          .info()
          .then(({ id }) => ({ name: 'local', id, architecture: 'x64' })),
      log: pino({ level: 'silent' }),
      now: () => now,
    },
    { isShort },
  );

describe('a repository on an engine that cannot mount folders of the host', () => {
  it('is sent once; what follows is sent as increments, and only a larger one makes a new volume, until the disk is short', async () => {
    const first = await run('echo a > a', ['test -f a', 'test -f large.txt']);
    expect(first.state.stopReason).toBe('SUCCESS');
    expect(first.sent).toBeGreaterThan(2 * MIB);
    expect(first.sent).toBeLessThan(3 * MIB);
    // What comes back is what the story changed.
    expect(first.answered).toBeLessThan(200_000);
    const again = await run('git log --format=%s | grep start && echo b > b', ['test -f b', 'git log | grep start']);
    expect(again.state.stopReason).toBe('SUCCESS');
    // Much of it is what starts containers, whatever the repository is.
    expect(again.sent).toBeLessThan(0.1 * first.sent);
    expect(await known()).toHaveLength(1);
    repository.write('new.txt', random(MIB));
    repository.commit('larger');
    const grown = await run('cat new.txt large.txt other.txt | wc -c > all', ['test -s all']);
    expect(grown.state.stopReason).toBe('SUCCESS');
    expect(grown.sent).toBeLessThan(1.5 * MIB);
    expect((await known()).map(({ record }) => record.commit)).toEqual([
      repository.git('rev-parse', 'main~1'),
      repository.git('rev-parse', 'main'),
    ]);
    await trim();
    expect(await onEngine()).toHaveLength(2);
    await trim(Date.now(), true);
    expect([await onEngine(), await known()]).toEqual([[], []]);
  });

  it('has one volume for stories that start together, which is removed after long disuse', async () => {
    const stories = [['A', 'B'], ['A']].map((ids) => ids.map((id) => ({ id })));
    const ids = await Promise.all(stories.map((each) => halo.submit(repository.root, each, settings('date > $$'))));
    for (const id of ids) expect((await halo.untilEnd(id)).stopReason).toBe('SUCCESS');
    expect(await known()).toHaveLength(1);
    expect(await onEngine()).toHaveLength(1);
    await vi.waitFor(async () => expect(await inUse()).toEqual([]), PATIENCE);
    await trim(Date.now() + 15 * 86_400_000);
    expect(await onEngine()).toEqual([]);
  });

  it('is sent again if the volume is lost, or if git finds it damaged', async () => {
    await run('echo a > a');
    const [lost] = await known();
    await new Docker().getVolume(lost!.record.volume).remove({ force: true });
    expect((await run('echo b > b')).state.stopReason).toBe('SUCCESS');
    const [damaged] = await known();
    expect(damaged!.record.volume).not.toBe(lost!.record.volume);
    const packs = join(await folderOf(damaged!.record.volume), 'objects', 'pack');
    for (const name of readdirSync(packs).filter((each) => each.endsWith('.pack'))) {
      chmodSync(join(packs, name), 0o644);
      truncateSync(join(packs, name), Math.floor(statSync(join(packs, name)).size / 2));
    }
    const after = await run('echo c > c', ['true'], PATIENT);
    expect(after.state).toMatchObject({ stopReason: 'SUCCESS', stories: [{ attempts: 1 }] });
    expect((await known())[0]!.record.volume).not.toBe(damaged!.record.volume);
  });

  it('hazard 69: is sent again when the transfer breaks off in between, and nothing of it is left, also without its mirror', async () => {
    let next: 'none' | 'filling' | 'cut' = 'none';
    proxy.misbehave((call) => {
      if (next === 'none' && /\/create\?name=.*-objects-/.test(call)) next = 'filling';
      if (next !== 'filling' || !call.includes('/attach')) return undefined;
      next = 'cut';
      return { cutInputAfter: MIB };
    });
    const { state } = await run('echo a > a', ['true'], PATIENT);
    expect(ofType(state.runId, 'story.disturbed')).not.toEqual([]);
    expect(state).toMatchObject({ stopReason: 'SUCCESS', stories: [{ attempts: 1 }] });
    await trim();
    expect(await onEngine()).toEqual((await known()).map(({ record }) => record.volume));
    expect(await onEngine()).toHaveLength(1);
    const [{ mirror }] = (await known()) as [StoredObjectsVolume];
    rmSync(join(halo.home, 'repos', mirror), { recursive: true });
    await trim();
    expect(await onEngine()).toEqual([]);
  });

  it('a change that is cut off on its way back is exported again, and the story is not blamed', async () => {
    let next: 'none' | 'exporting' | 'cut' = 'none';
    proxy.misbehave((call) => {
      if (next === 'none' && /\/create\?name=.*-export-/.test(call)) next = 'exporting';
      if (next !== 'exporting' || !call.includes('/attach')) return undefined;
      next = 'cut';
      return { cutAfter: 50_000, by: 'end' };
    });
    const { state } = await run('head -c 200000 /dev/urandom > new', ['true'], PATIENT);
    expect([next, ofType(state.runId, 'story.disturbed').length]).toEqual(['cut', 1]);
    expect(state).toMatchObject({ stopReason: 'SUCCESS', stories: [{ attempts: 1 }] });
  });
});
