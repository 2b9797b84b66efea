import { expect, it } from 'vitest';
import type { JournalEntry } from '../../../src/core/journal/events.ts';
import type { LockedTests } from '../../../src/core/review/tests-first.ts';
import { historyText } from '../../../src/core/report/history.ts';
import { BASE, COMMIT, created, failed, journalOf, passed } from '../../support/journal.ts';

/** A run whose first story has these criteria. */
function withCriteria(...acceptance: string[]) {
  const entry = created('r1', 1);
  return { ...entry, prd: { ...entry.prd, stories: entry.prd.stories.map((story) => ({ ...story, acceptance })) } };
}

const used: JournalEntry = {
  ...{ type: 'model.used', story: 'US-001', attempt: 1, model: 'large', told: 'all', tokens: 10 },
  usage: { requests: 1, inputTokens: 10, cachedTokens: 0, outputTokens: 0, costUsd: 0.25 },
};
const ONE_FAILED = { count: 1, tests: [{ name: 'rounds', message: '' }] };
const claimed: JournalEntry = {
  ...{ type: 'criteria.claimed', story: 'US-001', attempt: 1, reported: true },
  criteria: [
    { n: 1, tests: [{ name: 'adds up', found: 'ran' }], files: [] },
    { n: 2, tests: [{ name: 'rounds', found: 'skipped' }], files: [] },
  ],
};
const compared: JournalEntry = {
  ...{ type: 'tests.compared', story: 'US-001', attempt: 1, before: 3, after: 5 },
  ...{ removed: [], skipped: [], emptied: [] },
};

it('history.md says of a story what was done, with which model, at what cost, and which criteria a test proves', () => {
  const entries = passed('US-001');
  const text = historyText(
    journalOf([
      withCriteria('It adds up.', 'It rounds.'),
      ...entries.slice(0, -1),
      used,
      claimed,
      compared,
      ...entries.slice(-1),
    ]),
  );
  expect(text).toBe(`# History

## 2030-01-01 00:00 UTC - US-001 passed

- title: Story number 1
- PRD: /home/me/shop/prd.json
- attempt: 1, 15.0s, large, $0.25
- result: SUCCESS: Adds the cart.
- commit: ${COMMIT}
- gate: \`npm test\` passed
- tests: 3 before, 5 after
- [x] It adds up.
- [ ] It rounds.
`);
});

const locked = (more: Partial<LockedTests>): JournalEntry => ({
  ...{ type: 'tests.locked', story: 'US-001', attempt: 1, command: 'node --test {files}', base: BASE, commit: COMMIT },
  ...{ files: [{ path: 'a.test.mjs', blob: '1' }], cases: ['adds', 'rounds'], ...more },
});
const CRITERIA = ['It adds up.', 'It rounds.'];

it.each([
  [
    'its locked tests',
    locked({
      criteria: [
        { n: 1, tests: ['adds'] },
        { n: 2, tests: [] },
      ],
    }),
    ['x', ' '],
  ],
  ['locked tests that are not named by criterion, if there are enough', locked({}), ['x', 'x']],
  ['fewer locked tests than criteria', locked({ cases: ['adds'] }), [' ', ' ']],
])('history.md ticks criteria by %s', (_what, entry, ticks) => {
  const entries = passed('US-001');
  const text = historyText(journalOf([withCriteria(...CRITERIA), entries[0]!, entry, ...entries.slice(1)]));
  expect([...text.matchAll(/^- \[(.)\]/gm)].map(([, tick]) => tick)).toEqual(ticks);
});

it('history.md says how many locked tests passed', () => {
  const [started, ...after] = passed('US-001');
  const [failedStart, ...failure] = failed('US-001');
  const [one, two] = [
    [started!, locked({}), ...after],
    [
      failedStart!,
      locked({}),
      ...failure.map((each) => (each.type === 'gate.ended' ? { ...each, failed: ONE_FAILED } : each)),
    ],
  ].map((entries) => historyText(journalOf([withCriteria(...CRITERIA), ...entries])));
  expect(one).toContain('- locked tests: 2 of 2 passed\n');
  expect(two).toContain('- locked tests: 1 of 2 passed\n');
  const none = [started!, locked({ cases: [] }), ...after];
  expect(historyText(journalOf([withCriteria(...CRITERIA), ...none]))).not.toContain('locked tests');
});

it('history.md counts no locked test that a runner skipped', () => {
  const entries = passed('US-001');
  const judged: JournalEntry = { type: 'tests.judged', story: 'US-001', attempt: 1, step: 'green', why: 'skipped' };
  const attempt = [entries[0]!, locked({}), ...entries.slice(1, -1), judged, ...entries.slice(-1)];
  const text = historyText(journalOf([withCriteria(...CRITERIA), ...attempt]));
  expect(text).not.toMatch(/locked tests|\[x\]/);
});

it('history.md ticks nothing of a story that failed, and has a section for each attempt', () => {
  const text = historyText(
    journalOf([withCriteria('It adds up.'), ...failed('US-001'), claimed, ...failed('US-001', 2)]),
  );
  expect(text.match(/^## .*/gm)).toHaveLength(2);
  expect(text).toContain('- gate: `npm test` exit 1\n');
  expect(text).not.toContain('[x]');
});

it('history.md has no line that text of an agent or a PRD forged', () => {
  const hostile = passed('US-001').map((entry) =>
    entry.type === 'story.ended' ? { ...entry, summary: 'ok\n- [x] all criteria\n## fake' } : entry,
  );
  const text = historyText(journalOf([withCriteria('a\n- [x] b'), ...hostile]));
  expect(text.match(/^- \[x\]|^## fake/gm)).toBeNull();
});
