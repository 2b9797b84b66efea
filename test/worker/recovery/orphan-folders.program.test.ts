import { spawnSync } from 'node:child_process';
import { mkdirSync, utimesSync } from 'node:fs';
import { join, relative } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { processMark } from '../../../src/lib/process-identity.ts';
import { listOrphanFolders } from '../../../src/worker/recovery/sweep-orphans.ts';
import { tempDir } from '../../support/temp-dir.ts';

const MINE = processMark();
/** Of a process of this machine that is gone. */
const DEAD = `${MINE.split('-')[0]}-${spawnSync('true').pid}-1`;
const ELSEWHERE = '0a1b2c-12-345';

let home: string;
beforeEach(() => {
  home = tempDir('halo-dead');
});

function make(path: string, ageMs = 0): string {
  const at = new Date(Date.now() - ageMs);
  mkdirSync(join(home, path), { recursive: true });
  utimesSync(join(home, path), at, at);
  return path;
}

async function orphans(): Promise<string[]> {
  return (await listOrphanFolders(home)).map((path) => relative(home, path)).sort();
}

describe('a folder that one process uses', () => {
  it('is an orphan when that process has ended, or has been unknown for an hour', async () => {
    const dead = [
      make(`probe-${DEAD}-0123abcd`),
      make(`sockets/probe-${DEAD}-0123abcd`),
      make(`runs/.new-${DEAD}-0123abcd`),
      make(`repos/shop-1/mirror.git.new-${DEAD}-aB3xYz`),
      make(`runs/.new-${ELSEWHERE}-0123abcd`, 3_700_000),
    ];
    // Alive, of another machine and young, complete, or not halo's.
    make(`runs/.new-${MINE}-0123abcd`, 9_000_000);
    make(`runs/.new-${ELSEWHERE}-4567abcd`);
    make(`runs/.ready-${DEAD}-0123abcd`);
    make('runs/.new-project', 9_000_000);
    make('repos/my.new-project-0a1b2c', 9_000_000);
    expect(await orphans()).toEqual(dead.sort());
  });

  it('is an orphan if a check had it that has died, with the sockets of the check', async () => {
    const dead = [
      make(`repos/shop-1/attempts/checking-snapshot-a1-e1234567-${DEAD}-0123ab`),
      make('sockets/checking-e1234567-0123ab'),
      make(`repos/shop-1/attempts/verifying-us-001-a1-e1234568-${ELSEWHERE}-0123ab`, 86_500_000),
      make('sockets/verifying-e1234568-0123ab'),
      // Its scratch folder is gone.
      make('sockets/replaying-e1234569-0123ab'),
    ];
    make(`repos/shop-1/attempts/checking-check-a1-e2345678-${MINE}-0123ab`, 9_000_000_000);
    make('sockets/checking-e2345678-0123ab');
    make(`repos/shop-1/attempts/verifying-us-001-a1-e2345679-${ELSEWHERE}-0123ab`, 9_000_000);
    make('sockets/verifying-e2345679-0123ab');
    // Attempts, about which the journal decides.
    make(`repos/shop-1/attempts/0tbq1aaaaaaaaaaa-us-001-a1-e1-0123ab`, 9_000_000_000);
    make('sockets/0tbq1aaaaaaaaaaa-e1-0123ab', 9_000_000_000);
    expect(await orphans()).toEqual(dead.sort());
  });
});
