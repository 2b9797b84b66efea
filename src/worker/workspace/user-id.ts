import { createHash } from 'node:crypto';

/** User ids that no account of a common system has. */
const FIRST = 20_000;
const COUNT = 40_000;

/** The owner of each id in this process, and how many attempts of it hold the id. */
const taken = new Map<number, { owner: string; holders: number }>();

/**
 * Allocates a user id that no other attempt uses, because kernel quotas (processes, watches, keys) count per user across
 * containers. The search starts at a hash of `owner`, the id of the attempt, so that workers on different hosts rarely
 * collide. If the owner is a story, its attempts have the same id, also while the previous one is being closed. `inUse`: the
 * ids of existing sandboxes. The caller releases the id when the attempt closes.
 */
export function allocateUserId(owner: string, inUse: ReadonlySet<number>): { user: number; release: () => void } {
  const start = createHash('sha256').update(owner).digest().readUInt32BE(0) % COUNT;
  for (let step = 0; step < COUNT; step++) {
    const user = FIRST + ((start + step) % COUNT);
    const holder = taken.get(user);
    if (holder?.owner !== owner && (holder !== undefined || inUse.has(user))) continue;
    taken.set(user, { owner, holders: (holder?.holders ?? 0) + 1 });
    return { user, release: () => release(user) };
  }
  return { user: FIRST + start, release: () => undefined };
}

function release(user: number): void {
  const holder = taken.get(user);
  if (holder === undefined) return;
  if (holder.holders === 1) taken.delete(user);
  else holder.holders -= 1;
}
