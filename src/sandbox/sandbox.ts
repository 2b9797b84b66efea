import type { Duplex, Readable, Writable } from 'node:stream';

/** What a sandbox belongs to; written on containers and volumes at birth, so that a sweep can find them. */
export interface SandboxLabels {
  /** The HALO_HOME and the fencing epoch it was made for; a sweep only ever touches what has them. */
  owner?: { home: string; epoch: number };
  run: string;
  storyKey: string;
  attempt: number;
  phase: string;
}

export type Mount =
  | { kind: 'bind'; source: string; target: string; readOnly: true }
  /** `copyUp`: an empty volume takes over content and mode of the image's folder at `target`. */
  | { kind: 'volume'; source: string; target: string; readOnly: boolean; copyUp: boolean };

export interface SandboxLimits {
  cpus: number;
  /** Without swap. */
  memoryBytes: number;
  pids: number;
  /** Most open files of one process; 8192 when absent. */
  files?: number;
  /** Most terminals (ptys) at a time; when absent, as many as the machine has for all containers. */
  ptys?: number;
  /** Largest file; 1 GiB when absent. */
  fileBytes?: number;
  /** Most that the volume it can write to may hold; not watched when absent. */
  diskBytes?: number;
  /** What must stay free on the engine's disk for it to start and to go on. */
  freeDiskBytes?: number;
}

export interface SandboxSpec {
  /** Image name or id; it must be there already. */
  image: string;
  labels: SandboxLabels;
  /** Numeric user and group id inside. */
  user: number;
  workdir: string;
  env: Record<string, string>;
  mounts: Mount[];
  limits: SandboxLimits;
  /** Name of the engine's runtime, its default when absent. */
  runtime?: string;
}

/** The one command of a sandbox. */
export interface Command {
  /** A POSIX shell script; it runs as the sandbox's main process (under an init). */
  script: string;
  /** What the script can read on stdin; nothing when absent. */
  stdin?: string | Readable;
  /** Both are written with back-pressure and ended when the output ends. */
  stdout: Writable;
  stderr: Writable;
  /** Most time in all, in ms. */
  wallMs: number;
  /** Most time without output, in ms. */
  idleMs: number;
  /** Most bytes of output, both streams together; more kills the sandbox. */
  outputBytes: number;
  signal?: AbortSignal;
}

/** How a sandbox ended. `exitCode` is the engine's word, undefined when the sandbox was killed by us. */
export interface SandboxExit {
  ended: 'exited' | 'wall' | 'idle' | 'output' | 'aborted' | 'disk' | 'disk-floor';
  exitCode: number | undefined;
  /** `maybe`: killed by signal 9 with memory near its limit, but the engine does not say so. */
  outOfMemory: 'no' | 'maybe' | 'yes';
  /** It was seen that the kernel refused it a process; false also where that cannot be seen. */
  forksRefused: boolean;
  ms: number;
}

/** One sealed container. It is started ahead and waits; `run` may be called once. */
export interface Sandbox {
  readonly id: string;
  /**
   * Runs a script of halo's own ahead of the command, e.g. a checkout. Answers with the end of its stdout. The script must
   * know by itself where `stdin` ends, as a reader of packs does. Throws DOCKER_FAILED with what it complained of.
   */
  prepare(script: string, stdin?: Readable): Promise<string>;
  run(command: Command): Promise<SandboxExit>;
  /**
   * Has 127.0.0.1:port in the sandbox lead to `accept`, over the stdio of the one program that is ever executed in a
   * sandbox; resolves when the port listens. Throws DOCKER_FAILED when it does not come to that.
   */
  listen(door: Door): Promise<Listener>;
  /** Kills and removes it with its anonymous volumes; safe at any time and more than once. */
  remove(): Promise<void>;
}

/** Where connections go that a program in a sandbox makes. */
export interface Door {
  port: number;
  /** Of each connection; it looks like a socket to Node's HTTP server. */
  accept: (connection: Duplex) => void;
  /** Told when all connections broke off: `again` when it is tried anew, `gone` when it was tried too often. */
  onLoss: (why: string, then: 'again' | 'gone') => void;
}

export interface Listener {
  /** Breaks off every connection, and makes no new ones; safe to call again. */
  close(): void;
}

/** How the size of a workspace is limited: by the engine, by watching its disk, or by measuring it now and then. */
export type DiskRung = 'quota' | 'watch' | 'sample';

/** What the engine says of itself, for people. */
export interface EngineFacts {
  /** Its own id, which changes with its data. */
  id: string;
  version: string;
  /** The newest version of its API that the engine speaks, e.g. `1.41`. */
  apiVersion: string;
  /** Of the kernel. */
  kernel: string;
  /** Version of its default runtime's program, as far as it tells. */
  runc: string | undefined;
  /** `apparmor`, `selinux`, `seccomp`, `rootless`, `userns`, … */
  security: string[];
  cgroupVersion: string;
  storageDriver: string;
  /** Where it keeps images and volumes, on its own machine. */
  rootDir: string;
  runtimes: string[];
  /** How many files it may have open at a time; undefined where that cannot be seen from here. */
  openFiles: number | undefined;
  /** Complaints of the engine, such as limits it cannot enforce. */
  warnings: string[];
}

/** A container or volume of an attempt, found by its labels. */
export interface Belonging {
  kind: 'container' | 'volume';
  name: string;
  run: string;
  epoch: number;
}

/** The door to the container engine. All methods may be called concurrently. */
export interface SandboxEngine {
  /**
   * Creates and starts a sandbox that waits for its command. Throws IMAGE_MISSING, CONFIG_INVALID for an image that
   * cannot be sealed, DISK_FAILED when the engine's disk is full, DOCKER_UNAVAILABLE, DOCKER_FAILED.
   */
  start(spec: SandboxSpec): Promise<Sandbox>;
  facts(): Promise<EngineFacts>;
  /** `user` is whose files will be in it; `quotaBytes` only where the engine has quotas for volumes. */
  createVolume(name: string, labels: SandboxLabels, options: { user: number; quotaBytes?: number }): Promise<void>;
  /** The version of a program among halo's own tools, such as `codex`; undefined when it is none of them. */
  toolVersion(program: string): Promise<string | undefined>;
  /** How it can keep a volume to a size. */
  diskRung(): Promise<DiskRung>;
  /** User ids of all sandboxes that the engine has. */
  usersInUse(): Promise<Set<number>>;
  /** Whatever is in the volume, and however deep; safe when it is not there. */
  removeVolume(name: string): Promise<void>;
  /** Everything on the engine that attempts of this HALO_HOME made and that is still there, containers first. */
  belongings(home: string): Promise<Belonging[]>;
  /** Kills and removes it; safe when it is gone. */
  discard(belonging: Pick<Belonging, 'kind' | 'name'>): Promise<void>;
  /** Removes sandboxes of no run (throwaway.ts) whose process died before it could. */
  discardThrowaways(): Promise<void>;
  /** The id of a local image, or undefined. Throws CONFIG_INVALID for one that no sandbox may use. */
  imageId(name: string): Promise<string | undefined>;
  /** What an image has as /etc/passwd and /etc/group. Throws IMAGE_MISSING, DOCKER_FAILED. */
  accounts(image: string): Promise<{ passwd: string; group: string }>;
  /** Whether containers see the files of this host folder when it is mounted. */
  canMount(dir: string): Promise<boolean>;
  /** Whether they also reach who listens at a unix socket in it; `runtime` as in `SandboxSpec`. */
  canReach(dir: string, runtime: string | undefined): Promise<boolean>;
  /** Whether they reach halo over the stdio of a bridge. */
  canBridge(): Promise<boolean>;
}
