import { HaloError } from '../core/failure/errors.ts';
import type { Restored } from '../core/review/restored-paths.ts';
import { collectText, discard } from '../lib/sinks.ts';
import type { Sandbox, SandboxSpec } from '../sandbox/sandbox.ts';
import { TRUSTED_IMAGE } from '../sandbox/docker/trusted-image.ts';
import { streamCommit } from '../git/mirror/stream-commit-pack.ts';
import type { Attempt } from './attempt-context.ts';
import type { Channel } from './network/channel.ts';
import { checkoutFromPack, checkoutScript, type Checkout } from './workspace/checkout-script.ts';
import { WORKSPACE } from './workspace/sandbox-paths.ts';
import { carryChannel, mountChannel } from './carry.ts';
import { openRestorer, type Restorer } from './restore-tree.ts';

/** One command that will run in a workspace, as far as its sandbox must know at birth. */
export interface Step {
  phase: string;
  env: Record<string, string>;
  /** Opens its way out; none: no network whatever. */
  openWay?: () => Promise<Way>;
  /** It judges the commit: what commands before it made of the tree is undone first. */
  judges?: true;
}

/** A way out of a sandbox. */
export interface Way {
  channel: Channel;
  /** What tells the programs in the sandbox of it; the user's own variables go before these. */
  env: Record<string, string>;
  /** Shell lines to the same end, run before the command. */
  script: string;
}

export interface StartedStep {
  sandbox: Sandbox;
  way: Way | undefined;
  /** What was undone before it. */
  restored?: Restored | undefined;
}

/** A tree in a volume, and the sandboxes that run one command each in it, the next always started ahead. */
export interface Workspace {
  volume: string;
  /** Fills the volume. Call it once, before the first `take`. */
  checkOut(commit: string, gitDir: string, sources: readonly string[]): Promise<void>;
  /** The sandbox of the next step; the one before must have ended. Throws POLICY_VIOLATION as a `Restorer` does. */
  take(): Promise<StartedStep>;
}

/** Creates the volume and starts the first step's sandbox; everything is removed when the attempt closes. */
export function openWorkspace(attempt: Attempt, name: string, steps: readonly Step[]): Workspace {
  const volume = attempt.createVolume(name);
  volume.catch(() => {}); // whoever fills it hears of it
  const volumeName = `halo-${attempt.id}-${name}`;
  const start = async (step: Step): Promise<StartedStep> => {
    await volume;
    const way = await step.openWay?.();
    if (way !== undefined) attempt.atClose(() => way.channel.close());
    const sandbox = await attempt.startSandbox(describeSandbox(attempt, volumeName, step, way));
    if (way !== undefined) await carryChannel(attempt, sandbox, way.channel);
    return { sandbox, way };
  };
  let taken = 0;
  let ahead = startNext();
  let restore: Restorer | undefined;

  function startNext(): Promise<StartedStep> | undefined {
    const step = steps[taken];
    if (step === undefined) return undefined;
    const started = start(step);
    started.catch(() => {}); // whoever takes it hears of it
    return started;
  }

  return {
    volume: volumeName,
    checkOut: async (commit, gitDir, sources) => {
      if (gitDir === attempt.mirrorDir) await attempt.seeCommit(commit);
      // Before the first step nothing can have changed the tree.
      if (steps.slice(1).some(({ judges }) => judges))
        restore = openRestorer(attempt, volumeName, { commit, gitDir, sources });
      // The first step's sandbox does it itself when its image is halo's: one container less.
      if (ahead !== undefined && attempt.transport === 'mount' && attempt.config.image === TRUSTED_IMAGE) {
        await (await ahead).sandbox.prepare(checkoutScript(commit, sources)).catch(throwAsGits);
        return;
      }
      await volume;
      await checkOutAlone(attempt, volumeName, { commit, gitDir, sources });
    },
    take: async () => {
      if (ahead === undefined) throw new HaloError('INTERNAL', `the workspace ${name} has no further step`);
      const [step, current] = [steps[taken], ahead];
      taken += 1;
      ahead = startNext();
      const restored = step?.judges && taken > 1 ? await restore?.() : undefined;
      return { ...(await current), restored };
    },
  };
}

function describeSandbox(attempt: Attempt, volume: string, step: Step, way: Way | undefined): SandboxSpec {
  return {
    image: attempt.config.image,
    labels: attempt.labels(step.phase),
    user: attempt.user,
    workdir: WORKSPACE,
    env: { ...way?.env, ...attempt.config.env, ...step.env },
    mounts: [
      ...attempt.repositoryMounts,
      ...attempt.accountMounts,
      {
        kind: 'volume',
        source: volume,
        target: WORKSPACE,
        readOnly: false,
        copyUp: attempt.config.image === TRUSTED_IMAGE,
      },
      ...mountChannel(attempt, way?.channel),
    ],
    limits: attempt.config.limits,
  };
}

/** In a sandbox of its own: the user's image may lack git, and a pack on stdin leaves no stdin for the command. */
async function checkOutAlone(attempt: Attempt, volume: string, { commit, gitDir, sources }: Checkout): Promise<void> {
  const sandbox = await attempt.startSandbox({
    image: TRUSTED_IMAGE,
    labels: attempt.labels('checkout'),
    user: attempt.user,
    workdir: WORKSPACE,
    env: {},
    mounts: [
      ...attempt.repositoryMounts,
      { kind: 'volume', source: volume, target: WORKSPACE, readOnly: false, copyUp: true },
    ],
    limits: attempt.config.limits,
  });
  const stderr = collectText(2_000);
  const { wallMs, idleMs } = attempt.config.limits;
  const mounted = attempt.transport === 'mount';
  const exit = await sandbox.run({
    script: mounted ? `set -e\n${checkoutScript(commit, sources)}` : checkoutFromPack(commit),
    ...(mounted ? {} : { stdin: await streamCommit({ gitDir, commit, signal: attempt.signal }) }),
    stdout: discard(),
    stderr: stderr.sink,
    wallMs,
    idleMs,
    outputBytes: 1_000_000,
    signal: attempt.signal,
  });
  if (exit.exitCode !== 0 && exit.ended !== 'aborted') {
    throw new HaloError('GIT_FAILED', `the workspace could not be checked out: ${stderr.text().trim()}`);
  }
}

/** What git complained of in the sandbox is no fault of the engine: perhaps the mirror is damaged. */
function throwAsGits(error: unknown): never {
  const isGits =
    error instanceof HaloError && error.code === 'DOCKER_FAILED' && /\b(?:fatal|error): /.test(error.message);
  throw isGits ? new HaloError('GIT_FAILED', error.message, { cause: error }) : error;
}
