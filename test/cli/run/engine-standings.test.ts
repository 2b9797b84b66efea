import { expect, it } from 'vitest';
import { describeChanges, standingsOf } from '../../../src/cli/run/engine-standings.ts';

const AWAY = 'engine b: does not answer, or lacks an image; `halo engine check b` says more';
const BACK = 'engine b: can run stories again';

it.each<[string, Record<string, boolean>, Record<string, boolean>, string[]]>([
  ['that stops answering', { b: false }, { b: true }, [AWAY]],
  ['that does not answer at the start', {}, { b: true }, [AWAY]],
  ['that answers at the start', {}, { b: false }, []],
  ['that answers again', { b: true }, { b: false }, [BACK]],
  ['that still does not answer', { b: true }, { b: true }, []],
  ['whose worker has ended', { b: true }, {}, []],
  ['of the environment', {}, { local: true }, ['engine local: does not answer, or lacks an image; `halo doctor` says more']], // prettier-ignore
])('of an engine %s, halo up says what has changed', (_what, before, now, lines) => {
  expect(describeChanges(new Map(Object.entries(before)), new Map(Object.entries(now)))).toEqual(lines);
});

it('an engine is away if all of its workers say so; that of a single run does not count', () => {
  const workers = [
    { engine: 'a', takes: 'any', away: true },
    { engine: 'a', takes: 'any' },
    { engine: 'b', takes: 'any', away: true },
    { engine: 'c', takes: 'own', away: true },
    { takes: 'any' },
  ] as const;
  expect(Object.fromEntries(standingsOf(workers))).toEqual({ a: false, b: true });
});
