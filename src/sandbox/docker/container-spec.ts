import type { ContainerCreateOptions, HostConfig, MountSettings } from 'dockerode';
import type { Mount, SandboxLabels, SandboxSpec } from '../sandbox.ts';

export const LABEL = 'dev.halo';
export const AGENT_HOME = '/home/agent';

/**
 * The engine's description of a sandbox: no network, no capabilities, read-only root, private namespaces,
 * limits without swap. It waits for its one command on stdin. The only place where these are decided;
 * a spec can choose what is inside, never how well it is sealed.
 */
export function buildContainer(spec: SandboxSpec): ContainerCreateOptions {
  return {
    Image: spec.image,
    Entrypoint: ['/opt/halo/bin/wait'],
    Cmd: [],
    User: `${spec.user}:${spec.user}`,
    WorkingDir: spec.workdir,
    Env: Object.entries({ ...spec.env, HOME: AGENT_HOME }).map(([name, value]) => `${name}=${value}`),
    Labels: containerLabels(spec.labels),
    Tty: false,
    AttachStdin: true,
    AttachStdout: true,
    AttachStderr: true,
    OpenStdin: true,
    StdinOnce: true,
    Healthcheck: { Test: ['NONE'] },
    HostConfig: hostConfig(spec),
  };
}

/** The types of the client lag behind the engine here. */
type SealedHostConfig = HostConfig & { CgroupnsMode: 'private' };

function hostConfig({ limits, user, mounts }: SandboxSpec): SealedHostConfig {
  return {
    NetworkMode: 'none',
    Privileged: false,
    CapDrop: ['ALL'],
    SecurityOpt: ['no-new-privileges:true'],
    ReadonlyRootfs: true,
    Init: true,
    PidsLimit: limits.pids,
    Memory: limits.memoryBytes,
    MemorySwap: limits.memoryBytes,
    NanoCpus: Math.round(limits.cpus * 1e9),
    OomScoreAdj: 500,
    IpcMode: 'private',
    CgroupnsMode: 'private',
    Ulimits: [
      { Name: 'nofile', Soft: 8192, Hard: 8192 },
      { Name: 'core', Soft: 0, Hard: 0 },
    ],
    Tmpfs: {
      '/tmp': 'rw,exec,nosuid,nodev,size=512m,mode=1777',
      [AGENT_HOME]: `rw,exec,nosuid,nodev,size=256m,mode=0700,uid=${user},gid=${user}`,
      '/run': 'rw,noexec,nosuid,nodev,size=8m',
    },
    Mounts: mounts.map(buildMount),
    RestartPolicy: { Name: 'no' },
    AutoRemove: false,
    // Output is read from the attached stream and kept by halo; a second copy would only fill the disk.
    LogConfig: { Type: 'none', Config: {} },
  };
}

/** Labels by which a sweep finds what belongs to a run. */
export function containerLabels(labels: SandboxLabels): Record<string, string> {
  return {
    [LABEL]: 'sandbox',
    [`${LABEL}.run`]: labels.run,
    [`${LABEL}.story`]: labels.storyKey,
    [`${LABEL}.attempt`]: String(labels.attempt),
    [`${LABEL}.phase`]: labels.phase,
  };
}

function buildMount(mount: Mount): MountSettings {
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
