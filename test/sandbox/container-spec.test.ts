import { describe, expect, it } from 'vitest';
import { buildContainer } from '../../src/sandbox/docker/container-spec.ts';
import type { Mount, SandboxSpec } from '../../src/sandbox/sandbox.ts';

const spec: SandboxSpec = {
  image: 'sha256:1234',
  labels: { run: 'r', storyKey: 's', attempt: 2, phase: 'gate' },
  user: 34_567,
  workdir: '/workspace',
  env: { TZ: 'UTC', HOME: '/root' },
  mounts: [
    { kind: 'bind', source: '/sockets/a', target: '/run/halo', readOnly: true },
    { kind: 'volume', source: 'work', target: '/workspace', readOnly: false, copyUp: true },
  ],
  limits: { cpus: 2, memoryBytes: 4 * 1024 ** 3, pids: 512 },
};

describe('the container specification of a sandbox', () => {
  it('has exactly these fields', () => {
    expect(buildContainer(spec, '{"profile":1}')).toEqual({
      Image: 'sha256:1234',
      Entrypoint: ['/opt/halo/bin/wait'],
      Cmd: [],
      User: '34567:34567',
      WorkingDir: '/workspace',
      Env: ['TZ=UTC', 'HOME=/home/agent'],
      Labels: {
        'dev.halo': 'sandbox',
        'dev.halo.run': 'r',
        'dev.halo.story': 's',
        'dev.halo.attempt': '2',
        'dev.halo.phase': 'gate',
        'dev.halo.user': '34567',
      },
      Tty: false,
      AttachStdin: true,
      AttachStdout: true,
      AttachStderr: true,
      OpenStdin: true,
      StdinOnce: true,
      Volumes: {},
      Healthcheck: { Test: ['NONE'] },
      NetworkDisabled: true,
      HostConfig: {
        NetworkMode: 'none',
        Privileged: false,
        CapAdd: [],
        CapDrop: ['ALL'],
        SecurityOpt: ['no-new-privileges:true', 'seccomp={"profile":1}'],
        ReadonlyRootfs: true,
        Init: true,
        PidsLimit: 512,
        Memory: 4_294_967_296,
        MemorySwap: 4_294_967_296,
        OomKillDisable: false,
        OomScoreAdj: 500,
        NanoCpus: 2_000_000_000,
        ShmSize: 134_217_728,
        IpcMode: 'private',
        PidMode: '',
        UTSMode: '',
        UsernsMode: '',
        CgroupnsMode: 'private',
        Ulimits: [
          { Name: 'nofile', Soft: 8192, Hard: 8192 },
          { Name: 'core', Soft: 0, Hard: 0 },
          { Name: 'fsize', Soft: 1_073_741_824, Hard: 1_073_741_824 },
        ],
        Tmpfs: {
          '/tmp': 'rw,exec,nosuid,nodev,size=512m,nr_inodes=100k,mode=1777',
          '/home/agent': 'rw,exec,nosuid,nodev,size=256m,nr_inodes=100k,mode=0700,uid=34567,gid=34567',
          '/run': 'rw,noexec,nosuid,nodev,size=8m,nr_inodes=1k',
        },
        Mounts: [
          {
            Type: 'bind',
            Source: '/sockets/a',
            Target: '/run/halo',
            ReadOnly: true,
            BindOptions: { Propagation: 'rprivate' },
          },
          {
            Type: 'volume',
            Source: 'work',
            Target: '/workspace',
            ReadOnly: false,
            VolumeOptions: { NoCopy: false, Labels: {}, DriverConfig: { Name: 'local', Options: {} } },
          },
          { Type: 'bind', Source: '/dev/null', Target: '/etc/resolv.conf', ReadOnly: true },
        ],
        Binds: [],
        VolumesFrom: [],
        Devices: [],
        DeviceRequests: [],
        GroupAdd: ['19999'],
        Links: [],
        ExtraHosts: [],
        PortBindings: {},
        PublishAllPorts: false,
        Sysctls: {},
        RestartPolicy: { Name: 'no' },
        AutoRemove: false,
        LogConfig: { Type: 'none', Config: {} },
      },
    });
  });

  it.each([
    ['env', { env: { PRIVILEGED: 'true', HOME: '/', DOCKER_HOST: 'unix:///var/run/docker.sock' } }],
    ['limits', { limits: { cpus: 1e9, memoryBytes: 1e15, pids: -1, files: 1e9, fileBytes: 1e15, diskBytes: 1e15 } }],
    ['image', { image: 'evil --privileged' }],
    ['runtime', { runtime: 'runc' }],
    ['user', { user: 20_000 }],
    ['labels', { labels: { run: '../..', storyKey: 'privileged', attempt: -1, phase: 'host' } }],
    ['mounts', { mounts: [] }],
  ] satisfies [string, Partial<SandboxSpec>][])('stays isolated with any configured %s', (_what, odd) => {
    const { HostConfig: host = {}, User } = buildContainer({ ...spec, ...odd }, '{}');
    const sealed = buildContainer(spec, '{}').HostConfig ?? {};
    const free = ['Mounts', 'PidsLimit', 'Memory', 'MemorySwap', 'NanoCpus', 'Ulimits', 'Runtime', 'Tmpfs'];
    const rest = (config: object) => Object.fromEntries(Object.entries(config).filter(([key]) => !free.includes(key)));
    expect(rest(host)).toEqual(rest(sealed));
    expect(Object.keys(host).filter((key) => !(key in sealed))).toEqual('runtime' in odd ? ['Runtime'] : []);
    expect(User).toMatch(/^[1-9]\d+:[1-9]\d+$/);
    expect(host.MemorySwap).toBe(host.Memory);
  });

  it.each([
    '/var/run/docker.sock',
    '/run/docker.sock',
    '/run/podman/podman.sock',
    '/',
    '/proc',
    '/sys/fs/cgroup',
    '/dev',
    '/etc',
    '/var/run',
    '/run',
    '/tmp/../var/run/docker.sock',
    'relative',
  ])('refuses to mount %s', (source) => {
    const mounts = [{ kind: 'bind', source, target: '/mnt', readOnly: true }] as const;
    expect(() => buildContainer({ ...spec, mounts: [...mounts] }, '{}')).toThrow('must not be mounted');
  });

  it('refuses a writable bind mount, and a volume named like a path', () => {
    const bind = { kind: 'bind', source: '/halo/x', target: '/mnt', readOnly: false } as unknown as Mount;
    expect(buildContainer({ ...spec, mounts: [bind] }, '{}').HostConfig?.Mounts?.[0]).toMatchObject({ ReadOnly: true });
    const volume: Mount = { kind: 'volume', source: '/var/run', target: '/mnt', readOnly: true, copyUp: false };
    expect(() => buildContainer({ ...spec, mounts: [volume] }, '{}')).toThrow('must not be mounted');
  });

  it('leaves masked paths, AppArmor and SELinux to the engine, whose lists are newer', () => {
    const { HostConfig } = buildContainer(spec, '{}');
    expect(Object.keys(HostConfig ?? {})).not.toEqual(
      expect.arrayContaining([expect.stringMatching(/MaskedPaths|ReadonlyPaths/)]),
    );
    expect((HostConfig?.SecurityOpt as string[]).some((option) => /apparmor|label|unconfined/.test(option))).toBe(
      false,
    );
  });

  it('limits terminals by a separate file system, which is removed with the container and found by a sweep', () => {
    const { HostConfig } = buildContainer({ ...spec, limits: { ...spec.limits, ptys: 64 } }, '{}');
    expect(HostConfig?.Mounts?.at(-1)).toEqual({
      Type: 'volume',
      Source: '',
      Target: '/dev/pts',
      ReadOnly: false,
      VolumeOptions: {
        NoCopy: true,
        Labels: expect.objectContaining({ 'dev.halo.run': 'r' }) as object,
        DriverConfig: {
          Name: 'local',
          Options: {
            type: 'devpts',
            device: 'devpts',
            o: 'newinstance,max=64,mode=0620,ptmxmode=0666,gid=5,nosuid,noexec',
          },
        },
      },
    });
  });

  it('names a runtime only if one is configured', () => {
    expect(buildContainer(spec, '{}').HostConfig).not.toHaveProperty('Runtime');
    expect(buildContainer({ ...spec, runtime: 'runsc' }, '{}').HostConfig?.Runtime).toBe('runsc');
  });

  it.each(['/proc/self/fd/7', '/workspace/../proc', '/run/halo', 'relative', ''])('refuses to start in %j', (workdir) =>
    expect(() => buildContainer({ ...spec, workdir }, '{}')).toThrow('must not start in'),
  );
});
