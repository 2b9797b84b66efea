import Docker from 'dockerode';
import { beforeAll, describe, expect, it } from 'vitest';
import { tailSink } from '../../../src/lib/streams.ts';
import { openDockerEngine } from '../../../src/sandbox/docker/engine.ts';
import type { SandboxExit } from '../../../src/sandbox/sandbox.ts';
import { runSealed } from '../../support/docker/image-container.ts';

const engine = openDockerEngine();

interface Ran {
  exit: SandboxExit;
  stdout: string;
  stderr: string;
}

async function run(script: string): Promise<Ran> {
  const sandbox = await engine.start({
    image: 'halo-sandbox',
    labels: { run: 'test', storyKey: 'syscalls', attempt: 1, phase: 'test' },
    user: 34_567,
    workdir: '/tmp',
    env: {},
    mounts: [],
    limits: { cpus: 2, memoryBytes: 512 * 1024 * 1024, pids: 128 },
    hostsFile: 'engine',
  });
  try {
    const [stdout, stderr] = [tailSink(20_000), tailSink(20_000)];
    const limits = { wallMs: 60_000, idleMs: 60_000, outputBytes: 1_000_000 };
    const exit = await sandbox.run({ script, stdout: stdout.sink, stderr: stderr.sink, ...limits });
    return { exit, stdout: stdout.text(), stderr: stderr.text() };
  } finally {
    await sandbox.remove();
  }
}

function python(text: string): string {
  return `python3 - <<'PYTHON'\n${text}\nPYTHON`;
}

const NUMBERS: Record<string, [x64: number, arm64: number]> = {
  ptrace: [101, 117],
  mount: [165, 40],
  umount2: [166, 39],
  chroot: [161, 51],
  pivot_root: [155, 41],
  init_module: [175, 105],
  kexec_load: [246, 104],
  add_key: [248, 217],
  request_key: [249, 218],
  keyctl: [250, 219],
  unshare: [272, 97],
  perf_event_open: [298, 241],
  setns: [308, 268],
  process_vm_readv: [310, 270],
  process_vm_writev: [311, 271],
  bpf: [321, 280],
  userfaultfd: [323, 282],
  io_uring_setup: [425, 425],
  io_uring_enter: [426, 426],
  io_uring_register: [427, 427],
  open_tree: [428, 428],
  move_mount: [429, 429],
  fsopen: [430, 430],
  pidfd_getfd: [438, 438],
  mount_setattr: [442, 442],
  memfd_secret: [447, 447],
  open_by_handle_at: [304, 265],
  fanotify_init: [300, 262],
  syslog: [103, 116],
  acct: [163, 89],
  swapon: [167, 224],
  reboot: [169, 142],
  settimeofday: [164, 170],
  sethostname: [170, 161],
  quotactl: [179, 60],
};

const EPERM = 1;
const ENOSYS = 38;
const CLONE_FLAGS: Record<string, number> = {
  'a user namespace': 0x1000_0000,
  'a mount namespace': 0x0002_0000,
  'a pid namespace': 0x2000_0000,
  'a network namespace': 0x4000_0000,
  'an ipc namespace': 0x0800_0000,
  'a uts namespace': 0x0400_0000,
  'a cgroup namespace': 0x0200_0000,
};
const FAMILIES: Record<string, [family: number, type: number, protocol: number]> = {
  AF_ALG: [38, 5, 0],
  AF_VSOCK: [40, 1, 0],
  AF_PACKET: [17, 3, 0x300],
  AF_BLUETOOTH: [31, 3, 1],
  AF_CAN: [29, 3, 1],
  AF_XDP: [44, 3, 0],
  AF_KEY: [15, 3, 2],
  AF_TIPC: [30, 1, 0],
  AF_RDS: [21, 5, 0],
  AF_NFC: [39, 3, 1],
  AF_X25: [9, 5, 0],
  'IPv4 raw': [2, 3, 1],
  'IPv6 raw': [10, 3, 58],
  SCTP: [2, 1, 132],
  DCCP: [2, 6, 33],
  MPTCP: [2, 1, 262],
  'SCTP by type': [2, 5, 0],
  'netlink netfilter': [16, 3, 12],
  'netlink xfrm': [16, 3, 6],
  'netlink audit': [16, 3, 9],
};

/** Each attempt prints its name and the error number it met, 0 when it got through. */
const ATTACK = python(`
import ctypes, os, platform
libc = ctypes.CDLL(None, use_errno=True)
arm = platform.machine() == 'aarch64'
def call(name, number, *args):
    ctypes.set_errno(0)
    result = libc.syscall(ctypes.c_long(number), *[ctypes.c_long(a) for a in args])
    if result == 0 and name.startswith('clone '): os._exit(0)
    print(name, ctypes.get_errno() if result < 0 else 0, sep='=', flush=True)
for name, numbers in ${JSON.stringify(Object.entries(NUMBERS))}:
    call(name, numbers[arm], 0, 0, 0, 0, 0)
for name, flags in ${JSON.stringify(Object.entries(CLONE_FLAGS))}:
    call('clone ' + name, 220 if arm else 56, flags | 17, 0, 0, 0, 0)
call('clone3', 435, 0, 0)
for name, (family, kind, protocol) in ${JSON.stringify(Object.entries(FAMILIES))}:
    call('socket ' + name, 198 if arm else 41, family, kind, protocol)
call('socketpair AF_TIPC', 199 if arm else 53, 30, 1, 0, 0)
call('socket AF_VSOCK with high bits', 198 if arm else 41, (1 << 32) | 40, 1, 0)
`);

let results: Record<string, number>;
beforeAll(async () => {
  const { stdout } = await run(ATTACK);
  const lines = stdout.trim().split('\n');
  results = Object.fromEntries(lines.map((line) => [line.split('=')[0] ?? '', Number(line.split('=')[1])]));
});

describe('attack 14, incident kernel-families: from inside, the kernel refuses', () => {
  it.each(Object.keys(NUMBERS))('%s', (name) => expect(results[name]).toBe(EPERM));
  it.each(Object.keys(CLONE_FLAGS))('clone into %s', (name) => expect(results[`clone ${name}`]).toBe(EPERM));
  it.each(Object.keys(FAMILIES))('a socket of %s', (name) => expect(results[`socket ${name}`]).toBe(EPERM));
  it('socketpair of other families, and families hidden behind high bits', () => {
    expect(results['socketpair AF_TIPC']).toBe(EPERM);
    expect(results['socket AF_VSOCK with high bits']).toBe(EPERM);
  });
  it('clone3 as if it did not exist', () => expect(results.clone3).toBe(ENOSYS));

  it('32-bit and x32 system calls, by killing the process', async () => {
    const { stdout } = await run(`uname -m\n${python(X32)}\necho "x32 $?"\n${python(INT80)}\necho "int80 $?"`);
    if (!stdout.startsWith('x86_64')) return;
    expect(stdout).toMatch(/^x32 159/m);
    // A kernel without a gate for 32-bit calls ends the process itself, with SIGSEGV, also where they are allowed.
    const allowed = await runSealed(new Docker(), { script: python(INT80) });
    expect(stdout).toMatch(allowed.out.includes('got through') ? /^int80 159/m : /^int80 139/m);
    expect(stdout).not.toContain('got through');
  });
});

const X32 = `
import ctypes, os
if ctypes.CDLL(None).syscall(ctypes.c_long(0x40000000 + 39)) > 0: print('got through')`;

/** Machine code for getpid by the 32-bit gate: mov eax, 20; int 0x80; ret. */
const INT80 = `
import ctypes, mmap
page = mmap.mmap(-1, 4096, prot=7)
page.write(bytes([0xb8, 20, 0, 0, 0, 0xcd, 0x80, 0xc3]))
code = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(page)))
if code() > 0: print('got through')`;

describe('ordinary programs still work:', () => {
  const WORK: [name: string, script: string, says: RegExp][] = [
    ['node with workers, timers and files', NODE_WORK(), /^node ok 4$/m],
    ['a server and a client over IPv4, IPv6 and unix sockets', NODE_NET(), /^net ok$/m],
    ['npm', 'npm init -y >/dev/null && npm pkg set scripts.t="echo npm-$((6*7))" && npm run -s t', /^npm-42$/m],
    [
      'git with commits, packs and worktrees',
      'git init -q r && cd r && git config user.email a@b && git config user.name a && echo x > x && git add . && ' +
        'git commit -qm x && git gc -q && git worktree add -q ../w && git clone -q . ../c && git -C ../c log --format=%s',
      /^x$/m,
    ],
    ['python with threads, processes, sockets and memory maps', PYTHON_WORK(), /^python ok$/m],
    ['Codex', '/opt/halo/agents/codex/bin/codex --version', /^codex/m],
    ['shells with pipes, jobs and here-documents', "sh -c 'seq 1 1000 | sort -n | tail -1 & wait'", /^1000$/m],
    ['telling one’s own interfaces', `node -p 'Object.keys(require("os").networkInterfaces()).join()'`, /^lo$/m],
  ];
  it.each(WORK)('%s', async (_name, script, says) => {
    const { exit, stdout, stderr } = await run(script);
    expect(`${stdout}${stderr}`).toMatch(says);
    expect(exit.exitCode).toBe(0);
  });
});

function NODE_WORK(): string {
  return `cat > w.mjs <<'END'
import { Worker, isMainThread, parentPort } from 'node:worker_threads';
import { spawnSync } from 'node:child_process';
import { promises as fs, watch } from 'node:fs';
if (!isMainThread) parentPort.postMessage(1);
else {
  const done = await Promise.all([1, 2, 3, 4].map(() => new Promise((ok) => new Worker(new URL(import.meta.url)).on('message', ok))));
  watch('.').close();
  await fs.cp('w.mjs', 'copy.mjs');
  await fs.rm('copy.mjs');
  if (spawnSync('node', ['-e', 'process.exit(7)']).status !== 7) process.exit(1);
  console.log('node ok', done.length);
}
END
node w.mjs`;
}

function NODE_NET(): string {
  return `cat > n.mjs <<'END'
import { createServer, connect } from 'node:net';
for (const address of [{ host: '127.0.0.1', port: 7001 }, { host: '::', port: 7002 }, { path: '/tmp/s.sock' }]) {
  const server = createServer((socket) => socket.end('hi'));
  await new Promise((ok) => server.listen(address, ok));
  await new Promise((ok, no) => connect(address.path ?? address.port).on('data', ok).on('error', no));
  server.close();
}
console.log('net ok');
END
node n.mjs`;
}

function PYTHON_WORK(): string {
  return `cat > p.py <<'END'
import threading, multiprocessing, socket, mmap, tempfile, subprocess, asyncio
if __name__ == '__main__':
    t = threading.Thread(target=lambda: None); t.start(); t.join()
    with multiprocessing.Pool(2) as pool: assert pool.map(abs, [-1, -2]) == [1, 2]
    a, b = socket.socketpair(); a.send(b'x'); assert b.recv(1) == b'x'
    socket.socket(socket.AF_INET, socket.SOCK_DGRAM).bind(('127.0.0.1', 0))
    with tempfile.TemporaryFile() as f:
        f.truncate(4096); mmap.mmap(f.fileno(), 4096).close()
    assert subprocess.run(['true']).returncode == 0
    asyncio.run(asyncio.sleep(0))
    print('python ok')
END
python3 p.py`;
}
