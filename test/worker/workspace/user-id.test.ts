import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { allocateUserId } from '../../../src/worker/attempt/attempt-resources.ts';

describe('the user id of an attempt', () => {
  it('is different from that of other attempts, and free again afterwards', () => {
    const first = allocateUserId('run-a-1', new Set());
    const rival = ownerWhoStartsAt(first.user);
    const second = allocateUserId(rival, new Set());
    expect(second.user).not.toBe(first.user);
    second.release();
    first.release();
    const third = allocateUserId(rival, new Set());
    expect(third.user).toBe(first.user);
    third.release();
  });

  it('is the same for the attempts of a story that keeps its session, until the last one has closed', () => {
    const first = allocateUserId('story', new Set());
    const second = allocateUserId('story', new Set([first.user]));
    expect(second.user).toBe(first.user);
    first.release();
    const other = allocateUserId(ownerWhoStartsAt(first.user), new Set());
    expect(other.user).not.toBe(first.user);
    second.release();
    other.release();
  });

  it('differs from those of all sandboxes on this machine', () => {
    const { user, release } = allocateUserId('run-b-1', new Set());
    release();
    const other = allocateUserId('run-b-1', new Set([user, user + 1]));
    expect([user, user + 1]).not.toContain(other.user);
    other.release();
  });

  it('belongs to no account of the machine, for any attempt', () => {
    for (let n = 0; n < 500; n++) {
      const { user, release } = allocateUserId(`run-${n}`, new Set());
      expect(user).toBeGreaterThanOrEqual(20_000);
      expect(user).toBeLessThan(60_000);
      release();
    }
  });
});

/** An owner whose search for an id begins at `user`, while nothing else is allocated. */
function ownerWhoStartsAt(user: number): string {
  for (let n = 0; ; n++) {
    const start = createHash('sha256').update(`rival-${n}`).digest().readUInt32BE(0) % 40_000;
    if (start + 20_000 === user) return `rival-${n}`;
  }
}
