import { HaloError, quotedText } from '../../core/failure/errors.ts';
import type { Restored } from '../../core/review/restored-paths.ts';
import { deferred, ignore } from '../../lib/async.ts';
import { discardSink, tailSink } from '../../lib/streams.ts';
import { HALO_IMAGE } from '../../sandbox/docker/image/image-recipe.ts';
import type { Mount, OutputPipe, Sandbox, SandboxSpec } from '../../sandbox/sandbox.ts';
import type { SandboxContext } from '../attempt/open-attempt.ts';
import { attachChannel, mountChannel, type Channel } from '../network/channel.ts';
import { checkoutScript, type Checkout } from './checkout-script.ts';
import { openCommitSource } from './commit-source.ts';
import { runInHelper, startHelper } from './helper-sandbox.ts';
import { copyVolume } from './copy-volume.ts';
import { openRestorer, type Restorer } from './restore-tree.ts';
import { SNAPSHOT, WORKSPACE } from './sandbox-paths.ts';
import type { Forward, ServiceAccess, ServiceUser, StepServices } from './step-services.ts';

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
  /** Whose services start with it. */
  services?: ServiceUser;
  /** Ports that lead to a service which `mounts` contains the sockets of. */
  forwards?: readonly Forward[];
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
  services: StepServices | undefined;
  /** The ports of its services. */
  forwards: readonly Forward[];
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
  private readonly checkedOut = deferred<Checkout>();

  /**
   * Creates the volume and starts the first step's sandbox. With a `layer` in the context, the workspace begins with the
   * files of a snapshot. `disk`: another volume than one of the attempt. `after`: what is more urgent for the engine.
   */
  constructor(
    context: SandboxContext,
    name: string,
    steps: readonly Step[],
    { disk = ownDisk(context, name), after }: { disk?: Disk; after?: Promise<unknown> } = {},
  ) {
    this.context = context;
    this.name = name;
    this.steps = steps;
    this.volume = disk.volume;
    this.layerVolume = context.layer?.volume;
    this.created = after === undefined ? disk.create() : after.then(ignore, ignore).then(() => disk.create());
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
    this.checkedOut.resolve(checkout);
    // Before the first step nothing can have changed the tree.
    if (this.steps.slice(1).some(({ judges }) => judges)) this.restore = openRestorer(context, volume, checkout);
    // If its image is halo's, the first step's sandbox does the checkout, which saves a container.
    const writes = this.steps[0]?.readOnly !== true;
    try {
      if (ahead !== undefined && writes && config.image === HALO_IMAGE)
        await checkOutIn((await ahead).sandbox, context, checkout);
      else await checkOutInHelper(context, volume, checkout);
    } catch (error) {
      // What the engine keeps of the repository may be damaged.
      if (error instanceof HaloError && error.code === 'GIT_FAILED') await (await resources.repositories()).distrust();
      throw error;
    }
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
    const started = this.start(step, `${this.name}-${this.taken + 1}`);
    started.catch(() => (this.hasFailed = true)); // observed by `takeNext`; this avoids an unhandled rejection
    return started;
  }

  private async start(step: Step, name: string): Promise<StartedStep> {
    const { context, volume } = this;
    const { resources } = context;
    await this.created;
    // Also if the other one fails.
    const opening = step.openEgress?.().then((opened) => {
      resources.onClose(() => opened.channel.close());
      return opened;
    });
    const services =
      step.services &&
      context.worker.services.open(context, { user: step.services, name, checkedOut: this.checkedOut.promise });
    const [egress, outputPipe, { mounts: repositories }, access = NO_ACCESS] = await Promise.all([
      opening,
      step.pipesOutput && resources.createOutputPipe(),
      resources.repositories(),
      services?.access(),
    ]);
    const mounts = { volume, repositories, egress, outputPipe, access };
    const sandbox = await resources.startSandbox(describeSandbox(context, step, mounts));
    if (egress !== undefined) await attachChannel(context, sandbox, egress.channel);
    return { sandbox, egress, outputPipe, services, forwards: [...access.forwards, ...(step.forwards ?? [])] };
  }
}

const NO_ACCESS: ServiceAccess = { mounts: [], forwards: [] };

function ownDisk(context: SandboxContext, name: string): Disk {
  const { resources, layer } = context;
  const volume = resources.volumeName(name);
  if (layer === undefined) return { volume, create: () => resources.createVolume(name) };
  if (layer.mode === 'overlay') return { volume, create: () => resources.createOverlay(name, layer.volume) };
  return {
    volume,
    create: async () => {
      await resources.createVolume(name);
      await copyVolume(context, {
        ...{ from: layer.volume, to: volume, target: WORKSPACE, script: COPY_SCRIPT },
        ...{ image: HALO_IMAGE, user: resources.user, what: 'A snapshot' },
      });
    },
  };
}

interface StepMounts extends Pick<StartedStep, 'egress' | 'outputPipe'> {
  volume: string;
  repositories: readonly Mount[];
  access: ServiceAccess;
}

function describeSandbox(
  { config, resources, worker }: SandboxContext,
  step: Step,
  { volume, repositories, egress, outputPipe, access }: StepMounts,
): SandboxSpec {
  return {
    image: config.image,
    labels: resources.labels(step.phase),
    user: resources.user,
    workdir: WORKSPACE,
    env: { ...egress?.env, ...config.env, ...step.env },
    mounts: [
      ...repositories,
      ...resources.accountMounts,
      {
        kind: 'volume',
        source: volume,
        target: WORKSPACE,
        readOnly: step.readOnly === true,
        copyUp: config.image === HALO_IMAGE,
      },
      ...(step.mounts ?? []),
      ...access.mounts,
      ...mountChannel(resources.channel, egress?.channel),
      ...(outputPipe === undefined ? [] : [mountPipe(outputPipe)]),
    ],
    limits: config.limits,
    ...(resources.transport === 'stream' ? { hostsFile: 'engine', hostNames: worker.services.names(config) } : {}),
  };
}

function mountPipe({ path, inside }: OutputPipe): Mount {
  return { kind: 'bind', source: path, target: inside, readOnly: true };
}

async function checkOutIn(sandbox: Sandbox, context: SandboxContext, checkout: Checkout): Promise<void> {
  const source = await openCommitSource(context, checkout);
  await sandbox.prepare(checkoutScript(checkout.commit, source), source.stdin).catch(rethrowAsGitError);
}

/** Checks out in a separate sandbox: the user's image may lack git. */
async function checkOutInHelper(context: SandboxContext, volume: string, checkout: Checkout): Promise<void> {
  const helper = { phase: 'checkout', volume, readOnly: false, repositories: true, workdir: WORKSPACE };
  const sandbox = await startHelper(context, helper);
  const stderr = tailSink(2_000);
  const source = await openCommitSource(context, checkout);
  const exit = await runInHelper(context, sandbox, {
    script: `set -e\n${checkoutScript(checkout.commit, source)}`,
    ...(source.stdin === undefined ? {} : { stdin: source.stdin }),
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
const COPY_SCRIPT = [
  `cd ${SNAPSHOT}`,
  `find . -mindepth 1 -maxdepth 1 -exec cp -a --no-preserve=ownership -t ${WORKSPACE} {} +`,
  `find ${WORKSPACE} -mindepth 1 -type d -perm -2000 -exec chmod g-s {} +`,
].join(' && ');
