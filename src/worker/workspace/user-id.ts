import { createHash } from 'node:crypto';

/** User ids that no account of a common system has. */
const FIRST = 20_000;
const COUNT = 40_000;

const taken = new Set<number>();

/**
 * A user id for an attempt that no other attempt has now: quotas of the kernel (processes, watches, keys) count by
 * user across containers. The attempt's own id says where to start, so that workers that cannot see each other do not
 * start at the same one; `inUse` are the ids of sandboxes that the engine has. Give it back when the attempt closes.
 */
export function takeUser(attemptId: string, inUse: ReadonlySet<number>): { user: number; release: () => void } {
  const start = createHash('sha256').update(attemptId).digest().readUInt32BE(0) % COUNT;
  for (let step = 0; step < COUNT; step++) {
    const user = FIRST + ((start + step) % COUNT);
    if (taken.has(user) || inUse.has(user)) continue;
    taken.add(user);
    return { user, release: () => void taken.delete(user) };
  }
  return { user: FIRST + start, release: () => undefined };
}
