import { execFileSync, spawnSync } from 'node:child_process';
import { closeSync, mkdirSync, mkdtempSync, openSync, readdirSync, readlinkSync, rmSync, truncateSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, vi } from 'vitest';
import { PATIENCE } from '../../support/patience.ts';

/** A journalled file system of its own, whose power can be cut: what was not written through by then is lost. */
export interface PowerDisk {
  dir: string;
  /** Writes through whatever was written so far. */
  settle(): void;
  /** From now on, no write reaches the disk, not even its own journal; all access fails. */
  cut(): void;
  /** What a machine does at its next start: the file system is checked and mounted. Kills what still uses it. */
  restart(): Promise<void>;
  remove(): Promise<void>;
}

const MiB = 1024 * 1024;

/** Nothing is written through by age, so that what halo leaves to chance is lost for certain. */
const MOUNT = 'loop,commit=300';

export function openPowerDisk(bytes = 512 * MiB): PowerDisk {
  const side = mkdtempSync(join(tmpdir(), 'halo-power-'));
  const dir = join(side, 'disk');
  mkdirSync(dir);
  let image = makeImage(side, bytes);
  const mount = () => execFileSync('mount', ['-o', MOUNT, image, dir], { stdio: 'pipe' });
  // Somebody may be starting a container, which sees all mounts of this machine for a moment.
  const unmount = () => execFileSync('umount', ['--lazy', dir], { stdio: 'pipe' });
  const endUsers = () => vi.waitFor(() => expect(usersOf(dir).map(kill)).toEqual([]), { ...PATIENCE, interval: 20 });
  mount();
  return {
    dir,
    settle: () => void execFileSync('sync', ['-f', dir]),
    cut: () => cutPower(dir),
    async restart() {
      // Only what has already reached the disk.
      const old = image;
      image = `${image}+`;
      execFileSync('cp', ['--sparse=always', old, image]);
      await endUsers();
      unmount();
      rmSync(old);
      // 1: errors were found and corrected, as after any such end.
      const { status, stdout } = spawnSync('e2fsck', ['-fy', image], { encoding: 'utf8' });
      if (status === null || status > 1) throw new Error(`e2fsck ended with ${status}: ${stdout}`);
      mount();
    },
    async remove() {
      await endUsers();
      unmount();
      rmSync(side, { recursive: true, force: true });
    },
  };
}

/** Whether this machine lets us: it takes root, loop devices and ext4. */
export function canCutPower(): boolean {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return false;
  const side = mkdtempSync(join(tmpdir(), 'halo-power-'));
  try {
    const image = makeImage(side, 16 * MiB);
    execFileSync('mount', ['-o', MOUNT, image, side], { stdio: 'pipe' });
    try {
      cutPower(side);
      return true;
    } finally {
      execFileSync('umount', [side], { stdio: 'pipe' });
    }
  } catch {
    return false;
  } finally {
    rmSync(side, { recursive: true, force: true });
  }
}

function makeImage(side: string, bytes: number): string {
  const image = join(side, 'image');
  closeSync(openSync(image, 'w'));
  truncateSync(image, bytes);
  execFileSync('mkfs.ext4', ['-q', '-F', '-b', '4096', image], { stdio: 'pipe' });
  return image;
}

/** EXT4_IOC_SHUTDOWN with EXT4_GOING_FLAGS_NOLOGFLUSH, which Node has no call for and every Debian has Perl. */
function cutPower(dir: string): void {
  const script =
    'open(my $d, "<", $ARGV[0]) or die "$!\\n"; my $how = pack("L", 2); ioctl($d, 0x8004587d, $how) or die "$!\\n";';
  execFileSync('perl', ['-e', script, dir], { stdio: 'pipe' });
}

/** Processes that work in a folder or hold a file of it open. */
function usersOf(dir: string): number[] {
  const isBelow = (path: string) => path === dir || path.startsWith(`${dir}/`);
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => pid !== process.pid && pathsOf(pid).some(isBelow));
}

function pathsOf(pid: number): string[] {
  const links = [`/proc/${pid}/cwd`];
  try {
    links.push(...readdirSync(`/proc/${pid}/fd`).map((fd) => `/proc/${pid}/fd/${fd}`));
  } catch {
    // It has ended meanwhile.
  }
  return links.map((link) => {
    try {
      return readlinkSync(link);
    } catch {
      return '';
    }
  });
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has ended meanwhile.
  }
}
