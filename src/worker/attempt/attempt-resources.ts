import { join } from 'node:path';
import type { Snapshot } from '../../core/snapshot/snapshot.ts';
import type { StoredSnapshot } from '../../store/snapshot-files.ts';
import type { Config, Transport } from '../../config/config.ts';
import { HaloError } from '../../core/failure/errors.ts';
import { addToView } from '../../git/mirror/base-view.ts';
import { mirrorPath } from '../../git/mirror/mirror.ts';
import { candidatePath, createScratch, removeScratch, viewPath } from '../../git/repository/scratch-repo.ts';
import { closeAll } from '../../lib/async.ts';
import { failpoint } from '../../lib/failpoint.ts';
import type { IsolationReport } from '../../sandbox/isolation-check/judge-isolation.ts';
import { makeOutputPipe } from '../../sandbox/output-pipe.ts';
import type { Mount, OutputPipe, Sandbox, SandboxLabels, SandboxSpec } from '../../sandbox/sandbox.ts';
import { makeRoom, trimForAttempt } from '../snapshot/trim-snapshots.ts';
import type { ChannelKind, WorkerContext } from '../worker-context.ts';
import { mountAccounts } from '../workspace/mount-accounts.ts';
import { CANDIDATE, OUTPUT_PIPE, VIEW } from '../workspace/sandbox-paths.ts';
import { allocateUserId } from '../workspace/user-id.ts';
import type { AttemptIdentity } from './attempt-identity.ts';
import { defined } from '../../lib/guards.ts';

/** The maximum number of pseudo-terminals of a sandbox. A machine has 3072 for all sandboxes by default. */
const MAX_PTYS = 64;

export interface ResourceOptions {
  config: Config;
  /** The name of the repository's mirror. */
  mirror: string;
  /** How earlier sandboxes of the run reached their gateways; undefined: not decided yet. */
  channel: ChannelKind | undefined;
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
  /** Read-only repositories that are mounted into every sandbox of the attempt. */
  readonly repositoryMounts: readonly Mount[];
  /** Entries for the user in /etc/passwd and /etc/group; empty if nothing can be mounted. */
  readonly accountMounts: readonly Mount[];
  /** The snapshots that workspaces of the attempt began with, and that it has not made itself. */
  readonly layers: (StoredSnapshot & { record: Snapshot })[] = [];
  private readonly worker: WorkerContext;
  private readonly identity: AttemptIdentity;
  private readonly limits: Config['limits'];
  private readonly isolation: IsolationReport;
  private readonly viewDir: string;
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
    const { config, mirror } = options;
    await trimForAttempt(worker, makeRoom);
    const mirrorDir = mirrorPath(worker.home, mirror);
    const [scratchDir, transport, channel, pipesOutput, isolation, inUse] = await Promise.all([
      createScratch({ mirrorDir, attemptId: identity.id }),
      worker.transport(config),
      options.channel ?? worker.channel(config),
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
      const accounts = { image: config.image, user, dir: scratchDir };
      const accountMounts = transport === 'mount' ? await mountAccounts(worker, accounts) : [];
      const opened = { transport, channel, pipesOutput, user, mirror, mirrorDir, scratchDir, accountMounts, isolation };
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
    this.pipesOutput = parts.opened.pipesOutput;
    this.candidateDir = candidatePath(scratchDir);
    this.viewDir = viewPath(scratchDir);
    this.repositoryMounts = transport === 'mount' ? mountRepositories(this.viewDir, this.candidateDir) : [];
  }

  /** Makes a commit of the mirror, with everything it reaches, visible to the candidate repository and the sandboxes. */
  async exposeCommit(commit: string): Promise<void> {
    await addToView(this.viewDir, { mirrorDir: this.mirrorDir, commit });
  }

  labels(phase: string): SandboxLabels {
    const { runId, storyKey, attempt, epoch } = this.identity;
    return { run: runId, storyKey, attempt, phase, owner: { home: this.worker.homeId, epoch } };
  }

  /** The full name of a volume of the attempt. */
  volumeName(name: string): string {
    return `halo-${this.identity.id}-${name}`;
  }

  async createVolume(name: string): Promise<void> {
    this.assertOpen();
    const { engine } = this.worker;
    const volume = this.volumeName(name);
    this.closers.push(() => engine.removeVolume(volume));
    await engine.createVolume(volume, this.labels(name), { user: this.user, ...this.quota });
  }

  /** The name of the volume with the session of the story's agent. Another user could not read its files. */
  get sessionVolume(): string {
    const { runId, storyKey } = this.identity;
    return `halo-session-${runId}-${storyKey}-u${this.user}`;
  }

  /** Whether the engine enforces size limits of volumes. */
  get hasQuota(): boolean {
    return this.isolation.disk === 'quota';
  }

  /** The size limit of volumes, if the engine enforces one. */
  get quota(): { quotaBytes?: number } {
    return this.hasQuota ? { quotaBytes: this.limits.diskBytes } : {};
  }

  /** Creates an overlay volume on a snapshot. */
  async createOverlay(name: string, lower: string): Promise<void> {
    const upper = `${name}-upper`;
    await this.createVolume(upper);
    this.assertOpen();
    const { engine } = this.worker;
    const volume = this.volumeName(name);
    this.closers.push(() => engine.removeVolume(volume));
    const overlay = { name: volume, upper: this.volumeName(upper), lower, user: this.user };
    await engine.createOverlay(overlay, this.labels(name));
  }

  /** Creates a pipe for the output of one sandbox; undefined if sandboxes cannot use one. Throws DISK_FAILED. */
  async createOutputPipe(): Promise<OutputPipe | undefined> {
    this.assertOpen();
    if (!this.pipesOutput) return undefined;
    this.pipes += 1;
    const path = join(this.scratchDir, `output-${this.pipes}`);
    await makeOutputPipe(path);
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
    await failpoint('close.before');
    await closeAll(this.closers);
    await failpoint('close.after');
  }

  /** Background work of the attempt, such as its baseline, may not know yet that the attempt is over. */
  private assertOpen(): void {
    if (this.isClosed) throw new HaloError('RUN_ABORTED', `The attempt ${this.identity.id} is over.`);
  }
}

function mountRepositories(viewDir: string, candidateDir: string): Mount[] {
  return [
    { kind: 'bind', source: viewDir, target: VIEW, readOnly: true },
    { kind: 'bind', source: candidateDir, target: CANDIDATE, readOnly: true },
  ];
}
