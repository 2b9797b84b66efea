import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { HaloError } from '../../core/failure/errors.ts';
import { DOCKER_DIR } from './image/image-recipe.ts';

const PROFILE = join(DOCKER_DIR, 'seccomp.json');

let profile: Promise<string> | undefined;

/**
 * Returns halo's seccomp profile as compact JSON text for the engine's API; read once per process. Throws INTERNAL when it
 * is missing: no sandbox may start without it.
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
    throw new HaloError('INTERNAL', `The seccomp profile ${PROFILE} cannot be read.`, {
      hint: 'Reinstall halo: the file is missing or damaged.',
      cause: error,
    });
  }
}
