import { describe, expect, it } from 'vitest';
import { readPatch } from '../../../src/core/review/read-patch.ts';
import { readReview } from '../../../src/features/review/core/read-review.ts';
import { asksForReview, isRisky, type ChangeFacts } from '../../../src/features/review/core/risk.ts';

const PATCH = readPatch(`diff --git a/a.js b/a.js
--- a/a.js
+++ b/a.js
@@ -1,2 +1,2 @@
-old
+new
 same
`);
const JUDGED = [
  { n: 2, met: 'yes' },
  { n: 1, met: 'yes' },
];
const read = (answer: unknown) => readReview(answer, { criteria: 2, patch: PATCH });
const finding = { path: 'a.js', line: 1, severity: 'note', criterion: 1, text: 'Odd.' };

describe('the answer of a reviewer', () => {
  it('has findings with their places, and each criterion in order', () => {
    expect(read({ findings: [finding], judged: JUDGED })).toEqual({
      findings: [finding],
      criteria: [
        { n: 1, met: 'yes' },
        { n: 2, met: 'yes' },
      ],
    });
  });

  it.each([
    ['a line that the diff does not show', { line: 9 }, { path: 'a.js', criterion: 1 }],
    ['a file that is not changed', { path: 'b.js' }, { criterion: 1 }],
    ['a path out of the repository', { path: '../../etc/passwd' }, { criterion: 1 }],
    ['a criterion that the story does not have', { criterion: 3 }, { path: 'a.js', line: 1 }],
  ])('loses %s, and not the finding', (_, change, left) => {
    const found = read({ findings: [{ ...finding, severity: 'blocking', ...change }], judged: JUDGED });
    expect(found).toMatchObject({ findings: [{ severity: 'blocking', text: 'Odd.', ...left }] });
    expect(Object.keys('fault' in found ? {} : found.findings[0]!).toSorted()).toEqual(
      ['severity', 'text', ...Object.keys(left)].toSorted(),
    );
  });

  it('blocks if a criterion is not met and no blocking finding names it', () => {
    const judged = [
      { n: 1, met: 'no' },
      { n: 2, met: 'unclear' },
    ];
    expect(read({ findings: [finding], judged })).toMatchObject({
      findings: [finding, { severity: 'blocking', criterion: 1, text: 'Criterion 1 is not met.' }],
    });
    const named = { ...finding, severity: 'blocking' };
    expect(read({ findings: [named], judged })).toMatchObject({ findings: [named] });
  });

  it.each<[string, unknown, string]>([
    ['nothing', undefined, 'breaks the agreed shape'],
    ['other words', { verdict: 'approve' }, 'breaks the agreed shape at "findings"'],
    ['an unknown severity', { findings: [{ ...finding, severity: 'ok' }], judged: JUDGED }, '"findings.0.severity"'],
    ['an empty finding', { findings: [{ ...finding, text: ' ' }], judged: JUDGED }, '"findings.0.text"'],
    ['too many findings', { findings: Array(51).fill(finding), judged: JUDGED }, '"findings"'],
    ['no judgement of a criterion', { findings: [], judged: JUDGED.slice(1) }, 'does not judge criterion 2 once'],
    ['two of one', { findings: [], judged: [...JUDGED, { n: 1, met: 'no' }] }, 'does not judge criterion 1 once'],
    ['one too many', { findings: [], judged: [...JUDGED, { n: 3, met: 'yes' }] }, 'more criteria than the 2'],
  ])('is not valid with %s', (_, answer, fault) => {
    expect(read(answer)).toEqual({ fault: expect.stringContaining(fault) as string });
  });
});

describe('a risky change', () => {
  const facts = (change: Partial<ChangeFacts>): ChangeFacts => ({
    paths: ['a.js', 'a.test.js'],
    guarded: [],
    story: {},
    ...change,
  });
  it.each<[string, boolean, Partial<ChangeFacts>]>([
    ['a change with its test', false, {}],
    ['no test', true, { paths: ['a.js'] }],
    [
      'no test of its own, but locked ones',
      false,
      { paths: ['a.js'], story: { locked: { command: 't', files: [], cases: [] } } },
    ],
    ['many files', true, { paths: Array.from({ length: 21 }, (_, n) => `${n}.test.js`) }],
    ['a protected path', true, { guarded: ['CLAUDE.md'] }],
    ['a possible secret', true, { story: { suspects: [{ path: 'a.js', names: ['a key'] }] } }],
    ['a lock file', true, { story: { locks: ['package-lock.json'] } }],
    ['a binary file', true, { story: { binary: ['a.png'] } }],
    ['a removed test', true, { story: { tests: { before: 2, after: 1, removed: ['a'], skipped: [], emptied: [] } } }],
  ])('%s: %s', (_, risky, change) => {
    expect(isRisky(facts(change))).toBe(risky);
  });

  it.each([
    [{ review: true }, true],
    [{ Review: 'yes' }, true],
    [{ review: 'on' }, true],
    [{ review: false }, false],
    [{ review: 'after the release' }, false],
    [{}, false],
  ])('a story with %j asks for a review: %s', (extra, asks) => {
    expect(asksForReview({ extra })).toBe(asks);
  });
});
