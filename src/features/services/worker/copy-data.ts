import { shellQuote } from '../../../lib/text.ts';
import type { SandboxContext } from '../../../worker/attempt/open-attempt.ts';
import { copyVolume } from '../../../worker/workspace/copy-volume.ts';
import { SNAPSHOT } from '../../../worker/workspace/sandbox-paths.ts';
import type { Service } from '../core/service.ts';

interface Copying {
  /** The volume with the data. */
  from: string;
  /** The volume of the attempt that is made: its name there. */
  to: string;
  service: Pick<Service, 'name' | 'image'>;
  folder: string;
  user: number;
}

/**
 * Copies the data of a service into a new volume, where the engine has no overlays. The image of the service gives the volume its
 * owner. Throws DOCKER_FAILED.
 */
export async function copyData(context: SandboxContext, { from, to, service, folder, user }: Copying): Promise<void> {
  const { resources, signal } = context;
  await resources.createVolume(to, user);
  await copyVolume(context, {
    from,
    to: resources.volumeName(to),
    target: folder,
    script: copyScript(shellQuote(folder)),
    image: service.image,
    user,
    what: `The data of the service ${service.name}`,
  });
  signal.throwIfAborted();
}

/** Copies into a folder, and its mode and times if the user owns it. The image may have nothing but BusyBox. */
function copyScript(folder: string): string {
  return [
    `if [ -O ${folder} ]; then exec cp -a ${SNAPSHOT}/. ${folder}/; fi`,
    `cd ${SNAPSHOT}`,
    'for each in * .[!.]* ..?*; do',
    `  if [ -e "$each" ] || [ -L "$each" ]; then cp -a "./$each" ${folder}/ || exit 1; fi`,
    'done',
  ].join('\n');
}
