import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, utimesSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { markProcess } from '../../../src/lib/process-identity.ts';
import { listDeadFolders } from '../../../src/worker/dead-folders.ts';

const MINE = markProcess();
/** Of a process of this machine that is gone. */
const DEAD = `${MINE.split('-')[0]}-${spawnSync('true').pid}-1`;
const ELSEWHERE = '0a1b2c-12-345';

let home: string;
beforeAll(() => {
  home = mkdtempSync(join(tmpdir(), 'halo-dead-'));
});
afterAll(() => rmSync(home, { recursive: true, force: true }));

function make(path: string, ageMs = 0): string {
  const at = new Date(Date.now() - ageMs);
  mkdirSync(join(home, path), { recursive: true });
  utimesSync(join(home, path), at, at);
  return path;
}

describe('a folder that one process fills or waits at', () => {
  it('is left over when that process is gone, or when nobody can tell and an hour has passed', async () => {
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
    const found = await listDeadFolders(home);
    expect(found.map((path) => relative(home, path)).sort()).toEqual(dead.sort());
  });
});
