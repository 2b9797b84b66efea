import { expect, it } from 'vitest';
import { parseFailpoints } from '../../../src/core/failure/failpoint-names.ts';

it('reads failpoints with their faults, hits and delays', () => {
  expect(
    parseFailpoints(
      'ref.before:kill, agent.after@2:throw,gates.before:delay=500,job.taken:delay,job.done:block=70,ff.after@1:hold',
    ),
  ).toEqual([
    { at: 'ref.before', fault: 'kill', ms: 1000, nth: undefined },
    { at: 'agent.after', fault: 'throw', ms: 1000, nth: 2 },
    { at: 'gates.before', fault: 'delay', ms: 500, nth: undefined },
    { at: 'job.taken', fault: 'delay', ms: 1000, nth: undefined },
    { at: 'job.done', fault: 'block', ms: 70, nth: undefined },
    { at: 'ff.after', fault: 'hold', ms: 1000, nth: 1 },
  ]);
});

it.each(['', 'ref.before', 'ref.before:explode', 'ref.before@0:kill', 'ref.before:kill=5', 'ref.before:kill,'])(
  'refuses %j with the expected syntax',
  (text) => {
    expect(() => parseFailpoints(text)).toThrow(/^HALO_FAILPOINT: ".*" is not a fault\.$/);
  },
);

it('refuses an unknown name with the list of names, or of those in the given phase', () => {
  expect(() => parseFailpoints('land.behind:kill')).toThrow('HALO_FAILPOINT: there is no failpoint land.behind.');
  expect(() => parseFailpoints('land:kill')).toThrow(
    expect.objectContaining({
      hint: expect.stringMatching(/^Use one of: submit.filled, .*restore.moving\.$/) as string,
    }),
  );
  expect(() => parseFailpoints('gates:kill')).toThrow(
    expect.objectContaining({ hint: 'Use one of: gates.before, gates.after.' }),
  );
  expect(() => parseFailpoints('toString:kill')).toThrow('"toString:kill" is not a fault.');
});
