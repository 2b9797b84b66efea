import { expect, it } from 'vitest';
import * as z from 'zod';
import { OPERATIONS } from '../../../src/api/operations.ts';
import { factsOf, matches, MAX_FIND_LENGTH } from '../../../src/core/listing/run-facts.ts';
import { created, stateOf } from '../../support/journal.ts';

it('a search takes no time that grows with its length × that of the titles', () => {
  const input = OPERATIONS.listRuns.input!(z);
  const half = 'a'.repeat(MAX_FIND_LENGTH / 2 - 1);
  const find = `${half}b${half}`;
  expect(input.safeParse({ find }).success).toBe(true);
  expect(input.safeParse({ find: find.repeat(2) }).success).toBe(false);
  const { prd, ...first } = created('0000000000000aa');
  const stories = prd.stories.map((story) => ({ ...story, title: 'a'.repeat(4_000_000) }));
  const facts = factsOf(stateOf({ ...first, prd: { ...prd, stories } }));
  const before = performance.now();
  expect(matches(facts, { find })).toBe(false);
  expect(performance.now() - before).toBeLessThan(2_000);
});
