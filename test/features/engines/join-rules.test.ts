import { expect, describe, it } from 'vitest';
import { joinMac, judgeJoin, type Invitation } from '../../../src/features/engines/core/join.ts';

const NOW = new Date('2030-01-01T12:00:00Z');
const TOKEN = 'aa'.repeat(24);

describe('a request to join', () => {
  const asked = { name: 'build-2', csr: 'MIIB' };
  const mac = joinMac(asked, TOKEN).toString('hex');
  const invitation: Invitation = { token: TOKEN, expiresAt: '2030-01-01T12:30:00Z' };
  const judge = (changes: { request?: object; invitation?: Partial<Invitation> | null; now?: string }) =>
    judgeJoin(
      { ...asked, mac, ...changes.request },
      {
        invitation: changes.invitation === null ? undefined : { ...invitation, ...changes.invitation },
        fingerprint: 'f1',
        now: new Date(changes.now ?? NOW),
      },
    );

  it.each([
    { what: 'with the token, in time', changes: {}, verdict: 'ok' },
    { what: 'repeated with the same key', changes: { invitation: { usedBy: 'f1' } }, verdict: 'ok' },
    { what: 'with another key', changes: { invitation: { usedBy: 'f2' } }, verdict: 'used' },
    { what: 'an hour later', changes: { now: '2030-01-01T12:30:00Z' }, verdict: 'late' },
    { what: 'without an invitation', changes: { invitation: null }, verdict: 'wrong' },
    { what: 'with another token', changes: { invitation: { token: 'bb'.repeat(24) } }, verdict: 'wrong' },
    { what: 'for another engine', changes: { request: { name: 'build-3' } }, verdict: 'wrong' },
    { what: 'with another signing request', changes: { request: { csr: 'MIIC' } }, verdict: 'wrong' },
    { what: 'without a mac', changes: { request: { mac: '' } }, verdict: 'wrong' },
  ])('$what: $verdict', ({ changes, verdict }) => {
    expect(judge(changes)).toBe(verdict);
  });
});
