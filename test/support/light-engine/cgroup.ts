import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { HostRequest } from './api.ts';

const ROOT = '/sys/fs/cgroup';
const PERIOD_US = 100_000;

/** The control groups of a sandbox, where an engine has them. */
export interface ControlGroups {
  /** Which a process joins, with the place where the sandbox sees it. */
  dirs: { dir: string; inside: string }[];
  /** Whether the kernel killed a process because of the memory limit. */
  wasOutOfMemory(): boolean;
  remove(): Promise<void>;
}

/** Throws where this user may not create them. */
export function createControlGroups(id: string, limits: HostRequest): ControlGroups {
  return existsSync(join(ROOT, 'cgroup.controllers')) ? unified(id, limits) : split(id, limits);
}

function split(id: string, { Memory = 0, PidsLimit, NanoCpus = 0 }: HostRequest): ControlGroups {
  const make = (controller: string, values: [file: string, value: number][]) => {
    const dir = join(ROOT, controller, 'docker', id);
    mkdirSync(dir, { recursive: true });
    for (const [file, value] of values) writeFileSync(join(dir, file), String(value));
    return { dir, inside: join(ROOT, controller) };
  };
  const memory = make('memory', Memory > 0 ? [['memory.limit_in_bytes', Memory]] : []);
  // Missing where the kernel does not account for swap.
  const withSwap = join(memory.dir, 'memory.memsw.limit_in_bytes');
  if (Memory > 0 && existsSync(withSwap)) writeFileSync(withSwap, String(Memory));
  const pids = make('pids', (PidsLimit ?? 0) > 0 ? [['pids.max', PidsLimit!]] : []);
  const cpu = make('cpu', NanoCpus > 0 ? [['cpu.cfs_period_us', PERIOD_US], ['cpu.cfs_quota_us', quota(NanoCpus)]] : []); // prettier-ignore
  const dirs = [memory, pids, cpu];
  return {
    dirs,
    wasOutOfMemory: () => counts(join(memory.dir, 'memory.oom_control')),
    remove: () => removeAll(dirs.map(({ dir }) => dir)),
  };
}

function unified(id: string, { Memory = 0, PidsLimit, NanoCpus = 0 }: HostRequest): ControlGroups {
  const parent = join(ROOT, 'docker');
  mkdirSync(parent, { recursive: true });
  for (const dir of [ROOT, parent]) writeFileSync(join(dir, 'cgroup.subtree_control'), '+memory +pids +cpu');
  const dir = join(parent, id);
  mkdirSync(dir);
  const set = (file: string, value: string | number) => writeFileSync(join(dir, file), String(value));
  if (Memory > 0) {
    set('memory.max', Memory);
    if (existsSync(join(dir, 'memory.swap.max'))) set('memory.swap.max', 0);
  }
  if ((PidsLimit ?? 0) > 0) set('pids.max', PidsLimit!);
  if (NanoCpus > 0) set('cpu.max', `${quota(NanoCpus)} ${PERIOD_US}`);
  return {
    dirs: [{ dir, inside: ROOT }],
    wasOutOfMemory: () => counts(join(dir, 'memory.events')),
    remove: () => removeAll([dir]),
  };
}

function quota(nanoCpus: number): number {
  return Math.round((nanoCpus / 1e9) * PERIOD_US);
}

function counts(path: string): boolean {
  return /^oom_kill [1-9]/m.test(readFileSync(path, 'utf8'));
}

/** The kernel lets go of a group moments after its last process. */
async function removeAll(dirs: string[]): Promise<void> {
  for (const dir of dirs)
    for (let tries = 0; tries < 100; tries++) {
      const error = await rmdir(dir).then(() => undefined, (cause: NodeJS.ErrnoException) => cause); // prettier-ignore
      if (error === undefined || error.code === 'ENOENT') break;
      await sleep(10);
    }
}
