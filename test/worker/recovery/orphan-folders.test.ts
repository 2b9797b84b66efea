import { spawnSync } from 'node:child_process';
import { mkdirSync, utimesSync } from 'node:fs';
import { join, relative } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { processMark } from '../../../src/lib/process-identity.ts';
import { listOrphanFolders } from '../../../src/worker/recovery/orphan-folders.ts';
import { tempDir } from '../../support/temp-dir.ts';

const MINE = processMark();
/** Of a process of this machine that is gone. */
const DEAD = `${MINE.split('-')[0]}-${spawnSync('true').pid}-1`;
const ELSEWHERE = '0a1b2c-12-345';

let home: string;
beforeAll(() => {
  home = tempDir('halo-dead');
});

function make(path: string, ageMs = 0): string {
  const at = new Date(Date.now() - ageMs);
  mkdirSync(join(home, path), { recursive: true });
  utimesSync(join(home, path), at, at);
  return path;
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
    const found = await listOrphanFolders(home);
    expect(found.map((path) => relative(home, path)).sort()).toEqual(dead.sort());
  });
});
