import { LIMIT_IGNORED, ISOLATION_LIMITS, type IsolationMeasurements } from './isolation-script.ts';
import type { IsolationFinding } from './isolation-report.ts';
import { defined } from '../../lib/guards.ts';

const MIB = 1024 * 1024;
const LIMITS_HINT =
  'rootless engines need cgroup v2 with delegated controllers; see docs.docker.com, “rootless”, “limiting resources”';

/** Judges the output of the isolation script. `own`: the runtime has its own kernel, which filters system calls itself. */
export function judgeIsolation(output: string, own: boolean): IsolationFinding[] {
  const report = readReport(output);
  if (report === undefined) return [fail('sandbox', 'a sandbox does not start, or its check printed nothing')];
  const judged = [...judgeSeal(report, own), ...judgeFolders(report), ...judgeLimits(report, own)];
  const memory = output.includes(LIMIT_IGNORED)
    ? fail('memory', 'the limit of memory is ignored', LIMITS_HINT)
    : good('memory', 'ends at its limit, without swap');
  return [...judged, memory, judgeLabel(report.label), ...(own ? [] : [judgeMemoryOfOthers(report.ptraceScope)])];
}

function readReport(output: string): IsolationMeasurements | undefined {
  try {
    return JSON.parse(output.split('\n')[0] ?? '') as IsolationMeasurements;
  } catch {
    return undefined;
  }
}

function judgeSeal({ status, interfaces, refused, resolver }: IsolationMeasurements, own: boolean): IsolationFinding[] {
  const held = ['CapInh', 'CapPrm', 'CapEff', 'CapBnd', 'CapAmb'].filter((set) => !/^0+$/.test(status[set] ?? '0'));
  const open = Object.keys(refused).filter((name) => refused[name] === 0);
  const others = interfaces.filter((name) => name !== 'lo');
  const filtered = own || status.Seccomp === '2';
  return [
    toFinding('capabilities', held.length === 0, 'none', `some are left in ${held.join(', ')}`),
    toFinding('privileges', own || status.NoNewPrivs === '1', 'cannot be gained', 'no-new-privileges is ignored'),
    toFinding(
      'system calls',
      filtered && open.length === 0,
      'only those on halo’s list',
      `not filtered: ${open.join(', ')}`,
    ),
    toFinding('network', others.length === 0, 'only lo', `there is also ${others.join(', ')}`),
    toFinding('name server', resolver === '', 'none', 'the resolver of the host is visible'),
  ];
}

function judgeFolders({ mounts, sizes }: IsolationMeasurements): IsolationFinding[] {
  const wanted: [path: string, mib: number, inodes: number][] = [
    ['/tmp', 512, 102_400],
    ['/home/agent', 256, 102_400],
    ['/run', 8, 1_024],
    ['/dev/shm', 128, Infinity],
  ];
  const loose = wanted.filter(([path, mib, inodes]) => {
    const [bytes = 0, most = 0] = sizes[path] ?? [];
    return bytes === 0 || bytes > mib * MIB || (inodes !== Infinity && most > inodes);
  });
  const paths = loose.map(([path]) => path).join(', ');
  return [
    toFinding('root', mounts['/']?.includes('ro') === true, 'read-only', 'can be written'),
    toFinding('folders in memory', loose.length === 0, 'have their sizes', `${paths}: larger than asked for`),
  ];
}

function judgeLimits({ cgroup, rlimits, forks }: IsolationMeasurements, own: boolean): IsolationFinding[] {
  const memory = Number(cgroup['memory.max'] ?? cgroup['memory/memory.limit_in_bytes']);
  const pids = Number(cgroup['pids.max'] ?? cgroup['pids/pids.max']);
  const [quota, period] = cgroup['cpu.max']?.split(' ') ?? [
    cgroup['cpu/cpu.cfs_quota_us'],
    cgroup['cpu/cpu.cfs_period_us'],
  ];
  const cpus = Number(quota) / Number(period);
  // With its own kernel there are no cgroups inside; the limits show in the memory and process tests.
  const seen = !own || Number.isFinite(memory);
  const limited = !seen || memory === ISOLATION_LIMITS.memoryBytes;
  const counted = (!seen || pids === ISOLATION_LIMITS.pids) && forks !== null && forks < ISOLATION_LIMITS.pids;
  const files = [rlimits.nofile?.[1], rlimits.core?.[1], rlimits.fsize?.[1]].join();
  return [
    toFinding('memory limit', limited, 'is set', 'the limit of memory is not set', LIMITS_HINT),
    toFinding('processes', counted, 'end at their limit', 'the limit of processes is ignored', LIMITS_HINT),
    toFinding(
      'cpu',
      !seen || cpus === ISOLATION_LIMITS.cpus,
      'is limited',
      'the limit of CPUs is ignored',
      LIMITS_HINT,
    ),
    toFinding(
      'files',
      files === `8192,0,${1024 * MIB}`,
      'number and size are limited',
      `the limits of files are ${files}`,
    ),
  ];
}

function judgeLabel(label: string): IsolationFinding {
  if (label !== '' && label !== 'unconfined' && !label.startsWith('kernel')) return good('security module', label);
  return {
    name: 'security module',
    ok: 'warn',
    says: 'neither AppArmor nor SELinux confines containers here',
    fix: 'use a kernel with one of them, or a dedicated machine for halo',
  };
}

/** The seccomp profile blocks the system calls of debuggers, but not opening /proc/<pid>/mem. */
function judgeMemoryOfOthers(scope: string): IsolationFinding {
  if (Number(scope) > 0) return good('memory of others', 'a process cannot write into that of its parent or siblings');
  return {
    name: 'memory of others',
    ok: 'warn',
    says: 'processes of one container can write to each other’s memory, so code of a story can manipulate its gate',
    fix: 'use a kernel with Yama and set sysctl kernel.yama.ptrace_scope=1; use gates that run no code of the story',
  };
}

function toFinding(name: string, holds: boolean, yes: string, no: string, fix?: string): IsolationFinding {
  return holds ? good(name, yes) : fail(name, no, fix);
}

function good(name: string, says: string): IsolationFinding {
  return { name, ok: 'ok', says };
}

function fail(name: string, says: string, fix?: string): IsolationFinding {
  return { name, ok: 'fail', says, ...defined({ fix }) };
}
