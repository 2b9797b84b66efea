import { describe, expect, it } from 'vitest';
import { decideSession, describeSession, type KeptSession } from '../../src/core/agent-session.ts';

const NOW = '2030-01-01T00:00:00.000Z';
const LATER = '2030-01-02T00:00:00.000Z';
const own = (epoch: number, expiresAt: string | undefined = LATER): KeptSession => ({
  name: `own-${epoch}`,
  epoch,
  expiresAt,
});
const other = (epoch: number): KeptSession => ({ name: `other-${epoch}`, epoch, expiresAt: LATER });

const decide = (kept: KeptSession[], more: object = {}) =>
  decideSession({
    ...{ kept, isOwn: (name: string) => name.startsWith('own-'), now: NOW, attempt: 2, sameEngine: true },
    lastCause: undefined,
    ...more,
  });

describe('the session of an attempt', () => {
  it.each([
    ['the first attempt has none', [], { attempt: 1 }, 'first'],
    ['none was kept', [], {}, 'none'],
    ['it has expired', [own(1, NOW)], {}, 'expired'],
    ['it has no date', [{ name: 'own-1', epoch: 1 }], {}, 'expired'],
    ['the last one is of another agent', [own(1), other(2)], {}, 'other-agent'],
    ['the last attempt was elsewhere', [own(1)], { sameEngine: false }, 'other-engine'],
    ['the last one did not fit into the context', [own(1)], { lastCause: 'context-overflow' }, 'too-long'],
  ] as const)('is a new one: %s', (_why, kept, more, start) => {
    expect(decide([...kept], more)).toEqual({ start });
  });

  it('is the latest of its story, whatever the order', () => {
    expect(decide([own(7), other(3), own(5)])).toEqual({ start: 'continued', continued: own(7) });
    expect(decide([own(1)], { lastCause: 'no-changes' }).start).toBe('continued');
  });

  it('is described if it is not the first one', () => {
    expect(describeSession('first')).toBeUndefined();
    expect(describeSession('continued')).toBe('continues its session');
    expect(describeSession('expired')).toContain('has expired');
  });
});
