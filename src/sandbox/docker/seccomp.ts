import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { HaloError } from '../../core/failure/errors.ts';
import { DOCKER_DIR } from './image/image-recipe.ts';

const PROFILE = join(DOCKER_DIR, 'seccomp.json');

let profile: Promise<string> | undefined;

/**
 * halo's own list of system calls, as the compact JSON text that the engine's API takes; read once per process.
 * Throws INTERNAL when it is not there: no sandbox may start without it.
 */
export function seccompProfile(): Promise<string> {
  profile ??= readProfile();
  profile.catch(() => (profile = undefined));
  return profile;
}

async function readProfile(): Promise<string> {
  try {
    return JSON.stringify(JSON.parse(await readFile(PROFILE, 'utf8')), (name, value: unknown) =>
      name === 'comment' ? undefined : value,
    );
  } catch (error) {
    throw new HaloError('INTERNAL', `halo’s list of system calls cannot be read at ${PROFILE}`, {
      hint: 'install halo again: a file of it is missing or damaged',
      cause: error,
    });
  }
}
