import { readFileSync } from 'node:fs';
import Docker from 'dockerode';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { tailSink, discardSink } from '../../../src/lib/streams.ts';
import { openDockerEngine } from '../../../src/sandbox/docker/engine.ts';

const engine = openDockerEngine();
const docker = new Docker();

async function run(script: string, { image = 'halo-sandbox', memoryBytes = 256 * 1024 * 1024 } = {}): Promise<string> {
  const sandbox = await engine.start({
    image,
    labels: { run: 'test', storyKey: 'seal', attempt: 1, phase: 'test' },
    user: 34_567,
    workdir: '/tmp',
    env: {},
    mounts: [],
    limits: { cpus: 1, memoryBytes, pids: 64 },
  });
  try {
    const stdout = tailSink(50_000);
    const limits = { wallMs: 60_000, idleMs: 60_000, outputBytes: 1_000_000 };
    await sandbox.run({ script, stdout: stdout.sink, stderr: discardSink(), ...limits });
    return stdout.text();
  } finally {
    await sandbox.remove();
  }
}

describe('attack 15, incident dns, incident engine-socket: from inside', () => {
  it('there is no name server, and the host’s is not visible', async () => {
    const host = readFileSync('/etc/resolv.conf', 'utf8');
    const addresses = [...host.matchAll(/^nameserver\s+(\S+)/gm)].map(([, address]) => address ?? '');
    const seen = await run(
      'cat /etc/resolv.conf /etc/hosts /proc/net/* 2>/dev/null; getent hosts example.com || echo none',
    );
    expect(seen).toContain('none');
    for (const address of addresses) expect(seen).not.toContain(address);
    expect(await run('wc -c < /etc/resolv.conf')).toBe('0\n');
  });

  it('there are no block devices, no engine socket, no writable part of /proc, /sys or the cgroups', async () => {
    const seen = await run(`
      find /dev -type b -o -path '*docker.sock' 2>/dev/null
      find / -xdev -name docker.sock 2>/dev/null
      for f in /proc/sys/kernel/core_pattern /proc/sysrq-trigger /proc/sys/vm/drop_caches /sys/kernel/uevent_helper \\
               /sys/fs/cgroup/release_agent /sys/fs/cgroup/*/release_agent /sys/fs/cgroup/cgroup.procs /proc/kcore; do
        [ -w "$f" ] && echo "writable $f"
      done
      mkdir /sys/fs/cgroup/x /sys/fs/cgroup/memory/x 2>/dev/null && echo 'made a cgroup'
      head -c 1 /proc/kcore 2>/dev/null | wc -c | grep -v '^0$'
      true`);
    expect(seen).toBe('');
  });

  it('only these places are writable, each with its limit', async () => {
    const places = await run(`find / -type d -writable -not -path '/proc/*' 2>/dev/null | sort`);
    expect(places.split('\n').filter(Boolean)).toEqual(['/dev/mqueue', '/dev/shm', '/home/agent', '/tmp']);
    const sizes = await run(
      `df -k --output=target,size,itotal /tmp /home/agent /run /dev/shm | tail -n +2 | tr -s ' '`,
    );
    expect(sizes).toContain('/tmp 524288 102400');
    expect(sizes).toContain('/home/agent 262144 102400');
    expect(sizes).toContain('/run 8192 1024');
    expect(sizes).toMatch(/\/dev\/shm 131072 /);
  });

  it('files cannot grow past the limit, nor the folders in memory past their sizes', async () => {
    const filled = 'dd if=/dev/zero of=/home/agent/x bs=1M count=300 2>/dev/null; du -m /home/agent/x | cut -f1';
    const touched = 'touch /run/x 2>/dev/null || echo refused';
    expect(await run(`ulimit -f; ulimit -n; ulimit -c; ${touched}; ${filled}`, { memoryBytes: 1024 ** 3 })).toBe(
      '2097152\n8192\n0\nrefused\n256\n',
    );
  });

  it('a setuid program gains no privileges', async () => {
    expect(
      await run('cp /bin/sh /tmp/sh; chmod u+s /tmp/sh; /tmp/sh -c "id -u"; su -c id </dev/null || echo refused'),
    ).toBe('34567\nrefused\n');
  });
});

describe('attack 15: an image that declares a VOLUME', () => {
  const images = ['halo-test-volume', 'halo-test-covered'];
  beforeAll(async () => {
    for (const [name, path] of [
      ['halo-test-volume', '/data'],
      ['halo-test-covered', '/workspace /tmp'],
    ] as const) {
      const container = await docker.createContainer({ Image: 'halo-sandbox' });
      await container.commit({ repo: name, changes: `VOLUME ${path}` });
      await container.remove();
    }
  });
  afterAll(async () => {
    for (const name of images) await docker.getImage(name).remove({ force: true });
  });

  it('is refused with the folder’s name, before anything runs', async () => {
    await expect(run('true', { image: 'halo-test-volume' })).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      message: 'The image "halo-test-volume" declares VOLUME /data.',
    });
    await expect(engine.imageId('halo-test-volume')).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
  });

  it('is accepted if a sandbox’s own mounts cover the folder', async () => {
    expect(await run('echo fine', { image: 'halo-test-covered' })).toBe('fine\n');
  });
});
