import { randomBytes } from 'node:crypto';
import type Docker from 'dockerode';
import { HaloError } from '../../../core/failure/errors.ts';
import { closeAll } from '../../../lib/cleanup.ts';
import { runOneOffSandbox } from '../../one-off-sandbox.ts';
import { SNAPSHOT_GROUP, type Mount, type SandboxEngine, type SandboxLabels } from '../../sandbox.ts';
import { processLabel } from '../cleanup/orphans.ts';
import { containerLabels } from '../container-spec.ts';
import { isEngineResponse } from '../docker-errors.ts';
import { createOverlay } from './overlay-volume.ts';
import { removeLabelledResource } from '../cleanup/labelled-resources.ts';

const LABELS: SandboxLabels = { run: 'probe', storyKey: 'overlay', attempt: 1, phase: 'probe' };
const MOUNT = '/workspace';
const [OWNER, OTHER] = [65_533, 65_534];

/** A folder with a file that another user may change through the group. */
const FILL = [
  `cd ${MOUNT}`,
  'umask 002',
  'mkdir a',
  'echo lower > a/file',
  `chgrp -R ${SNAPSHOT_GROUP} a`,
  'chmod g+s a',
].join(' && ');
/** What package managers do: append, rename the folder, remove. */
const USE = [`cd ${MOUNT}`, 'echo upper >> a/file', 'mv a b', 'cat b/file', 'rm -r b', '[ ! -e a ]'].join(' && ');

/** Whether the engine can mount an overlay of two volumes, and does it correctly. Throws DOCKER_UNAVAILABLE. */
export async function canOverlay({
  docker,
  start,
}: { docker: Docker } & Pick<SandboxEngine, 'start'>): Promise<boolean> {
  const id = randomBytes(6).toString('hex');
  const [lower, upper, name] = ['lower', 'upper', 'overlay'].map((part) => `halo-probe-${id}-${part}`) as [string, string, string]; // prettier-ignore
  const run = (volume: string, user: number, script: string) =>
    runOneOffSandbox({ start }, { purpose: 'overlay', user, script, mounts: [mountOf(volume)] });
  try {
    for (const Name of [lower, upper])
      await docker.createVolume({ Name, Labels: { ...containerLabels(LABELS), ...processLabel() } });
    await run(lower, OWNER, FILL);
    await createOverlay({ docker, start }, { name, upper, lower, user: OTHER }, LABELS);
    const used = await run(name, OTHER, USE);
    const kept = await run(lower, OWNER, `cat ${MOUNT}/a/file`);
    return used.exit.exitCode === 0 && used.text === 'lower\nupper\n' && kept.text === 'lower\n';
  } catch (error) {
    if (isEngineResponse(error) || isUnusable(error)) return false;
    throw error;
  } finally {
    await closeAll([lower, upper, name].map((volume) => () => removeLabelledResource(docker, { kind: 'volume', name: volume }))); // prettier-ignore
  }
}

/** The engine keeps volumes where no overlay can be made of them. */
function isUnusable(error: unknown): boolean {
  return error instanceof HaloError && error.code === 'DOCKER_FAILED' && error.cause === undefined;
}

function mountOf(source: string): Mount {
  return { kind: 'volume', source, target: MOUNT, readOnly: false, copyUp: true };
}
