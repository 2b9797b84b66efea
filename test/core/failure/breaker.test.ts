import { describe, expect, it } from 'vitest';
import {
  addSign,
  admitTrial,
  afterFailure,
  breakerName,
  CLOSED_BREAKER,
  errorSignature,
  findTripReason,
  resetCommand,
  type Breaker,
  type BreakerPolicy,
  type FailureSign,
  type Signs,
} from '../../../src/core/failure/breaker.ts';

const POLICY: BreakerPolicy = {
  noChange: 3,
  sameError: 5,
  outputDecline: 70,
  permissionDenials: 2,
  testOnly: 4,
  cooldownMs: 1000,
};

/** Failures that differ in all but what is given. */
function signs(count: number, sign: Partial<FailureSign>): Signs {
  return Array.from({ length: count }).reduce<Signs>(
    (sum, _, index) =>
      addSign(sum, { by: `s${index}`, error: `e${index}`, changed: true, denied: false, kind: 'agent', ...sign }),
    [],
  );
}

describe('findTrip', () => {
  it.each([
    [{ changed: false }, 3, '3 failures in a row changed no file'],
    [{ error: 'boom' }, 5, 'the same failure 5 times in a row: boom'],
    [{ denied: true }, 2, '2 refusals in a row, the last one: e1'],
    [{ testOnly: true }, 4, 'only tests were changed 4 times in a row'],
  ])('%j trips at %d, not before', (sign, threshold, reason) => {
    expect(findTripReason(signs(threshold - 1, sign), POLICY)).toBeUndefined();
    expect(findTripReason(signs(threshold, sign), POLICY)).toBe(reason);
  });

  it('restarts the count after a failure of another kind', () => {
    const idle = { by: 'x', error: 'x', changed: false, denied: false, kind: 'agent' };
    const mixed = addSign(signs(2, { changed: false }), { ...idle, by: 'y', changed: true });
    expect(findTripReason(addSign(mixed, idle), POLICY)).toBeUndefined();
  });

  it('counts attempts with unknown changes neither as idle nor as busy', () => {
    expect(findTripReason(signs(4, { changed: undefined }), POLICY)).toBeUndefined();
  });

  it('trips when the output of the agent is 70 % shorter than that of the previous attempt', () => {
    const said = (before: number, last: number) =>
      findTripReason(
        addSign(signs(1, { output: before }), {
          by: 'z',
          error: 'z',
          changed: true,
          denied: false,
          kind: 'agent',
          output: last,
        }),
        POLICY,
      );
    expect(said(100_000, 30_001)).toBeUndefined();
    expect(said(100_000, 30_000)).toBe('the agent said 70 % less than in the attempt before');
    // So little is not a measure.
    expect(said(1000, 0)).toBeUndefined();
  });

  it('does not add up failures of different classes', () => {
    const hang = signs(2, { changed: false, kind: 'environment' });
    expect(
      findTripReason(addSign(hang, { by: 'x', error: 'x', changed: false, denied: false, kind: 'agent' }), POLICY),
    ).toBe(undefined);
    expect(findTripReason(signs(3, { changed: false, kind: 'agent' }), POLICY)).toBeDefined();
  });

  it('counts several failures of one attempt only once', () => {
    const same = Array.from({ length: 9 }).reduce<Signs>(
      (sum) => addSign(sum, { by: 'one', error: 'boom', changed: false, denied: true, kind: 'agent' }),
      [],
    );
    expect(findTripReason(same, POLICY)).toBeUndefined();
  });

  it('ignores a threshold of 0', () => {
    const off = { ...POLICY, noChange: 0, sameError: 0, permissionDenials: 0, outputDecline: 0, testOnly: 0 };
    expect(
      findTripReason(signs(50, { changed: false, testOnly: true, error: 'boom', denied: true }), off),
    ).toBeUndefined();
  });
});

describe('a breaker', () => {
  const fail = (breaker: Breaker, by: string, now: number) =>
    afterFailure(breaker, {
      who: by,
      sign: { by, error: 'boom', changed: false, denied: false, kind: 'agent' },
      now,
      policy: POLICY,
    });
  const ask = (breaker: Breaker, who: string, now: number) => admitTrial(breaker, { who, now, policy: POLICY });
  const open = ['a', 'b', 'c'].reduce((breaker, by) => fail(breaker, by, 100), CLOSED_BREAKER);

  it('admits all attempts until it opens, and none until its cooldown is over', () => {
    expect(ask(fail(fail(CLOSED_BREAKER, 'a', 1), 'b', 2), 'c', 3)).toMatchObject({ admitted: true });
    expect(open).toMatchObject({ status: 'open', until: 1100, reason: '3 failures in a row changed no file' });
    expect(ask(open, 'd', 1099)).toEqual({ admitted: false, reason: open.reason, until: 1100 });
  });

  it('admits one trial attempt after that, while others wait', () => {
    const first = ask(open, 'd', 1100);
    expect(first).toMatchObject({ admitted: true, breaker: { status: 'half-open', trial: 'd' } });
    const half = first.admitted ? first.breaker : CLOSED_BREAKER;
    expect(ask(half, 'e', 1200)).toMatchObject({ admitted: false });
    expect(ask(half, 'd', 1200)).toEqual({ admitted: true, breaker: half });
    // The trial's worker may have died: another one tries in its place.
    expect(ask(half, 'e', 2100)).toMatchObject({ admitted: true, breaker: { trial: 'e' } });
  });

  it('immediately admits one run that a user asked for after it opened as the trial', () => {
    const started = (breaker: Breaker, askedAt: number, now: number) =>
      admitTrial(breaker, { who: 'mine', now, policy: POLICY, askedAt });
    expect(started(open, 99, 200)).toMatchObject({ admitted: false });
    const trial = started(open, 150, 200);
    expect(trial).toMatchObject({ admitted: true, breaker: { status: 'half-open', trial: 'mine' } });
    const half = trial.admitted ? trial.breaker : CLOSED_BREAKER;
    expect(admitTrial(half, { who: 'other', now: 250, policy: POLICY, askedAt: 240 })).toMatchObject({
      admitted: false,
    });
    expect(started(fail(half, 'mine', 300), 150, 350)).toMatchObject({ admitted: false });
  });

  it('reopens when the trial fails, and ignores the failure of an earlier attempt', () => {
    expect(fail(open, 'late', 500)).toMatchObject({ status: 'open', until: 1100 });
    const half: Breaker = { ...open, status: 'half-open', trial: 'd', until: 2100 };
    expect(fail(half, 'late', 1500)).toMatchObject({ status: 'half-open', trial: 'd' });
    expect(fail(half, 'd', 1500)).toMatchObject({ status: 'open', reason: 'the trial failed: boom', until: 2500 });
  });
});

it('has the name of its repository, and is reset by that name', () => {
  expect(breakerName('repository:my-shop-0123abcd0123abcd0123abcd0123abcd')).toBe('my-shop');
  expect(resetCommand('repository:my-shop-0123abcd0123abcd0123abcd0123abcd')).toBe('halo breaker reset my-shop');
  expect(resetCommand('provider:api.example.com')).toBe('halo breaker reset provider:api.example.com');
});

it('treats errors that differ only in numbers and ids as equal', () => {
  expect(errorSignature('gate `npm test` exited 1 after 12.5s at 3fa9c11d\nmore')).toBe(
    errorSignature('gate `npm test` exited 2 after 3s at 77be0a12\nother'),
  );
  expect(errorSignature('gate `a` exited 1')).not.toBe(errorSignature('gate `b` exited 1'));
});
