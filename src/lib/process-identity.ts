import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';

/** Whether a process of this machine is alive. `start` detects process ids that were reused. */
export function isProcessAlive(pid: number, start: string): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
  const now = processStartTime(pid);
  return now === '' || start === '' || now === start;
}

/**
 * The start time of a process as digits, or '' without /proc. The kernel counts from boot, so a container could have the
 * same process ids and times after a reboot: four digits of the boot id are appended. `dead` for a zombie.
 */
export function processStartTime(pid: number): string {
  return pid === process.pid ? (ownStartTime ??= readStartTime(pid)) : readStartTime(pid);
}

/** It never changes, and every lock names it. */
let ownStartTime: string | undefined;

function readStartTime(pid: number): string {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return fields[0] === 'Z' ? 'dead' : `${fields[19] ?? ''}${BOOT}`;
  } catch {
    return '';
  }
}

/** Four digits that identify the current boot; empty if the kernel does not provide a boot id. */
const BOOT = bootOf();

function bootOf(): string {
  try {
    const id = readFileSync('/proc/sys/kernel/random/boot_id');
    return String(createHash('sha256').update(id).digest().readUInt32BE(0) % 1e4).padStart(4, '0');
  } catch {
    return '';
  }
}

/** Whether a start time is of this boot, so that its process was or is on this machine, perhaps in another container. */
export function isThisBoot(start: string): boolean {
  return BOOT !== '' && start.length > BOOT.length && start.endsWith(BOOT);
}

const HOST = createHash('sha256').update(hostname()).digest('hex').slice(0, 6);
const MARK = /^([0-9a-f]{6})-(\d+)-(\d*)$/;

/** An identifier for this process, valid in file names and labels. */
export function processMark(): string {
  return [HOST, process.pid, processStartTime(process.pid)].join('-');
}

/** After this time a process of another host is assumed to be gone. */
const MAX_FOREIGN_AGE_MS = 3_600_000;

/** The same for a process that runs the commands of a repository, which may take hours. */
export const MAX_FOREIGN_CHECK_MS = 86_400_000;

/**
 * Whether the process with that mark is gone. For other hosts this is decided by age (`madeMs`, ms since 1970), which is at
 * most `maxAgeMs`.
 */
export function isOrphaned(mark: string, madeMs: number, maxAgeMs = MAX_FOREIGN_AGE_MS): boolean {
  const [, host, pid, start = ''] = MARK.exec(mark) ?? [];
  return host === HOST ? !isProcessAlive(Number(pid), start) : Date.now() - madeMs > maxAgeMs;
}
