import type { Duplex, Readable, Writable } from 'node:stream';
import type { ProgramId } from '../core/agent-program.ts';

/**
 * Supplementary group of every sandbox. It owns the files of snapshots, so that each attempt's user may change its own
 * view of them.
 */
export const SNAPSHOT_GROUP = 19_999;

/** The home of the user in a sandbox, in memory. */
export const AGENT_HOME = '/home/agent';

/**
 * The owner, in place of a HALO_HOME, of what belongs to no run but to one process, such as a check. No worker's sweep of
 * attempts finds it; it is an orphan when its process has died.
 */
export const PROCESS_OWNED = 'verify';

/** The owner of a sandbox; set as labels when containers and volumes are created, so that a sweep can find them. */
export interface SandboxLabels {
  /** HALO_HOME and fencing epoch; a sweep only removes resources that have them. */
  owner?: { home: string; epoch: number };
  run: string;
  storyKey: string;
  attempt: number;
  phase: string;
}

export type Mount =
  | { kind: 'bind'; source: string; target: string; readOnly: true }
  /** `copyUp`: the engine copies content and mode of the image's folder at `target` into an empty volume. */
  /** Without a `source`, an empty one is removed with the sandbox. */
  /** `limitBytes`: its size limit, if it differs from that of the sandbox. */
  | { kind: 'volume'; source: string; target: string; readOnly: boolean; copyUp: boolean; limitBytes?: number }
  /** The program of an agent, of a version that the engine has an image of. Read-only. */
  | { kind: 'agent'; agent: ProgramId; version: string; target: string }
  /** An empty file system in memory that belongs to the user of the sandbox, whose memory it uses. */
  | { kind: 'memory'; target: string; sizeBytes: number };

export interface SandboxLimits {
  cpus: number;
  /** Without swap. */
  memoryBytes: number;
  pids: number;
  /** Maximum number of open files per process; default 8192. */
  files?: number;
  /** Maximum number of terminals (ptys); default: shared with all containers of the machine. */
  ptys?: number;
  /** Maximum file size; default 1 GiB. */
  fileBytes?: number;
  /** Maximum size of the writable volume; default: unlimited. */
  diskBytes?: number;
  /** Minimum free space of the engine's disk for the sandbox to start and to continue. */
  freeDiskBytes?: number;
}

export interface SandboxSpec {
  /** Image name or id; the image must exist locally. */
  image: string;
  labels: SandboxLabels;
  /** Numeric user and group id inside. */
  user: number;
  workdir: string;
  env: Record<string, string>;
  mounts: Mount[];
  limits: SandboxLimits;
  /** Name of the runtime; default: the engine's default. */
  runtime?: string;
  /** `engine`: the engine writes /etc/hosts, which delays the start. Default: the image's file or a mounted one. */
  hostsFile?: 'engine';
  /** With `hostsFile`: further names of 127.0.0.1. */
  hostNames?: readonly string[];
  /** Its programs may create files in /run. */
  writesRun?: true;
}

/** What an image says about the container that it is made for. */
export interface ImageFacts {
  id: string;
  /** As `imageContent`. */
  content: string;
  entrypoint: readonly string[];
  command: readonly string[];
  /** User name or id, and a group after a colon; '' for root. */
  user: string;
  workdir: string;
  /** The folders that its VOLUME declares, without those that every sandbox has in memory. */
  volumes: readonly string[];
  /** The name or number of the signal that stops it cleanly. */
  stopSignal: string;
}

/** The one command of a sandbox. */
export interface Command {
  /** A POSIX shell script; it runs as the sandbox's main process (under an init). */
  script: string;
  /** The stdin of the script; default: empty. */
  stdin?: string | Readable;
  /** Both are written with back-pressure and ended when the output ends. */
  stdout: Writable;
  stderr: Writable;
  /** Time limit, in ms. */
  wallMs: number;
  /** Maximum time without output, in ms. */
  idleMs: number;
  /** Maximum output of both streams together, in bytes; more kills the sandbox. */
  outputBytes: number;
  /** Through which stdout reaches halo; default: through the engine, which copies each byte several times. */
  outputPipe?: OutputPipe;
  signal?: AbortSignal;
}

/** A named pipe (output-pipe.ts) at `path` that is mounted into the sandbox at `inside`. */
export interface OutputPipe {
  path: string;
  inside: string;
}

/** How a sandbox ended. `exitCode` comes from the engine; undefined when halo killed the sandbox. */
export interface SandboxExit {
  ended: 'exited' | 'wall' | 'idle' | 'output' | 'aborted' | 'disk' | 'disk-floor';
  exitCode: number | undefined;
  /** `maybe`: killed by signal 9, without a report from the engine that memory was the reason. */
  outOfMemory: 'no' | 'maybe' | 'yes';
  /** True if the kernel was seen to refuse it a process; false also if that cannot be observed. */
  forksRefused: boolean;
  ms: number;
}

/** One isolated container. It is started in advance and waits; `run` may be called once. */
export interface Sandbox {
  readonly id: string;
  /**
   * Runs one of halo's scripts before the command, for example a checkout. Returns the end of its stdout. The script must
   * detect the end of `stdin` itself, as a pack reader does. Throws DOCKER_FAILED with its stderr.
   */
  prepare(script: string, stdin?: Readable): Promise<string>;
  run(command: Command): Promise<SandboxExit>;
  /**
   * Runs a shell script on a terminal in the sandbox, beside its command, until the script or the sandbox ends. Returns the
   * exit code; undefined if the sandbox ended first. Throws DOCKER_FAILED.
   */
  runOnTerminal(script: string, terminal: Terminal): Promise<number | undefined>;
  /**
   * Forwards connections to 127.0.0.1:port in the sandbox to `accept`, over the stdio of a program executed in it.
   * Resolves when the port listens. Throws DOCKER_FAILED when it does not.
   */
  listen(options: ListenOptions): Promise<Listener>;
  /** Kills and removes it with its anonymous volumes; safe to call at any time and repeatedly. */
  remove(): Promise<void>;
}

/** The terminal of a person. */
export interface Terminal {
  /** What the person types. */
  input: Readable;
  /** Receives what programs print, with escape sequences that may be hostile. */
  output: Writable;
  size(): { rows: number; columns: number };
  /** Calls `listener` when the size has changed. Returns a function that removes it. */
  onResize(listener: () => void): () => void;
}

/** Receives the connections that programs in a sandbox make to a port. */
export interface ListenOptions {
  port: number;
  /** Called for each connection; it works as a socket for Node's HTTP server. */
  accept: (connection: Duplex) => void;
  /** Called when all connections were lost: `again` if it reconnects, `gone` after too many tries. */
  onLoss: (why: string, then: 'again' | 'gone') => void;
}

export interface Listener {
  /** Closes all connections and accepts no new ones; safe to repeat. */
  close(): void;
}

/** How the size of a workspace is limited: by the engine's quota, by watching the disk, or by periodic measurement. */
export type DiskLimitMethod = 'quota' | 'watch' | 'sample';

/** Version and properties of the engine. */
export interface EngineInfo {
  /** Id of the engine, which changes with its data. */
  id: string;
  version: string;
  /** The newest API version that it supports, e.g. `1.41`. */
  apiVersion: string;
  /** Of its machine, as `process.arch` names it. */
  architecture: string;
  /** Kernel version. */
  kernel: string;
  /** Version of runc, if the engine reports it. */
  runc: string | undefined;
  /** `apparmor`, `selinux`, `seccomp`, `rootless`, `userns`, … */
  security: string[];
  cgroupVersion: string;
  storageDriver: string;
  /** The folder with images and volumes, on the engine's machine. */
  rootDir: string;
  runtimes: string[];
  /** How it is reached, and how its runtimes are defined, as a text to compare. */
  configuration: string;
  /** Warnings of the engine, such as limits that it cannot enforce. */
  warnings: string[];
}

/** A workspace volume on top of another volume, whose files it shows and never changes. */
export interface OverlayVolume {
  /** Its name; `upper`, `lower`: names of existing volumes. What is written goes to `upper`, which must be empty. */
  name: string;
  upper: string;
  lower: string;
  /** Owner of its top folder. */
  user: number;
  /** The top folder has the mode of that of `lower`; default: 755. */
  keepsMode?: true;
}

/** A container or volume of an attempt, identified by its labels. */
export interface LabelledResource {
  kind: 'container' | 'volume';
  name: string;
  run: string;
  storyKey: string;
  epoch: number;
  /** The phase of the attempt that created it. */
  phase: string;
  /** ISO 8601; only for volumes that outlast their attempt. */
  expiresAt?: string;
}

/** A volume that outlasts attempts: what setup installed, or objects of a repository. */
export interface KeptVolume {
  kind: 'snapshot' | 'objects';
  /** The id of the HALO_HOME. */
  home: string;
}

export interface VolumeOptions {
  user: number;
  quotaBytes?: number;
  /** ISO 8601: the volume outlasts its attempt, until then at most. */
  expiresAt?: string;
}

/** The container engine. All methods may be called concurrently. */
export interface SandboxEngine {
  /**
   * Creates and starts a sandbox that waits for its command. Throws IMAGE_MISSING, CONFIG_INVALID for an image that
   * cannot be isolated, such as one with a VOLUME that no mount covers, DISK_FAILED when the engine's disk is full, DOCKER_UNAVAILABLE, DOCKER_FAILED.
   */
  start(spec: SandboxSpec): Promise<Sandbox>;
  info(): Promise<EngineInfo>;
  /** Creates a volume owned by `user`; `quotaBytes` requires an engine with volume quotas. */
  createVolume(name: string, labels: SandboxLabels, options: VolumeOptions): Promise<void>;
  /** Creates a volume of `user` in memory for sockets between two sandboxes of an attempt. It is empty when neither runs. */
  createSocketVolume(name: string, labels: SandboxLabels, options: { user: number }): Promise<void>;
  /** Creates a volume that a HALO_HOME keeps, which no sweep of attempts removes. */
  createKeptVolume(name: string, kept: KeptVolume & { user: number; quotaBytes?: number }): Promise<void>;
  hasVolume(name: string): Promise<boolean>;
  /**
   * Whether it uses the folders of this machine. Otherwise, what this machine's files say about disks, processes and load
   * is not about the engine. Throws DOCKER_UNAVAILABLE.
   */
  isHere(): Promise<boolean>;
  /** Its limit of open files; undefined if it cannot be read, for example on another machine. */
  openFiles(): Promise<number | undefined>;
  /** Free space of the engine's disk, on another machine as measured in the last minutes; undefined if that fails. */
  freeBytes(): Promise<number | undefined>;
  /** The names of all volumes of a kind that a HALO_HOME keeps. */
  listKeptVolumes(kept: KeptVolume): Promise<string[]>;
  /** Creates an overlay volume. Throws DOCKER_FAILED, also when the engine cannot mount it. */
  createOverlay(overlay: OverlayVolume, labels: SandboxLabels): Promise<void>;
  /** Whether sandboxes can use overlay volumes: a probe writes and renames files of the lower volume. */
  canOverlay(): Promise<boolean>;
  /** Returns the version of one of halo's tools, such as `codex`; undefined for other programs. */
  toolVersion(program: string): Promise<string | undefined>;
  /** The versions of agents that it has images of, beside those in halo's image. */
  agentVersions(): Promise<{ id: ProgramId; version: string; bytes: number }[]>;
  /** Removes such a version; returns false, and removes nothing, if a sandbox uses it. Safe when it is gone. */
  removeAgentVersion(id: ProgramId, version: string): Promise<boolean>;
  /** Returns how the engine can limit the size of a volume. */
  diskLimitMethod(): Promise<DiskLimitMethod>;
  /** Returns the user ids of all sandboxes on the engine. */
  usersInUse(): Promise<Set<number>>;
  /** Removes a volume, whatever its contents; safe when it does not exist. */
  removeVolume(name: string): Promise<void>;
  /** Lists all containers and volumes that attempts of this HALO_HOME created; containers first. */
  listResources(home: string): Promise<LabelledResource[]>;
  /** Kills and removes it; safe when it is gone. */
  removeResource(belonging: Pick<LabelledResource, 'kind' | 'name'>): Promise<void>;
  /** Lists one-off sandboxes, and containers and volumes of checks, whose process has died; containers first. */
  listOrphans(): Promise<Pick<LabelledResource, 'kind' | 'name'>[]>;
  /** Returns the id of a local image, or undefined. Throws CONFIG_INVALID for one that sandboxes must not use. */
  imageId(name: string): Promise<string | undefined>;
  /** Returns a digest of what a local image contains, the same on all engines that have it, or undefined. Throws like `imageId`. */
  imageContent(name: string): Promise<string | undefined>;
  /** Describes a local image, also one with a VOLUME; undefined without one. */
  describeImage(name: string): Promise<ImageFacts | undefined>;
  /** Reads /etc/passwd and /etc/group of an image. Throws IMAGE_MISSING, DOCKER_FAILED. */
  accounts(image: string): Promise<{ passwd: string; group: string }>;
  /** Whether containers see the files of this host folder if it is mounted. */
  canMount(dir: string): Promise<boolean>;
  /** Whether containers can also connect to a unix socket, and write to a named pipe, in it; `runtime` as in `SandboxSpec`. */
  canReach(dir: string, runtime: string | undefined): Promise<{ socket: boolean; pipe: boolean }>;
  /** Whether containers can connect to halo through the stdio of a bridge. */
  canBridge(): Promise<boolean>;
  /** Ends the connections to the engine. Calls without an answer fail, and so do all later ones. */
  close(): void;
}
