import { expect, test } from 'vitest';
import * as z from 'zod';
import { didYouMean, explainChoice, findClosest } from '../../../src/core/text/did-you-mean.ts';

const NAMES = ['agent', 'setup', 'gates', 'limits.memory', 'limits.pids'];

test.each([
  ['agnet', 'agent'],
  ['Agent', 'agent'],
  ['gate', 'gates'],
  ['limits.memroy', 'limits.memory'],
  ['limit.memory', 'limits.memory'],
])('%s is corrected to %s', (word, name) => {
  expect(findClosest(word, NAMES)).toBe(name);
});

test('a word unlike all names has no closest name', () => {
  expect(findClosest('budget', NAMES)).toBeUndefined();
  expect(findClosest('x', [])).toBeUndefined();
});

test.each([
  ['agnet', '; did you mean "agent"?'],
  ['budget', ''],
  [7, ''],
  [undefined, ''],
])('the end of a message that refuses %j is %j', (word, end) => {
  expect(didYouMean(word, NAMES)).toBe(end);
});

test('a suggested name cannot change the terminal', () => {
  expect(didYouMean('check', ['che\u001bck'])).not.toContain('\u001b');
});

test('a word that a schema does not know is refused with its list and the closest word', () => {
  const refused = (schema: z.ZodType, value: unknown) =>
    schema.safeParse(value, { error: explainChoice }).error?.issues[0]?.message;
  expect(refused(z.object({ by: z.enum(['repo', 'agent']) }), { by: 'agnet' })).toBe(
    'must be one of repo, agent; did you mean "agent"?',
  );
  expect(refused(z.enum(['repo', 'agent']), 7)).toBe('must be one of repo, agent');
  expect(refused(z.string(), 7)).toContain('expected string');
});
