import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';

/** Whether that very process of this machine lives: a process id alone may have been given to another one since. */
export function isAlive(pid: number, start: string): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
  const now = startOf(pid);
  return now === '' || start === '' || now === start;
}

/**
 * When a process was started, in digits, or '' where there is no /proc. The kernel counts from the machine's start, and
 * in a container that a restart brings back process ids and times may be the same as before a power cut: what tells one
 * start of the machine from another is part of it. A dead, unreaped process counts as gone.
 */
export function startOf(pid: number): string {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return fields[0] === 'Z' ? 'dead' : `${fields[19] ?? ''}${BOOT}`;
  } catch {
    return '';
  }
}

/** Four digits for this start of the machine; none where the kernel does not tell. */
const BOOT = bootOf();

function bootOf(): string {
  try {
    const id = readFileSync('/proc/sys/kernel/random/boot_id');
    return String(createHash('sha256').update(id).digest().readUInt32BE(0) % 1e4).padStart(4, '0');
  } catch {
    return '';
  }
}

const HOST = createHash('sha256').update(hostname()).digest('hex').slice(0, 6);
const MARK = /^([0-9a-f]{6})-(\d+)-(\d*)$/;

/** Names this process for as long as it lives, in characters that suit file names and labels. */
export function markProcess(): string {
  return [HOST, process.pid, startOf(process.pid)].join('-');
}

/** No process takes that long over what bears its mark. */
const LONGEST_MS = 3_600_000;

/** Whether the process with that mark is gone; where that cannot be told from here, by when it made the thing (ms since 1970). */
export function isLeftBehind(mark: string, madeMs: number): boolean {
  const [, host, pid, start = ''] = MARK.exec(mark) ?? [];
  return host === HOST ? !isAlive(Number(pid), start) : Date.now() - madeMs > LONGEST_MS;
}
