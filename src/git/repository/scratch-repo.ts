import { mkdir, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { HaloError } from '../../core/failure/errors.ts';
import { makeView } from '../mirror/base-view.ts';
import { makeBareRepo } from './init-repo.ts';
import { mirrorShape } from '../mirror/mirror.ts';

/** From an objects folder in a scratch folder to the view; the same inside a sandbox that mounts both. */
const VIEW_OBJECTS = '../../base.git/objects';

export interface ScratchRequest {
  mirrorDir: string;
  /** Made by halo: `[A-Za-z0-9._-]`. */
  attemptId: string;
}

/** `<repos>/<mirror>/attempts/<attemptId>` */
function scratchPath({ mirrorDir, attemptId }: ScratchRequest): string {
  if (!/^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/.test(attemptId)) {
    throw new HaloError('INTERNAL', 'The attempt id cannot name a folder.');
  }
  return join(dirname(mirrorDir), 'attempts', attemptId);
}

export function candidatePath(scratchDir: string): string {
  return join(scratchDir, 'candidate.git');
}

/** What the sandboxes of an attempt see of the mirror. */
export function viewPath(scratchDir: string): string {
  return join(scratchDir, 'base.git');
}

/** Makes the scratch folder of an attempt with an empty candidate repository and an empty view; what was there is removed. */
export async function createScratch(request: ScratchRequest): Promise<string> {
  const scratchDir = scratchPath(request);
  await removeScratch(scratchDir);
  await mkdir(scratchDir, { recursive: true });
  await makeView(viewPath(scratchDir), request.mirrorDir);
  await makeBesideView(candidatePath(scratchDir));
  return scratchDir;
}

/** Safe when it is not there. */
export async function removeScratch(scratchDir: string): Promise<void> {
  await rm(scratchDir, { recursive: true, force: true });
}

/** An empty bare repository in a scratch folder that can read the objects of the view there. */
export async function makeBesideView(dir: string): Promise<void> {
  const { config, shallow } = await mirrorShape(viewPath(dirname(dir)));
  // Whatever a power cut takes from here is made again: waiting for the disk would only cost time.
  await makeBareRepo(dir, { config: `${config}[core]\n\tfsync = none\n`, shallow, alternate: VIEW_OBJECTS });
}
