import { beforeEach, describe, expect, it } from 'vitest';
import type { EngineIdentity } from '../../src/core/engine/engine-identity.ts';
import { SnapshotFiles, type SnapshotQuery } from '../../src/store/snapshot-files.ts';
import { tempDir } from '../support/temp-dir.ts';

const KEY = 'a'.repeat(64);
const MIRROR = 'shop-01234567';
const RUN = '0tbq1aaaaaaaaaaa';
const OTHER_RUN = '0tbq1bbbbbbbbbbb';

let snapshots: SnapshotFiles;
beforeEach(() => {
  snapshots = new SnapshotFiles(tempDir('halo-records'));
});

const ENGINE = { name: 'build-1', id: 'x' };
const queryOf = (commit: string, runId = RUN, engine = ENGINE): SnapshotQuery => ({
  engine,
  mirror: MIRROR,
  key: KEY,
  runId,
  commit,
});
const common = { v: 1 as const, key: KEY, setup: ['true'], run: RUN, createdAt: '2026-01-01T00:00:00Z' };
const sealed = { digest: KEY, bytes: 1, files: 1, ms: 1, image: 'i', inputs: ['x'] };

async function publish(commit: string, onlyRun: string | undefined, engine?: EngineIdentity): Promise<void> {
  const record = { ...common, engine, ...sealed, commit, volume: `halo-snapshot-${commit}` };
  await snapshots.publish({ mirror: MIRROR, record, onlyRun });
}

/** The commit of which the snapshot was made that a run finds for `commit`. */
async function find(commit: string, runId = RUN): Promise<string | undefined> {
  return (await snapshots.find(queryOf(commit, runId)))?.record.commit;
}

describe('a snapshot of a commit that has not landed', () => {
  beforeEach(() => publish('a', RUN, ENGINE));

  it('serves this commit in its run', async () => {
    expect(await find('a')).toBe('a');
  });

  it('serves neither other commits of its run nor other runs', async () => {
    expect([await find('b'), await find('a', OTHER_RUN)]).toEqual([undefined, undefined]);
  });

  it('serves all runs and commits after this commit has landed', async () => {
    await snapshots.promote(queryOf('a'));
    await snapshots.promote(queryOf('a'));
    expect([await find('b'), await find('c', OTHER_RUN)]).toEqual(['a', 'a']);
    expect(await snapshots.list()).toHaveLength(1);
  });

  it('does not serve other runs after another commit of its run has landed', async () => {
    await snapshots.promote(queryOf('b'));
    expect([await find('a'), await find('b'), await find('a', OTHER_RUN)]).toEqual(['a', undefined, undefined]);
  });

  it('does not replace one that serves all runs', async () => {
    await publish('b', undefined, ENGINE);
    await snapshots.promote(queryOf('a'));
    expect(await find('a')).toBe('b');
  });
});

describe('a setup that cannot become a snapshot', () => {
  it('is not tried again for other commits of the run', async () => {
    await snapshots.publish({ mirror: MIRROR, record: { ...common, refused: 'why', commit: 'a' }, onlyRun: RUN });
    expect([await find('b'), await find('a', OTHER_RUN)]).toEqual(['a', undefined]);
  });
});

describe('hazard 73: the snapshots of several engines', () => {
  /** The same name, with other data: another machine, or a new disk. */
  const REPLACED = { ...ENGINE, id: 'y' };
  /** A copy of the machine has the same id. */
  const CLONE = { ...ENGINE, name: 'build-2' };
  const findOn = async (engine: EngineIdentity) => (await snapshots.find(queryOf('c', RUN, engine)))?.record.commit;

  it('do not serve each other, although their keys are equal', async () => {
    await publish('a', undefined, ENGINE);
    await publish('b', undefined, CLONE);
    expect(await Promise.all([ENGINE, CLONE, REPLACED].map(findOn))).toEqual(['a', 'b', undefined]);
    expect(await snapshots.list()).toHaveLength(2);
  });

  it('are removed and made without waiting for each other', async () => {
    await publish('a', undefined, ENGINE);
    await publish('b', undefined, CLONE);
    await snapshots.remove((await snapshots.find(queryOf('c', RUN, CLONE)))!);
    expect(await Promise.all([ENGINE, CLONE].map(findOn))).toEqual(['a', undefined]);
    const signal = AbortSignal.timeout(10_000);
    const place = { mirror: MIRROR, key: KEY, onlyRun: undefined };
    const locks = [await snapshots.lock({ ...place, engine: ENGINE }, signal), await snapshots.lock({ ...place, engine: CLONE }, signal)]; // prettier-ignore
    await Promise.all(locks.map((lock) => lock.release()));
  });

  it('from before there were several engines serve all, unless an engine has one of its own', async () => {
    await publish('d', undefined);
    expect(await Promise.all([ENGINE, CLONE].map(findOn))).toEqual(['d', 'd']);
    await publish('a', undefined, ENGINE);
    expect(await Promise.all([ENGINE, CLONE].map(findOn))).toEqual(['a', 'd']);
  });
});
