import { readFile } from 'node:fs/promises';
import { join, normalize } from 'node:path';
import type { ContainerCreateOptions, HostConfig, MountSettings } from 'dockerode';
import { HaloError } from '../../core/failure/errors.ts';
import { defined } from '../../lib/guards.ts';
import { AGENT_HOME, SNAPSHOT_GROUP, type Mount, type SandboxLabels, type SandboxSpec } from '../sandbox.ts';
import { DOCKER_DIR } from './image/image-recipe.ts';

export const LABEL = 'dev.halo';
/** Label with the user id of a sandbox. */
export const USER_LABEL = `${LABEL}.user`;

/** Label with the time at which a volume that outlasts its attempt expires. */
export const EXPIRY_LABEL = `${LABEL}.expires`;

/** The allowed working directories: an image or a repository must not choose one such as `/proc/self/fd/7`. */
const WORKDIRS = ['/', '/tmp', '/workspace'];

const MIB = 1024 * 1024;
export const OPEN_FILES = 8_192;
export const FILE_BYTES = 1024 * MIB;

/**
 * Builds the container options of a sandbox: no network, no capabilities, halo's own list of system calls, read-only
 * root, private namespaces, limits without swap. The container waits for its one command on stdin. Only this function
 * decides the isolation; a spec only selects the content. `seccomp` is the JSON text of the profile.
 */
export function buildContainer(spec: SandboxSpec, seccomp: string): ContainerCreateOptions {
  if (!WORKDIRS.includes(spec.workdir)) {
    throw new HaloError('INTERNAL', `A sandbox must not start in ${JSON.stringify(spec.workdir)}.`);
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
    // A container has a network namespace with only loopback either way. With this, the engine does not set it up itself,
    // which takes longer than the start of the container, and writes no /etc/hosts.
    NetworkDisabled: spec.hostsFile !== 'engine',
    HostConfig: hostConfig(spec, seccomp),
  };
}

/** The types of dockerode lack this option. */
type SealedHostConfig = HostConfig & { CgroupnsMode: 'private' };

function hostConfig(spec: SandboxSpec, seccomp: string): SealedHostConfig {
  const { limits, labels, user, mounts, runtime, hostNames = [], writesRun } = spec;
  const fileBytes = limits.fileBytes ?? FILE_BYTES;
  const openFiles = limits.files ?? OPEN_FILES;
  return {
    ...NOTHING_OF_THE_HOST,
    CapDrop: ['ALL'],
    // The engine expects the text of the profile, not its path. AppArmor and SELinux stay active.
    SecurityOpt: ['no-new-privileges:true', `seccomp=${seccomp}`],
    ReadonlyRootfs: true,
    Init: true,
    ...defined({ Runtime: runtime }),
    ExtraHosts: hostNames.map((name) => `${name}:127.0.0.1`),
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
      '/run': `rw,noexec,nosuid,nodev,size=8m,nr_inodes=1k${writesRun ? `,mode=0755,uid=${user},gid=${user}` : ''}`,
      ...Object.fromEntries(mounts.flatMap((mount) => (mount.kind === 'memory' ? [memoryOf(mount, user)] : []))),
    },
    Mounts: [
      ...mounts.flatMap((mount) => (mount.kind === 'memory' ? [] : [buildMount(mount)])),
      NO_RESOLVER,
      ...(limits.ptys === undefined ? [] : [limitTerminals(limits.ptys, labels)]),
    ],
    RestartPolicy: { Name: 'no' },
    AutoRemove: false,
    // halo reads output from the attached stream and stores it; a log of the engine would only fill the disk.
    LogConfig: { Type: 'none', Config: {} },
  };
}

/** Explicit, although most of it is the default: the engine's defaults may change, but sandboxes must not. */
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
  GroupAdd: [String(SNAPSHOT_GROUP)],
  Links: [],
  PortBindings: {},
  PublishAllPorts: false,
  Sysctls: {},
} satisfies HostConfig;

/** Hides the host's resolver addresses, which the engine copies even without a network. /dev/null exists on every host. */
const NO_RESOLVER: MountSettings = { Type: 'bind', Source: '/dev/null', Target: '/etc/resolv.conf', ReadOnly: true };

/**
 * The kernel counts the terminals of all containers together, but a devpts instance has its own limit. The engine mounts
 * one as an anonymous volume, which is removed with the container.
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

/** Labels by which a sweep finds the resources of a run. */
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

/** Never mounted into a sandbox: sockets such as the engine's, and system folders of the host. */
const NEVER = /^\/(?:$|(?:proc|sys|dev|etc|boot)(?:\/|$)|(?:var\/)?run(?:$|\/(?:docker|podman|containerd)))|\.sock$/;

function memoryOf({ target, sizeBytes }: Mount & { kind: 'memory' }, user: number): [string, string] {
  return [target, `rw,noexec,nosuid,nodev,size=${sizeBytes},mode=0700,uid=${user},gid=${user}`];
}

function buildMount(mount: Exclude<Mount, { kind: 'memory' }>): MountSettings {
  if (mount.kind === 'agent') throw new HaloError('INTERNAL', 'The volume of a program has not been looked up.');
  const { kind, source } = mount;
  const fits =
    kind === 'bind' ? source.startsWith('/') && !NEVER.test(normalize(source)) : /^(?:[\w][\w.-]*)?$/.test(source);
  if (!fits) throw new HaloError('INTERNAL', `${JSON.stringify(source)} must not be mounted into a sandbox.`);
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

const PROFILE = join(DOCKER_DIR, 'seccomp.json');

let profile: Promise<string> | undefined;

/**
 * Returns halo's seccomp profile as compact JSON text for the engine's API; read once per process. Throws INTERNAL when it
 * is missing: no sandbox may start without it.
 */
export function seccompProfile(): Promise<string> {
  profile ??= readProfile();
  profile.catch(() => (profile = undefined));
  return profile;
}

async function readProfile(): Promise<string> {
  try {
    return JSON.stringify(JSON.parse(await readFile(PROFILE, 'utf8')), (name, value: unknown) =>
      name === 'comment' ? undefined : value,
    );
  } catch (error) {
    throw new HaloError('INTERNAL', `The seccomp profile ${PROFILE} cannot be read.`, {
      hint: 'Reinstall halo: the file is missing or damaged.',
      cause: error,
    });
  }
}
