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
