import { describe, expect, it } from 'vitest';
import { checkClaims } from '../../../src/core/review/criteria.ts';
import { findDoubts, reviewRun, type StoryReview } from '../../../src/core/review/review.ts';
import { attempted, COMMIT, created, held, journalOf, passed } from '../../support/journal.ts';

const reported = [
  { name: 'cart > sums price times quantity', skipped: false },
  { name: 'cart > rounds', skipped: true },
];

it('a claimed test is looked up in the reported tests, whose names may include suites', () => {
  const claims = [{ n: 1, tests: ['sums price times quantity', 'rounds', 'is refused', 'cart'], files: [] }];
  const found = (list: typeof reported | null) => checkClaims(claims, list)[0]?.tests.map((test) => test.found);
  expect(found(reported)).toEqual(['ran', 'skipped', 'missing', 'ran']);
  expect(found(null)).toEqual(['unknown', 'unknown', 'unknown', 'unknown']);
});

describe('the review of a run', () => {
  const begin = created('r1', 1);
  if (begin.type === 'run.created') begin.prd.stories[0]!.acceptance = ['It sums up', 'It rounds'];

  it('joins criteria, claims, gates, tests and usage of the newest attempt', () => {
    const claim = { n: 2, tests: [{ name: 'rounds', found: 'skipped' as const }], files: ['src/cart.ts'] };
    const whose = { story: 'US-001', attempt: 1 };
    const events = journalOf([
      begin,
      { type: 'run.started' },
      ...passed('US-001').slice(0, -1),
      { type: 'criteria.claimed', criteria: [claim], reported: true, ...whose },
      { type: 'tests.compared', before: 1, after: 3, removed: [], skipped: [], emptied: [], ...whose },
      ...passed('US-001').slice(-1),
    ]);
    expect(reviewRun(events)?.stories).toMatchObject([
      {
        id: 'US-001',
        progress: 'passed',
        criteria: [
          { n: 1, text: 'It sums up' },
          { n: 2, claim },
        ],
        gates: [{ command: 'npm test', exitCode: 0, ms: 1200 }],
        tests: { before: 1, after: 3 },
        reported: true,
        usage: { requests: 3 },
      },
    ]);
    const [landed] = reviewRun(events)?.stories ?? [];
    const times = events.filter(({ type }) => type === 'story.started' || type === 'story.ended').map(({ at }) => at);
    expect([landed?.startedAt, landed?.endedAt]).toEqual([times[0], times.at(-1)]);
    const [waiting] = reviewRun(journalOf([begin]))?.stories ?? [];
    for (const absent of ['commit', 'startedAt', 'endedAt']) expect(waiting).not.toHaveProperty(absent);
    const again = journalOf([begin, ...events.slice(1), ...attempted('US-001', 2)]);
    expect(reviewRun(again)?.stories[0]).toMatchObject({ gates: [], attempt: 2 });
    expect(reviewRun(again)?.stories[0]?.criteria[1]).not.toHaveProperty('claim');
  });

  it.each<[what: string, used: string[], model: string]>([
    ['of the author, not of a reviewer after it', ['gpt-5.5', 'claude-sonnet-5-5'], 'gpt-5.5'],
    ['that the agent used instead of the configured one', ['claude-haiku-5-5'], 'claude-haiku-5-5'],
  ])('names the model %s', (_, used, model) => {
    const ref = { story: 'US-001', attempt: 1 };
    const [started, ...rest] = passed('US-001');
    const launched = { type: 'agent.launched', ...ref, agent: 'codex', model: 'gpt-5.5' } as const;
    const usage = { requests: 1, inputTokens: 100, cachedTokens: 0, outputTokens: 10 };
    const requests = used.map(
      (each) => ({ type: 'model.used', ...ref, model: each, usage, told: 'all', tokens: 110, ms: 1 }) as const,
    );
    const events = journalOf([begin, { type: 'run.started' }, started!, launched, ...requests, ...rest]);
    expect(reviewRun(events)?.stories[0]).toMatchObject({ agent: 'codex', model });
  });

  it('keeps what the agent said of an approved commit whose gates run again after a merge', () => {
    const claim = { n: 2, tests: [{ name: 'rounds', found: 'ran' as const }], files: ['src/cart.ts'] };
    const whose = { story: 'US-001', attempt: 1 };
    const approved = [
      begin,
      { type: 'run.started' as const },
      ...attempted('US-001'),
      { type: 'criteria.claimed' as const, criteria: [claim], reported: true, ...whose },
      ...held('US-001').slice(-2, -1),
      { type: 'approval.given' as const, commit: COMMIT, by: 'lena', ...whose },
      ...passed('US-001'),
    ];
    expect(reviewRun(journalOf(approved))?.stories[0]).toMatchObject({
      progress: 'passed',
      criteria: [{ n: 1 }, { n: 2, claim }],
      gates: [{ command: 'npm test', exitCode: 0 }],
      reported: true,
    });
    const again = reviewRun(journalOf([...approved, ...attempted('US-001', 2)]));
    expect(again?.stories[0]?.criteria[1]).not.toHaveProperty('claim');
  });
});

describe('doubts about a story', () => {
  const review = (criteria: string[], tests?: { before: number; after: number }): StoryReview => ({
    id: 'A',
    title: 'A',
    progress: 'passed',
    attempt: 1,
    maxAttempts: 3,
    criteria: criteria.map((text, index) => ({ n: index + 1, text })),
    gates: [],
    findings: [],
    usage: { requests: 0, inputTokens: 0, cachedTokens: 0, outputTokens: 0 },
    ...(tests && { tests: { ...tests, removed: [], skipped: [], emptied: [] } }),
  });
  const file = (path: string) => ({ path, hunks: 1, added: 1, removed: 0 });

  it('are raised if it adds no test and changes no file that its criteria name', () => {
    expect(findDoubts(review(['`total(cart)` in src/cart.js sums up']), [file('src/b.js')])).toEqual([
      'It adds no test.',
      'It changes none of the files that its criteria name: src/cart.js.',
    ]);
    expect(findDoubts(review(['see src/Cart.js']), [file('test_a.py')])).toHaveLength(1);
    expect(findDoubts(review([], { before: 3, after: 3 }), [file('src/b.js')])).toEqual([
      'It adds no test: 3 before, 3 after.',
    ]);
  });

  it.each([
    [['total(cart) in src/cart.js'], ['src/cart.js', 'test/cart.test.js']],
    [['cart.js exports total'], ['packages/shop/src/cart.js', 'packages/shop/test_cart.py']],
    [
      ['An empty cart costs 0.5 e.g. nothing in Node.js 20.1, see console.log and https://example.com/a/b.json'],
      ['cart.go', 'cart_test.go'],
    ],
  ])('are not raised for %j', (criteria, paths) => {
    expect(findDoubts(review(criteria), paths.map(file))).toEqual([]);
  });

  it('are not raised if the reports contain more tests', () => {
    expect(findDoubts(review([], { before: 3, after: 4 }), [file('src/lib.rs')])).toEqual([]);
  });
});
