import { ATE, PROBE_LIMITS, type ProbeReport } from './isolation-script.ts';
import type { ProvenFact } from '../proof.ts';

const MIB = 1024 * 1024;
const LIMITS_HINT =
  'rootless engines need cgroup v2 with delegated controllers; see docs.docker.com, “rootless”, “limiting resources”';

/** What the probe's output says of each promise. `own`: a runtime with a kernel of its own, which filters by itself. */
export function judgeProbe(output: string, own: boolean): ProvenFact[] {
  const report = readReport(output);
  if (report === undefined) return [fail('sandbox', 'a sandbox does not start, or its probe told nothing')];
  const judged = [...judgeSeal(report, own), ...judgeFolders(report), ...judgeLimits(report, own)];
  const memory = output.includes(ATE)
    ? fail('memory', 'the limit of memory is ignored', LIMITS_HINT)
    : good('memory', 'ends at its limit, without swap');
  return [...judged, memory, judgeLabel(report.label), ...(own ? [] : [judgeMemoryOfOthers(report.ptraceScope)])];
}

function readReport(output: string): ProbeReport | undefined {
  try {
    return JSON.parse(output.split('\n')[0] ?? '') as ProbeReport;
  } catch {
    return undefined;
  }
}

function judgeSeal({ status, interfaces, refused, resolver }: ProbeReport, own: boolean): ProvenFact[] {
  const held = ['CapInh', 'CapPrm', 'CapEff', 'CapBnd', 'CapAmb'].filter((set) => !/^0+$/.test(status[set] ?? '0'));
  const open = Object.keys(refused).filter((name) => refused[name] === 0);
  const others = interfaces.filter((name) => name !== 'lo');
  const filtered = own || status.Seccomp === '2';
  return [
    check('capabilities', held.length === 0, 'none', `some are left in ${held.join(', ')}`),
    check('privileges', own || status.NoNewPrivs === '1', 'cannot be gained', 'no-new-privileges is ignored'),
    check(
      'system calls',
      filtered && open.length === 0,
      'only those on halo’s list',
      `not filtered: ${open.join(', ')}`,
    ),
    check('network', others.length === 0, 'only lo', `there is also ${others.join(', ')}`),
    check('name server', resolver === '', 'none', 'the resolver of the host is told'),
  ];
}

function judgeFolders({ mounts, sizes }: ProbeReport): ProvenFact[] {
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
    check('root', mounts['/']?.includes('ro') === true, 'read-only', 'can be written'),
    check('folders in memory', loose.length === 0, 'have their sizes', `${paths}: larger than asked for`),
  ];
}

function judgeLimits({ cgroup, rlimits, forks }: ProbeReport, own: boolean): ProvenFact[] {
  const memory = Number(cgroup['memory.max'] ?? cgroup['memory/memory.limit_in_bytes']);
  const pids = Number(cgroup['pids.max'] ?? cgroup['pids/pids.max']);
  const [quota, period] = cgroup['cpu.max']?.split(' ') ?? [
    cgroup['cpu/cpu.cfs_quota_us'],
    cgroup['cpu/cpu.cfs_period_us'],
  ];
  const cpus = Number(quota) / Number(period);
  // A kernel of its own has no control groups inside; what they do outside shows in how memory and processes end.
  const seen = !own || Number.isFinite(memory);
  const limited = !seen || memory === PROBE_LIMITS.memoryBytes;
  const counted = (!seen || pids === PROBE_LIMITS.pids) && forks !== null && forks < PROBE_LIMITS.pids;
  const files = [rlimits.nofile?.[1], rlimits.core?.[1], rlimits.fsize?.[1]].join();
  return [
    check('memory limit', limited, 'is set', 'the limit of memory is not set', LIMITS_HINT),
    check('processes', counted, 'end at their limit', 'the limit of processes is ignored', LIMITS_HINT),
    check('cpu', !seen || cpus === PROBE_LIMITS.cpus, 'is limited', 'the limit of CPUs is ignored', LIMITS_HINT),
    check('files', files === `8192,0,${1024 * MIB}`, 'number and size are limited', `the limits of files are ${files}`),
  ];
}

function judgeLabel(label: string): ProvenFact {
  if (label !== '' && label !== 'unconfined' && !label.startsWith('kernel')) return good('security module', label);
  return {
    name: 'security module',
    ok: 'warn',
    says: 'neither AppArmor nor SELinux confines containers here',
    mend: 'a second wall behind the others: use a kernel with one of them, or a machine for halo alone',
  };
}

/** The system calls of debuggers are refused; opening /proc/<pid>/mem is none of them. */
function judgeMemoryOfOthers(scope: string): ProvenFact {
  if (Number(scope) > 0) return good('memory of others', 'a process cannot write into that of its parent or siblings');
  return {
    name: 'memory of others',
    ok: 'warn',
    says: 'in one container, processes can write into the memory of each other: code of a story into that of its gate',
    mend: 'sysctl kernel.yama.ptrace_scope=1, with a kernel that has Yama; and gates that run nothing of the story',
  };
}

function check(name: string, holds: boolean, yes: string, no: string, mend?: string): ProvenFact {
  return holds ? good(name, yes) : fail(name, no, mend);
}

function good(name: string, says: string): ProvenFact {
  return { name, ok: 'ok', says };
}

function fail(name: string, says: string, mend?: string): ProvenFact {
  return { name, ok: 'fail', says, ...(mend === undefined ? {} : { mend }) };
}
