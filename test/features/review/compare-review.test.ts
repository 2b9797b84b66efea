import { expect, it } from 'vitest';
import type { ReviewMode } from '../../../src/core/review/agent-review.ts';
import type { Proof } from '../../../src/core/review/proof.ts';
import { compareReview } from '../../../src/features/evidence/worker/compare-proof.ts';

const made = { agent: 'claude', findings: [], criteria: [] };
const objects = { ...made, findings: [{ severity: 'blocking' as const, text: 'Wrong.' }] };

it.each<[string, Pick<Proof, 'review' | 'approved'>, ReviewMode, (boolean | null)[]]>([
  ['a review that agrees', { review: made }, 'always', [true]],
  ['a review that objects', { review: objects }, 'always', [false]],
  ['an objection that a person has overruled', { review: objects, approved: true }, 'always', [true]],
  ['a review that failed', { review: { ...made, failed: 'x' } }, 'never', [false]],
  ['none, though it is required', {}, 'always', [false]],
  ['none, but an approval', { approved: true }, 'always', []],
  ['none, which may be right', {}, 'risky', []],
])('halo verify on %s', (_, proof, when, ok) => {
  const found = compareReview(proof, { origin: 'halo.toml', config: { review: { when, reviewers: [] } } });
  expect(found.map((row) => row.ok)).toEqual(ok);
});
