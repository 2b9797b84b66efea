import { HaloError } from '../core/failure/errors.ts';
import type { Attempt } from './attempt-context.ts';
import type { WorkerContext } from './worker-context.ts';

/** One thing that a record says, and what is found now. */
export interface Check {
  what: string;
  recorded: string;
  found: string;
  /** null: something to know, which says neither yes nor no. */
  ok: boolean | null;
}

export function check(what: string, recorded: string, found: string): Check {
  return { what, recorded, found, ok: recorded === found };
}

/** The id of the image that a record names. Throws IMAGE_MISSING; `whose` says of what it is, `called` its name then. */
export async function requireImage(
  { engine }: WorkerContext,
  image: string,
  { whose, called }: { whose: string; called: string },
): Promise<string> {
  const id = image === '' ? undefined : await engine.imageId(image);
  if (id !== undefined) return id;
  throw new HaloError('IMAGE_MISSING', `The image of ${whose}, ${image}, is not on this machine.`, {
    hint: `It was called ${called} then; an image that is built anew is another one.`,
  });
}

/** An attempt of which no run hears. */
export function unheard(attempt: Attempt): Attempt {
  return { ...attempt, report: () => Promise.resolve(), phase: (_phase, action) => action() };
}
