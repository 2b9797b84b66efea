import { beforeEach, describe, expect, it } from 'vitest';
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

const queryOf = (commit: string, runId = RUN): SnapshotQuery => ({ mirror: MIRROR, key: KEY, runId, commit });
const common = { v: 1 as const, key: KEY, setup: ['true'], run: RUN, createdAt: '2026-01-01T00:00:00Z' };
const sealed = { digest: KEY, bytes: 1, files: 1, ms: 1, image: 'i', inputs: ['x'] };

async function publish(commit: string, onlyRun: string | undefined): Promise<void> {
  const record = { ...common, ...sealed, commit, volume: `halo-snapshot-${commit}` };
  await snapshots.publish({ mirror: MIRROR, record, onlyRun });
}

/** The commit of which the snapshot was made that a run finds for `commit`. */
async function find(commit: string, runId = RUN): Promise<string | undefined> {
  return (await snapshots.find(queryOf(commit, runId)))?.record.commit;
}

describe('a snapshot of a commit that has not landed', () => {
  beforeEach(() => publish('a', RUN));

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
    await publish('b', undefined);
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
