import { HaloError, quotedText } from '../../core/failure/errors.ts';
import type { Restored } from '../../core/review/restored-paths.ts';
import { streamCommitPack } from '../../git/mirror/send-commit.ts';
import { discardSink, tailSink } from '../../lib/streams.ts';
import { HALO_IMAGE } from '../../sandbox/docker/image/image-recipe.ts';
import type { Mount, OutputPipe, Sandbox, SandboxSpec } from '../../sandbox/sandbox.ts';
import type { SandboxContext } from '../attempt/open-attempt.ts';
import { attachChannel, mountChannel, type Channel } from '../network/channel.ts';
import { checkoutFromPack, checkoutScript, type Checkout } from './checkout-script.ts';
import { runInHelper, startHelper } from './helper-sandbox.ts';
import { openRestorer, type Restorer } from './restore-tree.ts';
import { SNAPSHOT, WORKSPACE } from './sandbox-paths.ts';

/** A command that will run in a workspace: what its sandbox needs at creation. */
export interface Step {
  phase: string;
  env: Record<string, string>;
  /** Volumes in addition to the workspace. */
  mounts?: readonly Mount[];
  /** Opens its network access. Without it, the sandbox has no network. */
  openEgress?: () => Promise<StepEgress>;
  /** Its command cannot change the tree. */
  readOnly?: true;
  /** Its output is large, and goes through a pipe if possible. */
  pipesOutput?: true;
  /** It is a gate: changes of earlier commands to the tree are undone first. */
  judges?: true;
}

/** The network access of a sandbox. */
export interface StepEgress {
  channel: Channel;
  /** Variables that configure programs to use it; the user's own variables take precedence. */
  env: Record<string, string>;
  /** Shell lines for the same purpose, run before the command. */
  script: string;
}

export interface StartedStep {
  sandbox: Sandbox;
  egress: StepEgress | undefined;
  outputPipe: OutputPipe | undefined;
  /** Changes that were undone before it. */
  restored?: Restored | undefined;
}

/** The volume of a workspace. */
interface Disk {
  volume: string;
  create(): Promise<void>;
}

/**
 * A tree in a volume and the sandboxes that run one command each in it. The next sandbox is always started in advance.
 * Volume and sandboxes are removed when the attempt closes its resources.
 */
export class Workspace {
  /** The name of the volume. */
  readonly volume: string;
  /** The volume of the snapshot that it begins with. */
  readonly layerVolume: string | undefined;
  private readonly context: SandboxContext;
  private readonly name: string;
  private readonly steps: readonly Step[];
  private readonly created: Promise<void>;
  /** Whether the volume or a sandbox could not be prepared; then `checkOut` or `takeNext` throws. */
  hasFailed = false;
  private taken = 0;
  private ahead: Promise<StartedStep> | undefined;
  private restore: Restorer | undefined;

  /**
   * Creates the volume and starts the first step's sandbox. With a `layer` in the context, the workspace begins with the
   * files of a snapshot. `disk`: another volume than one of the attempt.
   */
  constructor(context: SandboxContext, name: string, steps: readonly Step[], disk: Disk = ownDisk(context, name)) {
    this.context = context;
    this.name = name;
    this.steps = steps;
    this.volume = disk.volume;
    this.layerVolume = context.layer?.volume;
    this.created = disk.create();
    this.created.catch(() => (this.hasFailed = true)); // observed by `checkOut`; this avoids an unhandled rejection
    this.ahead = this.startNext();
  }

  /** Fills the volume. Call it once, before the first `takeNext`. */
  async checkOut(commit: string, gitDir: string, sources: readonly string[]): Promise<void> {
    const { context, volume, ahead } = this;
    const { config, resources } = context;
    const checkout = { commit, gitDir, sources };
    // The engine would create a missing volume for the restorer's sandbox, without a limit or a snapshot.
    await this.created;
    if (gitDir === resources.mirrorDir) await resources.exposeCommit(commit);
    // Before the first step nothing can have changed the tree.
    if (this.steps.slice(1).some(({ judges }) => judges)) this.restore = openRestorer(context, volume, checkout);
    // If its image is halo's, the first step's sandbox does the checkout, which saves a container.
    const writes = this.steps[0]?.readOnly !== true;
    if (ahead !== undefined && writes && resources.transport === 'mount' && config.image === HALO_IMAGE) {
      await (await ahead).sandbox.prepare(checkoutScript(commit, sources)).catch(rethrowAsGitError);
      return;
    }
    await checkOutInHelper(context, volume, checkout);
  }

  /** Returns the sandbox of the next step; the previous step must have ended. Throws POLICY_VIOLATION like a `Restorer`. */
  async takeNext(): Promise<StartedStep> {
    const [step, current] = [this.steps[this.taken], this.ahead];
    if (current === undefined) throw new HaloError('INTERNAL', `The workspace ${this.name} has no further step.`);
    this.taken += 1;
    this.ahead = this.startNext();
    const restored = step?.judges && this.taken > 1 ? await this.restore?.restore() : undefined;
    return { ...(await current), restored };
  }

  private startNext(): Promise<StartedStep> | undefined {
    const step = this.steps[this.taken];
    if (step === undefined) return undefined;
    const started = this.start(step);
    started.catch(() => (this.hasFailed = true)); // observed by `takeNext`; this avoids an unhandled rejection
    return started;
  }

  private async start(step: Step): Promise<StartedStep> {
    const { context, volume } = this;
    const { resources } = context;
    await this.created;
    // Also if the other one fails.
    const opening = step.openEgress?.().then((opened) => {
      resources.onClose(() => opened.channel.close());
      return opened;
    });
    const [egress, outputPipe] = await Promise.all([opening, step.pipesOutput && resources.createOutputPipe()]);
    const sandbox = await resources.startSandbox(describeSandbox(context, step, { volume, egress, outputPipe }));
    if (egress !== undefined) await attachChannel(context, sandbox, egress.channel);
    return { sandbox, egress, outputPipe };
  }
}

function ownDisk(context: SandboxContext, name: string): Disk {
  const { resources, layer } = context;
  const volume = resources.volumeName(name);
  if (layer === undefined) return { volume, create: () => resources.createVolume(name) };
  if (layer.mode === 'overlay') return { volume, create: () => resources.createOverlay(name, layer.volume) };
  return {
    volume,
    create: async () => {
      await resources.createVolume(name);
      await copySnapshot(context, { from: layer.volume, to: volume });
    },
  };
}

function describeSandbox(
  { config, resources }: SandboxContext,
  step: Step,
  { volume, egress, outputPipe }: { volume: string } & Pick<StartedStep, 'egress' | 'outputPipe'>,
): SandboxSpec {
  return {
    image: config.image,
    labels: resources.labels(step.phase),
    user: resources.user,
    workdir: WORKSPACE,
    env: { ...egress?.env, ...config.env, ...step.env },
    mounts: [
      ...resources.repositoryMounts,
      ...resources.accountMounts,
      {
        kind: 'volume',
        source: volume,
        target: WORKSPACE,
        readOnly: step.readOnly === true,
        copyUp: config.image === HALO_IMAGE,
      },
      ...(step.mounts ?? []),
      ...mountChannel(resources.channel, egress?.channel),
      ...(outputPipe === undefined ? [] : [mountPipe(outputPipe)]),
    ],
    limits: config.limits,
    ...(resources.transport === 'stream' ? { hostsFile: 'engine' } : {}),
  };
}

function mountPipe({ path, inside }: OutputPipe): Mount {
  return { kind: 'bind', source: path, target: inside, readOnly: true };
}

/** Checks out in a separate sandbox: the user's image may lack git, and a pack on stdin leaves no stdin for the command. */
async function checkOutInHelper(
  context: SandboxContext,
  volume: string,
  { commit, gitDir, sources }: Checkout,
): Promise<void> {
  const { resources, signal } = context;
  const helper = { phase: 'checkout', volume, readOnly: false, repositories: true, workdir: WORKSPACE };
  const sandbox = await startHelper(context, helper);
  const stderr = tailSink(2_000);
  const mounted = resources.transport === 'mount';
  const exit = await runInHelper(context, sandbox, {
    script: mounted ? `set -e\n${checkoutScript(commit, sources)}` : checkoutFromPack(commit),
    ...(mounted ? {} : { stdin: await streamCommitPack({ gitDir, commit, signal }) }),
    stdout: discardSink(),
    stderr: stderr.sink,
    outputBytes: 1_000_000,
  });
  if (exit.exitCode !== 0 && exit.ended !== 'aborted') {
    throw new HaloError('GIT_FAILED', `The workspace could not be checked out: ${stderr.text().trim()}`);
  }
}

/** Rethrows git errors in the sandbox as GIT_FAILED: they are not faults of the engine; perhaps the mirror is damaged. */
function rethrowAsGitError(error: unknown): never {
  const isGits = error instanceof HaloError && /\b(?:fatal|error): /.test(quotedText(error) ?? '');
  throw isGits ? new HaloError('GIT_FAILED', error.message, { cause: error }) : error;
}

/** The top folder keeps its mode. Set-group-id is for the group of snapshots alone. */
const SCRIPT = [
  `cd ${SNAPSHOT}`,
  `find . -mindepth 1 -maxdepth 1 -exec cp -a --no-preserve=ownership -t ${WORKSPACE} {} +`,
  `find ${WORKSPACE} -mindepth 1 -type d -perm -2000 -exec chmod g-s {} +`,
].join(' && ');
const MAX_OUTPUT = 1_000_000;

/** Copies the files of a snapshot into an empty volume, for the user of the attempt. Throws DOCKER_FAILED, DISK_FAILED. */
async function copySnapshot(
  { config, resources, signal }: SandboxContext,
  { from, to }: { from: string; to: string },
): Promise<void> {
  const sandbox = await resources.startSandbox({
    image: HALO_IMAGE,
    labels: resources.labels('copy'),
    user: resources.user,
    workdir: '/tmp',
    env: {},
    mounts: [
      { kind: 'volume', source: from, target: SNAPSHOT, readOnly: true, copyUp: false },
      { kind: 'volume', source: to, target: WORKSPACE, readOnly: false, copyUp: true },
    ],
    limits: config.limits,
  });
  const { wallMs, idleMs } = config.limits;
  const stderr = tailSink(2_000);
  const exit = await sandbox.run({
    script: SCRIPT,
    stdout: discardSink(),
    stderr: stderr.sink,
    wallMs,
    idleMs,
    outputBytes: MAX_OUTPUT,
    signal,
  });
  await sandbox.remove();
  if (exit.exitCode === 0 || exit.ended === 'aborted') return;
  const why = stderr.text().trim().split('\n').at(-1) ?? exit.ended;
  throw new HaloError('DOCKER_FAILED', `A snapshot could not be copied into the workspace: ${why}.`, {
    hint: 'Check the disk of the engine, and [limits] disk.',
  });
}
