import { defined } from '../../lib/guards.ts';
import type { DiskLimitMethod } from '../sandbox.ts';

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

/** One property of a sandbox, and whether the engine enforces it. */
export interface IsolationFinding {
  name: string;
  /** `warn`: halo works without it. */
  ok: 'ok' | 'warn' | 'fail';
  says: string;
  fix?: string;
}

/** The result of the isolation check of an engine and a runtime. */
export interface IsolationReport {
  /** The runtime to use; undefined for the engine's default. */
  runtime: string | undefined;
  disk: DiskLimitMethod;
  /** Whether the number of terminals of a sandbox can be limited. */
  ptys: boolean;
  facts: IsolationFinding[];
}

/** Limits of the isolation check; small, so that they are reached quickly. */
export const ISOLATION_LIMITS = { cpus: 0.5, memoryBytes: 64 * 1024 * 1024, pids: 24 };

/** What the script prints before it exceeds its memory limit. */
export interface IsolationMeasurements {
  /** Fields of /proc/self/status. */
  status: Record<string, string>;
  interfaces: string[];
  /** Mount points with their options. */
  mounts: Record<string, string[]>;
  /** Bytes and inodes of the folders in memory. */
  sizes: Record<string, [bytes: number, inodes: number]>;
  /** Content of the readable cgroup files. */
  cgroup: Record<string, string>;
  /** Soft and hard. */
  rlimits: Record<string, [number, number]>;
  /** Error numbers of system calls that must fail; 0 if the call succeeded. */
  refused: Record<string, number>;
  resolver: string;
  /** Yama's ptrace_scope, which restricts access to the memory of other processes; empty if the kernel lacks Yama. */
  ptraceScope: string;
  /** Label of AppArmor or SELinux. */
  label: string;
  /** Number of concurrent processes at which a fork failed; null if none failed. */
  forks: number | null;
}

/** Printed when the memory limit was exceeded. */
export const LIMIT_IGNORED = 'ate more than allowed';

const CALLS: Record<string, [x64: number, arm64: number, first: number]> = {
  'socket AF_ALG': [41, 198, 38],
  'socket AF_VSOCK': [41, 198, 40],
  'socket AF_PACKET': [41, 198, 17],
  io_uring_setup: [425, 425, 1],
  'unshare into a user namespace': [272, 97, 0x1000_0000],
  mount: [165, 40, 0],
  bpf: [321, 280, 0],
  keyctl: [250, 219, 0],
  userfaultfd: [323, 282, 0],
  ptrace: [101, 117, 0],
  perf_event_open: [298, 241, 0],
};

/** Runs in halo's own image; prints one line of JSON, then allocates memory until it is killed. */
export const ISOLATION_SCRIPT = `exec python3 - <<'PYTHON'
import ctypes, json, os, platform, resource, signal
def read(path):
    try:
        with open(path) as file: return file.read().strip()
    except OSError: return ''
libc = ctypes.CDLL(None, use_errno=True)
arm = platform.machine() == 'aarch64'
def attempt(numbers):
    ctypes.set_errno(0)
    kind = ctypes.c_long
    result = libc.syscall(kind(numbers[arm]), kind(numbers[2]), kind(1), kind(0), kind(0), kind(0))
    return ctypes.get_errno() if result < 0 else 0
def space(path):
    try:
        facts = os.statvfs(path)
        return [facts.f_frsize * facts.f_blocks, facts.f_files]
    except OSError: return [0, 0]
groups = ['memory.max', 'memory.swap.max', 'pids.max', 'cpu.max', 'memory/memory.limit_in_bytes',
          'memory/memory.memsw.limit_in_bytes', 'pids/pids.max', 'cpu/cpu.cfs_quota_us', 'cpu/cpu.cfs_period_us']
report = {
    'status': dict(line.split(':\\t', 1) for line in read('/proc/self/status').split('\\n') if ':\\t' in line),
    'interfaces': [line.split(':')[0].strip() for line in read('/proc/net/dev').split('\\n') if ':' in line],
    'mounts': {line.split()[1]: line.split()[3].split(',') for line in read('/proc/self/mounts').split('\\n') if line},
    'sizes': {path: space(path) for path in ['/tmp', '/home/agent', '/run', '/dev/shm']},
    'cgroup': {name: read('/sys/fs/cgroup/' + name) for name in groups if read('/sys/fs/cgroup/' + name)},
    'rlimits': {name: list(resource.getrlimit(getattr(resource, 'RLIMIT_' + name.upper()))) for name in ['nofile', 'core', 'fsize']},
    'refused': {name: attempt(numbers) for name, numbers in ${JSON.stringify(Object.entries(CALLS))}},
    'resolver': read('/etc/resolv.conf'),
    'ptraceScope': read('/proc/sys/kernel/yama/ptrace_scope'),
    'label': read('/proc/self/attr/current').strip('\\0'),
    'forks': None,
}
children = []
try:
    for _ in range(${ISOLATION_LIMITS.pids * 2}):
        child = os.fork()
        if child == 0:
            signal.pause()
            os._exit(0)
        children.append(child)
except OSError:
    report['forks'] = len(children)
for child in children:
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
print(json.dumps(report), flush=True)
held = []
for _ in range(${(ISOLATION_LIMITS.memoryBytes * 2) / 1024 ** 2}):
    held.append(b'x' * 1048576)
print('${LIMIT_IGNORED}', flush=True)
PYTHON`;
