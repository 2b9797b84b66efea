import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmdirSync, rmSync, statfsSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A file system of its own that is quickly full. */
export interface SmallDisk {
  dir: string;
  /** Takes all the room that there is, or becomes free, but for `leave` bytes. */
  fill(leave?: number): void;
  free(): void;
  unmount(): void;
}

const MiB = 1024 * 1024;
const BLOCK = 4096;

export function mountSmallDisk(bytes = 64 * MiB): SmallDisk {
  const dir = mkdtempSync(join(tmpdir(), 'halo-disk-'));
  const { status, stderr } = mount(dir, bytes);
  if (status !== 0) throw new Error(`no small disk: ${stderr}`);
  const filler = join(dir, 'filler');
  let filling: NodeJS.Timeout | undefined;
  const fillUp = (leave: number) => {
    const { bavail, bsize } = statfsSync(dir);
    for (let left = bavail * bsize - leave; left >= BLOCK; left -= MiB) {
      try {
        writeFileSync(filler, Buffer.alloc(Math.min(left, MiB)), { flag: 'a' });
      } catch {
        // What else writes at the same time was quicker.
        return;
      }
    }
  };
  const free = () => {
    clearInterval(filling);
    if (existsSync(filler)) truncateSync(filler, 0);
  };
  return {
    dir,
    fill(leave = 0) {
      fillUp(leave);
      filling = setInterval(() => fillUp(leave), 50);
    },
    free,
    unmount() {
      free();
      // Immediately, and finally as soon as nothing uses it any more.
      spawnSync('umount', ['--lazy', dir]);
      rmdirSync(dir);
    },
  };
}

/** Whether this machine lets us: it takes root and a kernel that allows it. */
export function canMount(): boolean {
  const dir = mkdtempSync(join(tmpdir(), 'halo-disk-'));
  const possible = mount(dir, MiB).status === 0;
  if (possible) spawnSync('umount', [dir]);
  rmSync(dir, { recursive: true, force: true });
  return possible;
}

function mount(dir: string, bytes: number) {
  return spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${bytes},mode=0755`, 'halo-test', dir], { encoding: 'utf8' });
}
