import { createHash } from 'node:crypto';
import { chmod, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Config, Transport } from '../../config/config.ts';
import { HaloError } from '../../core/failure/errors.ts';
import type { Snapshot } from '../../core/snapshot/snapshot.ts';
import { addToView } from '../../git/mirror/base-view.ts';
import { addRefsToView, type WorkspaceRefs } from '../../git/mirror/workspace-refs.ts';
import { mirrorPath } from '../../git/mirror/mirror.ts';
import { runProgram } from '../../git/process/git.ts';
import { candidatePath, createScratch, removeScratch, viewPath } from '../../git/repository/scratch-repo.ts';
import { closeAll, deferred } from '../../lib/async.ts';
import { failpoint } from '../../lib/failpoint.ts';
import { defined } from '../../lib/guards.ts';
import type { IsolationReport } from '../../sandbox/isolation-check/judge-isolation.ts';
import { makeOutputPipe } from '../../sandbox/output-pipe.ts';
import {
  AGENT_HOME,
  type Mount,
  type OutputPipe,
  type OverlayVolume,
  type Sandbox,
  type SandboxLabels,
  type SandboxSpec,
} from '../../sandbox/sandbox.ts';
import type { StoredSnapshot } from '../../store/snapshot-files.ts';
import { openObjects } from '../objects/open-objects.ts';
import { makeRoom, trimForAttempt } from '../snapshot/trim-snapshots.ts';
import type { ChannelKind, WorkerContext } from '../worker-context.ts';
import { NO_REPOSITORIES, type MountedRepositories } from '../workspace/mounted-repositories.ts';
import { CANDIDATE, OUTPUT_PIPE, VIEW } from '../workspace/sandbox-paths.ts';
import type { AttemptIdentity } from './attempt-identity.ts';

/** The maximum number of pseudo-terminals of a sandbox. A machine has 3072 for all sandboxes by default. */
const MAX_PTYS = 64;

interface ResourceOptions {
  config: Config;
  /** The name of the repository's mirror. */
  mirror: string;
  /** What its workspaces show in addition to commits. */
  refs: WorkspaceRefs;
}

interface Opened {
  transport: Transport;
  channel: ChannelKind;
  pipesOutput: boolean;
  user: number;
  mirror: string;
  mirrorDir: string;
  scratchDir: string;
  accountMounts: Mount[];
  isolation: IsolationReport;
  refs: WorkspaceRefs;
}

/** What an attempt holds on the host and in the container engine until it closes. */
export class AttemptResources {
  readonly transport: Transport;
  readonly channel: ChannelKind;
  /** The user and group id inside its sandboxes, unique among concurrent attempts. */
  readonly user: number;
  /** The name of the repository's mirror. */
  readonly mirror: string;
  readonly mirrorDir: string;
  readonly scratchDir: string;
  readonly candidateDir: string;
  /** Entries for the user in /etc/passwd and /etc/group; empty if nothing can be mounted. */
  readonly accountMounts: readonly Mount[];
  /** The snapshots that workspaces of the attempt began with, and that it has not made itself. */
  readonly layers: (StoredSnapshot & { record: Snapshot })[] = [];
  /** The keys of the snapshots of data with which its services began. */
  readonly dataKeys = new Set<string>();
  private readonly worker: WorkerContext;
  private readonly identity: AttemptIdentity;
  private readonly limits: Config['limits'];
  private readonly isolation: IsolationReport;
  /** The part of the mirror that its sandboxes may see. */
  readonly viewDir: string;
  private readonly refs: WorkspaceRefs;
  private refsAdded: Promise<void> | undefined;
  private readonly mounted = deferred<MountedRepositories>();
  private isExposed = false;
  private readonly closing = new AbortController();
  private readonly pipesOutput: boolean;
  private pipes = 0;
  private readonly closers: (() => unknown)[];
  private isClosed = false;

  /** Makes room on the engine's disk and creates the scratch repositories; no sandbox runs yet. The caller must close the result. */
  static async open(
    worker: WorkerContext,
    identity: AttemptIdentity,
    options: ResourceOptions,
  ): Promise<AttemptResources> {
    const { config, mirror, refs } = options;
    await trimForAttempt(worker, makeRoom);
    const mirrorDir = mirrorPath(worker.home, mirror);
    const [scratchDir, transport, channel, pipesOutput, isolation, inUse] = await Promise.all([
      createScratch({ mirrorDir, attemptId: identity.id }),
      worker.transport(config),
      worker.channel(config),
      worker.pipesOutput(config),
      worker.checkIsolation(config),
      worker.engine.usersInUse(),
      // Cached for mountAccounts: the first call starts a sandbox.
      worker.transport(config).then((found) => (found === 'mount' ? worker.accounts(config.image) : undefined)),
    ]);
    // The files of a session belong to the user of the attempt that wrote them.
    const ofStory =
      config.agentOptions.sessionMs === undefined ? identity.id : `${identity.runId}-${identity.storyKey}`;
    const { user, release } = allocateUserId(ofStory, inUse);
    const closers: (() => unknown)[] = [() => removeScratch(scratchDir), release];
    try {
      const accounts = { image: config.image, user, dir: scratchDir, names: worker.services.names(config) };
      const accountMounts = transport === 'mount' ? await mountAccounts(worker, accounts) : [];
      const opened = {
        transport,
        channel,
        pipesOutput,
        user,
        mirror,
        mirrorDir,
        scratchDir,
        accountMounts,
        isolation,
        refs,
      };
      return new AttemptResources({ worker, identity, limits: config.limits, opened, closers });
    } catch (error) {
      await closeAll(closers);
      throw error;
    }
  }

  private constructor(parts: {
    worker: WorkerContext;
    identity: AttemptIdentity;
    limits: Config['limits'];
    opened: Opened;
    closers: (() => unknown)[];
  }) {
    const { transport, channel, user, mirror, mirrorDir, scratchDir, accountMounts, isolation } = parts.opened;
    this.worker = parts.worker;
    this.identity = parts.identity;
    this.limits = parts.limits;
    this.closers = parts.closers;
    this.transport = transport;
    this.channel = channel;
    this.user = user;
    this.mirror = mirror;
    this.mirrorDir = mirrorDir;
    this.scratchDir = scratchDir;
    this.accountMounts = accountMounts;
    this.isolation = isolation;
    this.refs = parts.opened.refs;
    this.pipesOutput = parts.opened.pipesOutput;
    this.candidateDir = candidatePath(scratchDir);
    this.viewDir = viewPath(scratchDir);
    if (transport === 'mount') this.mounted.resolve(mountRepositories(this.viewDir, this.candidateDir));
  }

  /**
   * The repositories that are mounted read-only into every sandbox of the attempt. Where folders of the host cannot be
   * mounted, it resolves after the first commit is exposed, and throws like `openObjects`.
   */
  repositories(): Promise<MountedRepositories> {
    return this.mounted.promise;
  }

  /** Makes a commit of the mirror, with everything it reaches, visible to the candidate repository and the sandboxes. */
  async exposeCommit(commit: string): Promise<void> {
    const { viewDir, mirrorDir, refs } = this;
    this.refsAdded ??= addRefsToView(viewDir, mirrorDir, refs);
    await Promise.all([addToView(viewDir, { mirrorDir, commit }), this.refsAdded]);
    if (this.transport === 'mount' || this.isExposed) return;
    this.isExposed = true;
    const { worker, limits, identity, closing } = this;
    const holder = identity.id;
    this.mounted.resolve(openObjects({ worker, resources: this, limits, holder, commit, signal: closing.signal }));
  }

  labels(phase: string): SandboxLabels {
    const { runId, storyKey, attempt, epoch } = this.identity;
    return { run: runId, storyKey, attempt, phase, owner: { home: this.worker.homeId, epoch } };
  }

  /** The full name of a volume of the attempt. */
  volumeName(name: string): string {
    return `halo-${this.identity.id}-${name}`;
  }

  /** `user`: the owner of its files; default: that of the attempt. */
  async createVolume(name: string, user = this.user): Promise<void> {
    this.assertOpen();
    const { engine } = this.worker;
    const volume = this.volumeName(name);
    this.closers.push(() => engine.removeVolume(volume));
    await engine.createVolume(volume, this.labels(name), { user, ...this.quota });
  }

  /** Removes a volume that no sandbox uses anymore, earlier than the attempt would. */
  removeVolume(name: string): Promise<void> {
    return this.worker.engine.removeVolume(this.volumeName(name));
  }

  /** Creates a volume in memory for the sockets of a service. */
  async createSocketVolume(name: string, user: number): Promise<void> {
    this.assertOpen();
    const { engine } = this.worker;
    const volume = this.volumeName(name);
    this.closers.push(() => engine.removeVolume(volume));
    await engine.createSocketVolume(volume, this.labels(name), { user });
  }

  /** The commit of the host repository that its run began with, or that is checked. No story of the run made it. */
  get firstCommit(): string {
    return this.refs.commit;
  }

  /** The runtime of its sandboxes; undefined: the default of the engine. */
  get runtime(): string | undefined {
    return this.isolation.runtime;
  }

  /** Whether the engine enforces size limits of volumes. */
  get hasQuota(): boolean {
    return this.isolation.disk === 'quota';
  }

  /** The size limit of volumes, if the engine enforces one. */
  get quota(): { quotaBytes?: number } {
    return this.hasQuota ? { quotaBytes: this.limits.diskBytes } : {};
  }

  /** Creates an overlay volume on a snapshot. `user`: the owner of its files; default: that of the attempt. */
  async createOverlay(
    name: string,
    lower: string,
    { user = this.user, ...how }: Partial<Pick<OverlayVolume, 'user' | 'keepsMode'>> = {},
  ): Promise<void> {
    const upper = `${name}-upper`;
    await this.createVolume(upper, user);
    this.assertOpen();
    const { engine } = this.worker;
    const volume = this.volumeName(name);
    this.closers.push(() => engine.removeVolume(volume));
    const overlay = { name: volume, upper: this.volumeName(upper), lower, user, ...how };
    await engine.createOverlay(overlay, this.labels(name));
  }

  /** Creates a pipe for the output of one sandbox; undefined if sandboxes cannot use one. Throws DISK_FAILED. */
  async createOutputPipe(): Promise<OutputPipe | undefined> {
    this.assertOpen();
    if (!this.pipesOutput) return undefined;
    this.pipes += 1;
    const path = join(this.scratchDir, `output-${this.pipes}`);
    await makeOutputPipe(path, runProgram);
    return { path, inside: OUTPUT_PIPE };
  }

  async startSandbox(spec: SandboxSpec): Promise<Sandbox> {
    this.assertOpen();
    const { runtime, ptys } = this.isolation;
    const starting = this.worker.engine.start({
      ...spec,
      ...defined({ runtime }),
      limits: { ...spec.limits, ...(ptys ? { ptys: MAX_PTYS } : {}) },
    });
    this.closers.push(() =>
      starting.then(
        (sandbox) => sandbox.remove(),
        () => {},
      ),
    );
    return starting;
  }

  /** Registers an action to run when the attempt closes. Actions run in reverse order. */
  onClose(action: () => Promise<void>): void {
    if (this.isClosed) this.worker.inBackground(action());
    else this.closers.push(action);
  }

  /** Removes everything, in reverse order: sandboxes before the volumes and folders that they use. */
  async close(): Promise<void> {
    this.isClosed = true;
    this.closing.abort(this.over());
    this.mounted.reject(this.over());
    await failpoint('close.before');
    await closeAll(this.closers);
    await failpoint('close.after');
  }

  /** Background work of the attempt, such as its baseline, may not know yet that the attempt is over. */
  private assertOpen(): void {
    if (this.isClosed) throw this.over();
  }

  private over(): HaloError {
    return new HaloError('RUN_ABORTED', `The attempt ${this.identity.id} is over.`);
  }
}

function mountRepositories(viewDir: string, candidateDir: string): MountedRepositories {
  const mounts: Mount[] = [
    { kind: 'bind', source: viewDir, target: VIEW, readOnly: true },
    { kind: 'bind', source: candidateDir, target: CANDIDATE, readOnly: true },
  ];
  return { ...NO_REPOSITORIES, mounts };
}

/** User ids that no account of a common system has. */
const FIRST = 20_000;
const COUNT = 40_000;

/** The owner of each id in this process, and how many attempts of it hold the id. */
const taken = new Map<number, { owner: string; holders: number }>();

/**
 * Allocates a user id that no other attempt uses, because kernel quotas (processes, watches, keys) count per user across
 * containers. The search starts at a hash of `owner`, the id of the attempt, so that workers on different hosts rarely
 * collide. If the owner is a story, its attempts have the same id, also while the previous one is being closed. `inUse`: the
 * ids of existing sandboxes. The caller releases the id when the attempt closes.
 */
export function allocateUserId(owner: string, inUse: ReadonlySet<number>): { user: number; release: () => void } {
  const start = createHash('sha256').update(owner).digest().readUInt32BE(0) % COUNT;
  for (let step = 0; step < COUNT; step++) {
    const user = FIRST + ((start + step) % COUNT);
    const holder = taken.get(user);
    if (holder?.owner !== owner && (holder !== undefined || inUse.has(user))) continue;
    taken.set(user, { owner, holders: (holder?.holders ?? 0) + 1 });
    return { user, release: () => release(user) };
  }
  return { user: FIRST + start, release: () => undefined };
}

function release(user: number): void {
  const holder = taken.get(user);
  if (holder === undefined) return;
  if (holder.holders === 1) taken.delete(user);
  else holder.holders -= 1;
}

/** The user name in every sandbox. */
const NAME = 'agent';

/** What Docker Engine writes for a container without a network; the names of services follow. */
const HOSTS = `127.0.0.1\tlocalhost
::1\tlocalhost ip6-localhost ip6-loopback
`;

/**
 * Writes an image's /etc/passwd and /etc/group, plus an entry for the sandbox's user, and /etc/hosts into `dir` and returns
 * their mounts. Programs such as ssh, initdb and whoami refuse a user without an entry.
 */
async function mountAccounts(
  worker: Pick<WorkerContext, 'accounts'>,
  { image, user, dir, names }: { image: string; user: number; dir: string; names: readonly string[] },
): Promise<Mount[]> {
  const { passwd, group } = await worker.accounts(image);
  const files = [
    ['passwd', `${endLine(passwd)}${NAME}:x:${user}:${user}::${AGENT_HOME}:/bin/sh\n`],
    ['group', `${endLine(group)}${NAME}:x:${user}:\n`],
    ['hosts', `${HOSTS}${names.map((name) => `127.0.0.1\t${name}\n`).join('')}`],
  ] as const;
  return Promise.all(
    files.map(async ([name, text]): Promise<Mount> => {
      const source = join(dir, name);
      await writeFile(source, text);
      await chmod(source, 0o644);
      return { kind: 'bind', source, target: `/etc/${name}`, readOnly: true };
    }),
  );
}

function endLine(text: string): string {
  return text === '' || text.endsWith('\n') ? text : `${text}\n`;
}
