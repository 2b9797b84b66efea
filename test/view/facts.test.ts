import { expect, it } from 'vitest';
import type { Cli } from '../../src/cli/cli.ts';
import { reviewText } from '../../src/cli/output/review-text.ts';
import { statusPage } from '../../src/cli/output/status-page.ts';
import type { JournalEntry } from '../../src/core/journal/events.ts';
import { reviewRun } from '../../src/core/review/review.ts';
import { paintPlain } from '../../src/tui/paint.ts';
import { frameOf } from '../../src/tui/top/frame.ts';
import { openState } from '../../src/tui/top/model.ts';
import { update } from '../../src/tui/top/update.ts';
import { runFacts, storyFacts } from '../../src/view/facts.ts';
import { attempted, BASE, created, journalOf, stateOf } from '../support/journal.ts';

const NOW = '2030-01-01T00:05:00.000Z';
const ref = { story: 'US-001', attempt: 1 };
const entries: JournalEntry[] = [
  { ...created('r1', 2), priority: -10, selected: ['US-001'] },
  { type: 'run.started' },
  ...attempted('US-001'),
  { type: 'files.noted', ...ref, large: [{ path: 'data.bin', bytes: 3_145_728 }], locks: ['web/yarn.lock'] },
];

it('a fact of a story is the same in halo status, halo show and halo top', () => {
  const state = stateOf(...entries);
  const facts = storyFacts(state.stories[0]!);
  expect(facts).toEqual([
    { label: 'large', value: 'adds data.bin (3.0 MiB)', tone: 'warn' },
    { label: 'locks', value: 'changes web/yarn.lock', tone: 'warn' },
  ]);
  const cli = { paint: paintPlain, terminal: { shown: false } } as unknown as Cli;
  const view = { state, workers: 1, dir: '/halo/runs/r1', record: {} };
  const [review] = reviewRun(journalOf(entries))!.stories;
  const listed = update(openState({ now: NOW, width: 120, height: 40, where: '' }), {
    ...{ type: 'listed', runs: [state], older: 0 },
  } as const);
  const surfaces = {
    'halo status': statusPage(view, cli),
    'halo show': reviewText(
      { review: review!, files: [], doubts: [], words: 'gates', facts },
      { paint: paintPlain, width: 100 },
    ),
    'halo top': frameOf(update(listed, { type: 'key', key: 'enter' }), paintPlain),
  };
  for (const [surface, lines] of Object.entries(surfaces))
    for (const { value } of facts) expect(lines.join('\n'), surface).toContain(value);
});

it('the facts of a run have labels and safe values, in one order', () => {
  const state = { ...stateOf(...entries), project: 'shop\u001b[2J' };
  expect(runFacts({ state }, NOW).map(({ label, value }) => `${label}: ${value}`)).toEqual([
    'project: shop<U+001B>[2J',
    'repo: /home/me/shop (main)',
    'prd: /home/me/shop/prd.json',
    'stories: US-001, of 2 in the PRD',
    expect.stringMatching(/^user: /),
    expect.stringMatching(/^priority: /),
    expect.stringMatching(/^time: /),
  ]);
  const landed = { ...state, tip: 'f'.repeat(40), landed: { branch: 'main', to: 'f'.repeat(40) } };
  expect(runFacts({ state: landed }, NOW)).toContainEqual({
    label: 'commits',
    value: `${BASE.slice(0, 7)}..fffffff on halo/r1, landed on main`,
  });
});
