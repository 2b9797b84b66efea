import { describe, expect, it } from 'vitest';
import { allocateUserId } from '../../../src/worker/workspace/user-id.ts';

describe('the user id of an attempt', () => {
  it('is different from that of other attempts, and free again afterwards', () => {
    const first = allocateUserId('run-a-1', new Set());
    const second = allocateUserId('run-a-1', new Set());
    expect(second.user).not.toBe(first.user);
    first.release();
    const third = allocateUserId('run-a-1', new Set());
    expect(third.user).toBe(first.user);
    second.release();
    third.release();
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
