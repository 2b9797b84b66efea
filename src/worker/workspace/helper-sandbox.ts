import { HALO_IMAGE } from '../../sandbox/docker/image/image-recipe.ts';
import type { Command, Mount, Sandbox, SandboxExit } from '../../sandbox/sandbox.ts';
import type { SandboxContext } from '../attempt/open-attempt.ts';
import { WORKSPACE } from './sandbox-paths.ts';

/** A sandbox of halo's image that works on the volume of a workspace. Only halo's own programs run in it. */
export interface HelperSpec {
  /** Its label. */
  phase: string;
  /** The volume, which is mounted as the workspace. */
  volume: string;
  readOnly: boolean;
  /** Whether the repositories of the attempt are mounted too, if the engine can mount them. */
  repositories: boolean;
  workdir: string;
  /** Default: the user of the attempt. */
  user?: number;
  env?: Record<string, string>;
  /** Volumes in addition to the workspace. */
  mounts?: readonly Mount[];
}

export async function startHelper({ config, resources }: SandboxContext, helper: HelperSpec): Promise<Sandbox> {
  const { phase, volume, readOnly, repositories, workdir, user = resources.user, env = {}, mounts = [] } = helper;
  return resources.startSandbox({
    image: HALO_IMAGE,
    labels: resources.labels(phase),
    user,
    workdir,
    env,
    mounts: [
      ...(repositories ? (await resources.repositories()).mounts : []),
      { kind: 'volume', source: volume, target: WORKSPACE, readOnly, copyUp: !readOnly },
      ...mounts,
    ],
    limits: config.limits,
  });
}

/** Runs the only command of a helper under the time limits of the attempt, and removes the helper in the background. */
export async function runInHelper(
  { config, worker, signal }: SandboxContext,
  helper: Sandbox,
  command: Pick<Command, 'script' | 'stdin' | 'stdout' | 'stderr' | 'outputBytes'>,
): Promise<SandboxExit> {
  const { wallMs, idleMs } = config.limits;
  const exit = await helper.run({ ...command, wallMs, idleMs, signal });
  worker.inBackground(helper.remove());
  return exit;
}
