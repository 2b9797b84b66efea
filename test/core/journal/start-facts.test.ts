import { expect, it, test } from 'vitest';
import { describeStart, startFactsOf, withStart, type StartFacts } from '../../../src/core/journal/start-facts.ts';

test.each<[StartFacts, string[]]>([
  [{}, []],
  [{ engine: { name: 'local', id: '1' } }, []],
  [{ engine: { name: 'build-2', id: '2' } }, ['on the engine build-2']],
  [{ choice: { agent: 'claude', effort: 'high', by: 'story' } }, ['with claude, effort high (its fields in the PRD)']],
  [{ choice: { agent: 'codex', model: 'm', by: 'route', route: 2 } }, ['with codex, m (route 2)']],
  [{ fallback: { model: 'm', why: 'It has a pause.' } }, ['with the model m: It has a pause.']],
  [{ fallback: { agent: 'claude', model: '', why: 'Codex failed.' } }, ['with claude: Codex failed.']],
])('%j', (start, phrases) => {
  expect(describeStart(start).map(({ phrase }) => phrase)).toEqual(phrases);
});

it('prints no control characters of a model', () => {
  const [fact] = describeStart({ choice: { agent: 'codex', model: 'a\u001b[2J\nb', by: 'story' } });
  expect(fact?.text).toBe('codex, a<U+001B>[2J b (its fields in the PRD)');
});

it('a start replaces all facts of the one before', () => {
  const before = { id: 'US-1', engine: { name: 'build-2', id: '2' }, fallback: { model: 'm', why: 'w' } };
  const start = { engine: { name: 'local', id: '1' }, choice: { agent: 'claude', by: 'story' } as const };
  expect(withStart(before, start)).toEqual({ id: 'US-1', ...start });
  expect(startFactsOf({ ...before, ...start })).toEqual({ ...start, fallback: before.fallback });
});
