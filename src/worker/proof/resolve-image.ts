import { HaloError } from '../../core/failure/errors.ts';
import type { WorkerContext } from '../worker-context.ts';

/** The id of a recorded image, if this machine has it. Throws IMAGE_MISSING; `subject` names the owner, `called` the image's name then. */
export async function resolveImage(
  { engine }: Pick<WorkerContext, 'engine'>,
  image: string,
  { subject, called }: { subject: string; called: string },
): Promise<string> {
  const id = image === '' ? undefined : await engine.imageId(image);
  if (id !== undefined) return id;
  throw new HaloError('IMAGE_MISSING', `The image of ${subject}, ${image}, is not on this machine.`, {
    hint: `Restore that image; its name was ${called}. A rebuilt image is a different one.`,
  });
}
