import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { describe, expect } from 'vitest';
import { tempDir } from '../../support/temp-dir.ts';
import { runIn, SPEC, test } from './engine-fixture.ts';

const CONNECT = `python3 -c "
import errno, socket
server = socket.create_server(('127.0.0.1', 0))
socket.create_connection(server.getsockname()).close()
print('loopback')
try: socket.create_connection(('192.0.2.1', 80), 5)
except OSError as error: print(errno.errorcode[error.errno])"`;

/** Prints how many terminals and processes it can have. */
const FILL = `exec python3 -c "
import os, time
def count(more):
  had = []
  try:
    while len(had) < 200: had.append(more())
  except OSError: pass
  return len(had)
def fork():
  child = os.fork()
  if child == 0: time.sleep(60)
  return child
print('terminals', count(os.openpty))
print('processes', count(fork), flush=True)
time.sleep(3)"`;

export function describeSandboxes(): void {
  describe.concurrent('a sandbox', () => {
    test('runs one command with its stdin, its environment and its own exit code', async ({ start }) => {
      const script = 'cat; echo "$GREETING $HOME $PWD"; echo oops >&2; exit 7';
      const { exit, stdout, stderr } = await runIn(await start(), script, { stdin: 'prompt\n' });
      expect(stdout).toBe('prompt\nhello /home/agent /tmp\n');
      expect(stderr).toBe('oops\n');
      expect(exit).toMatchObject({ ended: 'exited', exitCode: 7, outOfMemory: 'no', forksRefused: false });
    });

    test('keeps the files that it prepared before its command, but none of the output', async ({ start }) => {
      const sandbox = await start();
      const packed = Readable.from(['pa', 'cked']);
      expect(await sandbox.prepare('head -c 6 > /tmp/prepared; echo noise >&2; echo done', packed)).toBe('done\n');
      expect(await sandbox.prepare('printf " twice " >> /tmp/prepared')).toBe('');
      const { stdout } = await runIn(sandbox, 'cat /tmp/prepared -', { stdin: 'and stdin' });
      expect(stdout).toBe('packed twice and stdin');
    });

    test('reports why it could not be prepared', async ({ start }) => {
      const [broken, fed] = await Promise.all([start(), start()]);
      await expect(broken.prepare('cat /no/such/file')).rejects.toMatchObject({
        code: 'DOCKER_FAILED',
        message: expect.stringMatching(/could not be prepared.*No such file/) as string,
      });
      const failing = Readable.from(
        (function* () {
          yield 'begin';
          throw new Error('git died');
        })(),
      );
      await expect(fed.prepare('cat > /tmp/packed', failing)).rejects.toThrow('git died');
    });

    test('has no capability, no writable root and no way to gain privileges', async ({ run }) => {
      const { stdout } = await run(
        `grep -E '^(CapEff|CapBnd|NoNewPrivs|Seccomp):' /proc/self/status | tr -d '\\t'; id; touch /x 2>&1; unshare -U true 2>&1`,
      );
      expect(stdout.split('\n')).toEqual([
        'CapEff:0000000000000000',
        'CapBnd:0000000000000000',
        'NoNewPrivs:1',
        'Seccomp:2',
        'uid=34567 gid=34567 groups=34567,19999',
        "touch: cannot touch '/x': Read-only file system",
        'unshare: unshare failed: Operation not permitted',
        '',
      ]);
    });

    test('has no network but loopback, no resolver, and a name of loopback if it is to', async ({ run }) => {
      const { stdout } = await run(`ls /sys/class/net; cat /etc/resolv.conf; ${CONNECT}`);
      expect(stdout).toBe('lo\nloopback\nENETUNREACH\n');
      const named = await run("awk '/localhost/ { print $1 }' /etc/hosts | sort", { hostsFile: 'engine' });
      expect(named.stdout).toBe('127.0.0.1\n::1\n');
    });

    test('has the variables of its image and its own, a name, and folders in memory of a fixed size', async ({
      run,
    }) => {
      const { stdout } = await run(
        `env | cut -d= -f1 | sort | xargs; [ "$HOSTNAME" = "$(hostname)" ] && echo named; umask
         df -B1 --output=size,target /tmp /home/agent /run /dev/shm | tail -n +2 | awk '{ print $1, $2 }'
         cp /bin/true /tmp/t && /tmp/t && echo executed; cp /bin/true "$HOME/t" && "$HOME/t" && echo executed
         echo > /run/file; cp /bin/true /dev/shm/t; /dev/shm/t`,
      );
      expect(stdout.trim().split('\n')).toEqual([
        'GREETING HOME HOSTNAME PATH PWD',
        'named',
        '0022',
        '536870912 /tmp',
        '268435456 /home/agent',
        '8388608 /run',
        '134217728 /dev/shm',
        'executed',
        'executed',
      ]);
    });

    test('sees a folder of this machine, and cannot change it', async ({ engine, run }) => {
      const dir = tempDir('halo-bind');
      chmodSync(dir, 0o777);
      writeFileSync(join(dir, 'file'), 'from the host\n');
      const bind = { kind: 'bind', source: dir, target: '/halo/deep/folder', readOnly: true } as const;
      const { stdout } = await run('cat /halo/deep/folder/file; echo > /halo/deep/folder/file', { user: 65_534, mounts: [bind] }); // prettier-ignore
      expect(stdout).toBe('from the host\n');
      expect(await run('ls -d /halo 2>/dev/null')).toMatchObject({ stdout: '' });
      const missing = { ...bind, source: join(dir, 'missing') };
      await expect(engine.start({ ...SPEC, mounts: [missing] })).rejects.toMatchObject({ code: 'DOCKER_FAILED' });
    });

    test('sees the processes of its own, and ends with its main process and all others (hazard 20)', async ({
      run,
    }) => {
      const { exit, stdout } = await run('sleep 300 & setsid sleep 300 & kill -9 1; ls -d /proc/[0-9]* | wc -l');
      expect(Number(stdout)).toBeLessThan(10);
      expect(exit).toMatchObject({ ended: 'exited', exitCode: 0 });
    });

    test('cannot have more processes, files, terminals and bytes in a file than it may', async ({ run }) => {
      const limits = { ...SPEC.limits, pids: 32, files: 100, ptys: 2, fileBytes: 1_000_000 };
      const { exit, stdout } = await run(`head -c 2000000 /dev/zero > big; stat -c %s big; ulimit -n; ${FILL}`, {
        limits,
      });
      // An init and Python itself are processes, too.
      expect(stdout).toBe('1000000\n100\nterminals 2\nprocesses 30\n');
      expect(exit).toMatchObject({ exitCode: 0, forksRefused: true });
    });
  });
}
