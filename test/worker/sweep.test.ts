import { describe, expect, it } from 'vitest';
import { wasAbandoned } from '../../src/worker/sweep.ts';

describe('what an attempt made', () => {
  it('belongs to nobody when its run has ended or is gone', () => {
    expect(wasAbandoned({ status: 'ended', epoch: 3 }, 3)).toBe(true);
    expect(wasAbandoned('gone', 1)).toBe(true);
  });

  it('belongs to nobody when a later attempt has begun', () => {
    expect(wasAbandoned({ status: 'running', epoch: 4 }, 3)).toBe(true);
  });

  it('is left alone while its attempt may go on', () => {
    expect(wasAbandoned({ status: 'running', epoch: 3 }, 3)).toBe(false);
    expect(wasAbandoned('unreadable', 3)).toBe(false);
  });
});
