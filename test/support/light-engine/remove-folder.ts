import { spawnSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { join } from 'node:path';

/** Where the folder of an engine has a file system of its own. */
export function tmpOf(dir: string): string {
  return join(dir, 'tmp');
}

/** Removes the folder of an engine. */
export function removeFolder(dir: string): void {
  spawnSync('umount', ['--lazy', tmpOf(dir)]);
  rmSync(dir, { recursive: true, force: true });
}
