import { rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { createFolders } from '../../lib/fs.ts';
import { HaloError } from '../../core/failure/errors.ts';
import { createView } from '../mirror/base-view.ts';
import { initBareRepo } from './init-repo.ts';
import { readMirrorFormat } from '../mirror/mirror.ts';

/** Path from an objects folder in a scratch folder to the view; the same inside a sandbox that mounts both. */
const VIEW_OBJECTS = '../../base.git/objects';

interface ScratchRequest {
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

/** The part of the mirror that the sandboxes of an attempt can read. */
export function viewPath(scratchDir: string): string {
  return join(scratchDir, 'base.git');
}

/** Creates the scratch folder of an attempt with an empty candidate repository and an empty view; removes an existing one. */
export async function createScratch(request: ScratchRequest): Promise<string> {
  const scratchDir = scratchPath(request);
  await removeScratch(scratchDir);
  await createFolders(scratchDir);
  await createView(viewPath(scratchDir), request.mirrorDir);
  await createScratchRepo(candidatePath(scratchDir));
  return scratchDir;
}

/** Removes a scratch folder; safe when it does not exist. */
export async function removeScratch(scratchDir: string): Promise<void> {
  await rm(scratchDir, { recursive: true, force: true });
}

/** Creates an empty bare repository in a scratch folder that can read the objects of the view there. */
export async function createScratchRepo(dir: string): Promise<void> {
  const { config, shallow } = await readMirrorFormat(viewPath(dirname(dir)));
  // Not synced to disk: after a power failure the attempt starts again anyway.
  await initBareRepo(dir, { config: `${config}[core]\n\tfsync = none\n`, shallow, alternate: VIEW_OBJECTS });
}
