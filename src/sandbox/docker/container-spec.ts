import { normalize } from 'node:path';
import type { ContainerCreateOptions, HostConfig, MountSettings } from 'dockerode';
import { HaloError } from '../../core/failure/errors.ts';
import type { Mount, SandboxLabels, SandboxSpec } from '../sandbox.ts';

export const LABEL = 'dev.halo';
/** Tells which user id a sandbox runs under. */
export const USER_LABEL = `${LABEL}.user`;
export const AGENT_HOME = '/home/agent';

/** Where a command may start: an image or a repository must not choose it, e.g. `/proc/self/fd/7`. */
const WORKDIRS = ['/', '/tmp', '/workspace'];

const MIB = 1024 * 1024;
const OPEN_FILES = 8_192;
const FILE_BYTES = 1024 * MIB;

/**
 * The engine's description of a sandbox: no network, no capabilities, halo's own list of system calls, read-only
 * root, private namespaces, limits without swap. It waits for its one command on stdin. The only place where these
 * are decided; a spec can choose what is inside, never how well it is sealed. `seccomp` is the profile's JSON text.
 */
export function buildContainer(spec: SandboxSpec, seccomp: string): ContainerCreateOptions {
  if (!WORKDIRS.includes(spec.workdir)) {
    throw new HaloError('INTERNAL', `a sandbox must not start in ${JSON.stringify(spec.workdir)}`);
  }
  return {
    Image: spec.image,
    Entrypoint: ['/opt/halo/bin/wait'],
    Cmd: [],
    User: `${spec.user}:${spec.user}`,
    WorkingDir: spec.workdir,
    Env: Object.entries({ ...spec.env, HOME: AGENT_HOME }).map(([name, value]) => `${name}=${value}`),
    Labels: containerLabels(spec.labels, spec.user),
    Tty: false,
    AttachStdin: true,
    AttachStdout: true,
    AttachStderr: true,
    OpenStdin: true,
    StdinOnce: true,
    Volumes: {},
    Healthcheck: { Test: ['NONE'] },
    HostConfig: hostConfig(spec, seccomp),
  };
}

/** The types of the client lag behind the engine here. */
type SealedHostConfig = HostConfig & { CgroupnsMode: 'private' };

function hostConfig({ limits, labels, user, mounts, runtime }: SandboxSpec, seccomp: string): SealedHostConfig {
  const fileBytes = limits.fileBytes ?? FILE_BYTES;
  const openFiles = limits.files ?? OPEN_FILES;
  return {
    ...NOTHING_OF_THE_HOST,
    CapDrop: ['ALL'],
    // The engine takes the profile's text, not its path. Its other opinions (AppArmor, SELinux) stay in force.
    SecurityOpt: ['no-new-privileges:true', `seccomp=${seccomp}`],
    ReadonlyRootfs: true,
    Init: true,
    ...(runtime === undefined ? {} : { Runtime: runtime }),
    PidsLimit: limits.pids,
    Memory: limits.memoryBytes,
    MemorySwap: limits.memoryBytes,
    OomKillDisable: false,
    OomScoreAdj: 500,
    NanoCpus: Math.round(limits.cpus * 1e9),
    ShmSize: 128 * MIB,
    IpcMode: 'private',
    CgroupnsMode: 'private',
    Ulimits: [
      { Name: 'nofile', Soft: openFiles, Hard: openFiles },
      { Name: 'core', Soft: 0, Hard: 0 },
      { Name: 'fsize', Soft: fileBytes, Hard: fileBytes },
    ],
    Tmpfs: {
      '/tmp': 'rw,exec,nosuid,nodev,size=512m,nr_inodes=100k,mode=1777',
      [AGENT_HOME]: `rw,exec,nosuid,nodev,size=256m,nr_inodes=100k,mode=0700,uid=${user},gid=${user}`,
      '/run': 'rw,noexec,nosuid,nodev,size=8m,nr_inodes=1k',
    },
    Mounts: [
      ...mounts.map(buildMount),
      NO_RESOLVER,
      ...(limits.ptys === undefined ? [] : [limitTerminals(limits.ptys, labels)]),
    ],
    RestartPolicy: { Name: 'no' },
    AutoRemove: false,
    // Output is read from the attached stream and kept by halo; a second copy would only fill the disk.
    LogConfig: { Type: 'none', Config: {} },
  };
}

/** Said although most of it is the default: a default of the engine may change, what a sandbox gets must not. */
const NOTHING_OF_THE_HOST = {
  NetworkMode: 'none',
  Privileged: false,
  CapAdd: [],
  PidMode: '',
  UTSMode: '',
  UsernsMode: '',
  Binds: [],
  VolumesFrom: [],
  Devices: [],
  DeviceRequests: [],
  GroupAdd: [],
  Links: [],
  ExtraHosts: [],
  PortBindings: {},
  PublishAllPorts: false,
  Sysctls: {},
} satisfies HostConfig;

/** Without a network the engine still copies the host's resolver addresses; every engine's machine has this empty file. */
const NO_RESOLVER: MountSettings = { Type: 'bind', Source: '/dev/null', Target: '/etc/resolv.conf', ReadOnly: true };

/**
 * The machine counts the terminals of all containers together. An instance of their file system has a limit of its own; the
 * engine mounts one as a volume without a name, which goes with the container.
 */
function limitTerminals(ptys: number, labels: SandboxLabels): MountSettings {
  const o = `newinstance,max=${ptys},mode=0620,ptmxmode=0666,gid=5,nosuid,noexec`;
  return {
    Type: 'volume',
    Source: '',
    Target: '/dev/pts',
    ReadOnly: false,
    VolumeOptions: {
      NoCopy: true,
      Labels: containerLabels(labels),
      DriverConfig: { Name: 'local', Options: { type: 'devpts', device: 'devpts', o } },
    },
  };
}

/** Labels by which a sweep finds what belongs to a run. */
export function containerLabels(labels: SandboxLabels, user?: number): Record<string, string> {
  return {
    ...(user === undefined ? {} : { [USER_LABEL]: String(user) }),
    [LABEL]: 'sandbox',
    [`${LABEL}.run`]: labels.run,
    [`${LABEL}.story`]: labels.storyKey,
    [`${LABEL}.attempt`]: String(labels.attempt),
    [`${LABEL}.phase`]: labels.phase,
    ...(labels.owner === undefined
      ? {}
      : { [`${LABEL}.home`]: labels.owner.home, [`${LABEL}.epoch`]: String(labels.owner.epoch) }),
  };
}

/** What no sandbox has any business with, whoever asks for it: the engine's door, and the host's own folders. */
const NEVER = /^\/(?:$|(?:proc|sys|dev|etc|boot)(?:\/|$)|(?:var\/)?run(?:$|\/(?:docker|podman|containerd)))|\.sock$/;

function buildMount(mount: Mount): MountSettings {
  const { kind, source } = mount;
  const fits =
    kind === 'bind' ? source.startsWith('/') && !NEVER.test(normalize(source)) : /^[\w][\w.-]*$/.test(source);
  if (!fits) throw new HaloError('INTERNAL', `${JSON.stringify(source)} must not be mounted into a sandbox`);
  if (mount.kind === 'bind') {
    return {
      Type: 'bind',
      Source: mount.source,
      Target: mount.target,
      ReadOnly: true,
      BindOptions: { Propagation: 'rprivate' },
    };
  }
  return {
    Type: 'volume',
    Source: mount.source,
    Target: mount.target,
    ReadOnly: mount.readOnly,
    VolumeOptions: { NoCopy: !mount.copyUp, Labels: {}, DriverConfig: { Name: 'local', Options: {} } },
  };
}
