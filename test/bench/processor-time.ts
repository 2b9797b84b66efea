import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';

/** Prints the times of the shell's children, user and system, e.g. `0m0.052s 0m0.011s`, as its last line. */
export const WITH_TIMES = ['bash', '-c', '"$@" >/dev/null && times', 'bash'];

/** What a start of Node takes, in ms. */
export function timeNode(): number {
  const [program = '', ...args] = WITH_TIMES;
  return processorTime(execFileSync(program, [...args, process.execPath, '-e', '0'], { encoding: 'utf8' }));
}

/** From what `WITH_TIMES` prints, in ms. */
export function processorTime(times: string): number {
  const ofChildren = times.trim().split('\n').at(-1) ?? '';
  return [...ofChildren.matchAll(/(\d+)m([\d.]+)s/g)].reduce(
    (sum, [, m, s]) => sum + Number(m) * 60_000 + Number(s) * 1_000,
    0,
  );
}

/** Clock ticks per second of /proc/<pid>/stat. */
const TICKS = 100;

interface ProcessTimes {
  name: string;
  parent: number;
  /** User and system time so far, in ms. */
  own: number;
  /** The same of its children that have ended, and of theirs. */
  ended: number;
}

function timesOf(pid: number): ProcessTimes {
  const [, name = '', rest = ''] = /^\d+ \((.*)\) (.*)$/s.exec(readFileSync(`/proc/${pid}/stat`, 'utf8')) ?? [];
  const [, parent = 0, ...fields] = rest.split(' ').map(Number);
  const [user = 0, system = 0, endedUser = 0, endedSystem = 0] = fields.slice(9);
  const inMs = (ticks: number) => (ticks / TICKS) * 1000;
  return { name, parent, own: inMs(user + system), ended: inMs(endedUser + endedSystem) };
}

/** User and system time of a process so far. */
export function cpuMs(pid: number): number {
  return timesOf(pid).own;
}

/** The same of this process with all that it has started, without Redis. */
export function familyMs(): number {
  const alive = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      try {
        return [timesOf(Number(name))];
      } catch {
        // It has ended.
        return [];
      }
    });
  const children = alive.filter(({ parent, name }) => parent === process.pid && !name.startsWith('redis'));
  return [timesOf(process.pid), ...children].reduce((sum, { own, ended }) => sum + own + ended, 0);
}
