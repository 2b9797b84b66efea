import { expect, it } from 'vitest';
import { judgeEngine } from '../../../src/core/engine/engine-standing.ts';

it.each([
  ['answered', true, 0, 30_000, 'answers'],
  ['answered after a long silence', true, 99_000, 30_000, 'answers'],
  ['did not answer once', false, 0, 30_000, 'silent'],
  ['has not answered for some time', false, 29_999, 30_000, 'silent'],
  ['has not answered for too long', false, 30_000, 30_000, 'gone'],
  ['has not answered for long, and there is no other one', false, 99_000_000, Infinity, 'silent'],
] as const)('an engine that %s', (_what, answered, silentMs, goneMs, standing) => {
  expect(judgeEngine({ answered, isReady: true, silentMs }, goneMs)).toBe(standing);
});

it('an engine that answers and lacks something gets no stories, and keeps those that run', () => {
  expect(judgeEngine({ answered: true, isReady: false, silentMs: 99_000 }, 30_000)).toBe('silent');
});
