import { createHash } from 'node:crypto';

/** User ids that no account of a common system has. */
const FIRST = 20_000;
const COUNT = 40_000;

const taken = new Set<number>();

/**
 * Allocates a user id that no other attempt uses, because kernel quotas (processes, watches, keys) count per user across
 * containers. The search starts at a hash of the attempt's id, so that workers on different hosts rarely collide. `inUse`:
 * the ids of existing sandboxes. The caller releases the id when the attempt closes.
 */
export function allocateUserId(attemptId: string, inUse: ReadonlySet<number>): { user: number; release: () => void } {
  const start = createHash('sha256').update(attemptId).digest().readUInt32BE(0) % COUNT;
  for (let step = 0; step < COUNT; step++) {
    const user = FIRST + ((start + step) % COUNT);
    if (taken.has(user) || inUse.has(user)) continue;
    taken.add(user);
    return { user, release: () => void taken.delete(user) };
  }
  return { user: FIRST + start, release: () => undefined };
}
