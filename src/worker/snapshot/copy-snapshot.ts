import { HaloError } from '../../core/failure/errors.ts';
import { discardSink, tailSink } from '../../lib/streams.ts';
import { HALO_IMAGE } from '../../sandbox/docker/image/image-recipe.ts';
import type { SandboxContext } from '../attempt/open-attempt.ts';
import { WORKSPACE } from '../workspace/sandbox-paths.ts';

const SNAPSHOT = '/halo/snapshot';
/** The top folder keeps its mode. Set-group-id is for the group of snapshots alone. */
const SCRIPT = [
  `cd ${SNAPSHOT}`,
  `find . -mindepth 1 -maxdepth 1 -exec cp -a --no-preserve=ownership -t ${WORKSPACE} {} +`,
  `find ${WORKSPACE} -mindepth 1 -type d -perm -2000 -exec chmod g-s {} +`,
].join(' && ');
const MAX_OUTPUT = 1_000_000;

/** Copies the files of a snapshot into an empty volume, for the user of the attempt. Throws DOCKER_FAILED, DISK_FAILED. */
export async function copySnapshot(
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
