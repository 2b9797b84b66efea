import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { RunView } from '../../src/api/operations/runs.ts';
import type { Cli } from '../../src/cli/cli.ts';
import { reviewText } from '../../src/cli/output/review-text.ts';
import { statusPage } from '../../src/cli/output/status-page.ts';
import type { JournalEntry } from '../../src/core/journal/events.ts';
import { reviewRun } from '../../src/core/review/review.ts';
import type { RunState } from '../../src/core/run/state.ts';
import { toRunView } from '../../src/mcp/tools/run-view.ts';
import { paintPlain } from '../../src/tui/paint.ts';
import { frameOf } from '../../src/tui/top/frame.ts';
import { openState } from '../../src/tui/top/model.ts';
import { update } from '../../src/tui/top/update.ts';
import { renderView } from '../../src/tui/view.ts';
import { outcomeFacts, runFacts, startRows, storyFacts, type Fact, type FactKind } from '../../src/view/facts.ts';
import {
  asked,
  attempted,
  BASE,
  created,
  failed,
  failing,
  gateFailure,
  held,
  journalOf,
  passed,
  stateOf,
} from '../support/journal.ts';

const NOW = '2030-01-01T00:05:00.000Z';
const story = 'US-001';
const ref = { story, attempt: 1 };
const run: JournalEntry = { ...created('r1', 2), priority: -10, selected: [story] };
const started: JournalEntry = { type: 'run.started' };
const noted: JournalEntry = {
  ...{ type: 'files.noted', ...ref, large: [{ path: 'data.bin', bytes: 3_145_728 }], locks: ['web/yarn.lock'] },
};
const broken = (cause: 'base-broken' | 'base-fails') =>
  failing(failed(story), { failure: { ...gateFailure('halt'), cause } });
const end: JournalEntry = { type: 'run.ended', stopReason: 'PARTIAL', detail: 'one of two' };

type Surface = 'halo status' | 'halo show' | 'halo top' | 'halo run' | 'MCP' | 'dashboard';

const EVERYWHERE: Surface[] = ['halo status', 'halo show', 'halo top', 'halo run', 'MCP', 'dashboard'];
/** The summary of `halo run` has the reason of a failed story, and no other facts of it. */
const NOT_IN_SUMMARY = EVERYWHERE.filter((surface) => surface !== 'halo run');

const cli = { paint: paintPlain, terminal: { shown: false } } as unknown as Cli;

/** What each surface draws of a run. */
async function draw(entries: JournalEntry[], more: Partial<RunView> = {}): Promise<Record<Surface, string>> {
  const state = stateOf(...entries);
  const view: RunView = { state, workers: 1, dir: '/halo/runs/r1', record: {}, ...more };
  const shown = state.stories[0]!;
  const [review] = reviewRun(journalOf(entries))!.stories;
  const listed = update(openState({ now: NOW, width: 200, height: 50, where: '' }), {
    ...{ type: 'listed', runs: [state], older: 0 },
  } as const);
  const opened = update(listed, { type: 'key', key: 'enter' });
  const top = update(opened, { type: 'viewed', view, settings: [] });
  const reviewed = { review: review!, files: [], doubts: [], words: 'gates', facts: storyFacts(shown) };
  const size = { width: 200, height: 50 };
  return {
    'halo status': statusPage(view, cli).join('\n'),
    'halo show': reviewText(reviewed, { paint: paintPlain, width: 200 }).join('\n'),
    'halo top': frameOf(top, paintPlain).join('\n'),
    'halo run': renderView({ ...size, state, recent: [], now: NOW, paint: paintPlain, dir: view.dir }).join('\n'),
    MCP: JSON.stringify(toRunView(view)),
    dashboard: await drawFacts(storyFacts(shown)),
  };
}

/** The texts of the dashboard's list of facts, which no browser has to draw. */
async function drawFacts(facts: readonly Fact[]): Promise<string> {
  const file = join(import.meta.dirname, '../../src/web/run/run-header.tsx');
  const { FactList } = (await import(file)) as { FactList: (props: { facts: readonly Fact[] }) => unknown };
  return textOf(FactList({ facts }));
}

function textOf(node: unknown): string {
  if (Array.isArray(node)) return node.map(textOf).join(' ');
  if (typeof node === 'string') return node;
  const { type, props } = (node ?? {}) as { type?: unknown; props?: { children?: unknown } };
  if (typeof type === 'function') return textOf((type as (given: unknown) => unknown)(props));
  return textOf(props?.children ?? '');
}

describe('a fact of a story', () => {
  it.each<[string, JournalEntry[], [FactKind, string][], Surface[]]>([
    [
      'what its commit adds',
      [run, started, ...attempted(story), noted, ...passed(story).slice(-1), end],
      [
        ['large', 'adds data.bin (3.0 MiB)'],
        ['locks', 'changes web/yarn.lock'],
      ],
      EVERYWHERE,
    ],
    [
      'what halo put back before its gate',
      [
        ...[run, started, ...attempted(story)],
        { type: 'tree.restored', ...ref, command: 'npm test', changed: ['a.lock'], removed: [], more: 0 },
        ...passed(story).slice(-1),
        end,
      ],
      [['tree', 'changes of setup or earlier gates were reverted before a gate: put back a.lock']],
      EVERYWHERE,
    ],
    [
      'a gate that fails on its base in the same way',
      [run, started, ...broken('base-broken'), end],
      [['base', 'the failed gate fails on the base commit in the same way']],
      NOT_IN_SUMMARY,
    ],
    [
      'a gate that fails on its base in another way',
      [run, started, ...broken('base-fails'), end],
      [['base', 'the failed gate fails on the base commit as well']],
      NOT_IN_SUMMARY,
    ],
    [
      'a question about a broken base',
      [
        ...[run, started],
        ...asked(story, 'Repair it?').map((entry): JournalEntry =>
          entry.type === 'story.ended' && entry.verdict === 'needs_human'
            ? { ...entry, question: { cause: 'base-broken' } }
            : entry,
        ),
      ],
      [['base', 'the failed gate fails on the base commit in the same way']],
      EVERYWHERE,
    ],
    ['nothing of a gate that its base passes', [run, started, ...failed(story), end], [], EVERYWHERE],
    [
      'nothing of a base whose gate a later attempt repaired',
      [run, started, ...broken('base-fails'), ...passed(story).map((entry) => ({ ...entry, attempt: 2 })), end],
      [],
      EVERYWHERE,
    ],
  ])('is %s, on every surface', async (_what, entries, expected, surfaces) => {
    const drawn = await draw(entries);
    const facts = storyFacts(stateOf(...entries).stories[0]!);
    expect(facts.map(({ kind, value, tone }) => [kind, value, tone])).toEqual(
      expected.map(([kind, value]) => [kind, value, 'warn']),
    );
    for (const surface of surfaces) for (const { value } of facts) expect(drawn[surface], surface).toContain(value);
  });
});

it('a run names the agents that its stories had, also after its end', () => {
  const choice = { agent: 'claude', by: 'story' } as const;
  const [first, ...rest] = passed(story);
  const agents = (...entries: JournalEntry[]) =>
    runFacts({ state: { ...stateOf(run, started, ...entries, end), agent: 'codex' }, workers: 1 }, NOW).find(
      ({ kind }) => kind === 'agent',
    )?.value;
  expect(agents({ ...first!, choice } as JournalEntry, ...rest)).toBe('codex; for some stories claude');
  expect(agents(...passed(story))).toBe('codex');
});

it('an agent or a model that was chosen has a label that fits both', () => {
  const choices = [
    { agent: 'claude', by: 'story' },
    { agent: 'codex', model: 'gpt-5.4', by: 'route', route: 1 },
  ] as const;
  expect(choices.flatMap((choice) => startRows({ choice })).map(({ label, value }) => `${label} ${value}`)).toEqual([
    'chosen claude (its fields in the PRD)',
    'chosen codex, gpt-5.4 (route 1)',
  ]);
});

describe('why a story failed, or what it asks,', () => {
  it.each<[string, JournalEntry[], Pick<Fact, 'kind' | 'value'>[]]>([
    [
      'is the reason of a failed story',
      [run, started, ...failed(story), end],
      [{ kind: 'failed', value: 'GATE_FAILED: npm test exited with 1' }],
    ],
    [
      'is the question of a story with its options',
      [
        ...[run, started],
        ...asked(story).map((entry): JournalEntry =>
          entry.type === 'story.ended' && entry.verdict === 'needs_human'
            ? { ...entry, question: { options: ['EUR', 'USD'] } }
            : entry,
        ),
      ],
      [
        { kind: 'asks', value: 'Which currency?' },
        { kind: 'option', value: '1. EUR' },
        { kind: 'option', value: '2. USD' },
      ],
    ],
    [
      'is why a commit waits for approval',
      [run, started, ...held(story)],
      [{ kind: 'asks', value: 'the gates pass, but it changes protected paths: .github/workflows/ci.yml' }],
    ],
    ['is nothing of a story that passed', [run, started, ...passed(story), end], []],
    [
      'is nothing of a story that a person left out',
      [run, started, ...failed(story), { type: 'story.cancelled', ...ref, by: 'ann' }, end],
      [],
    ],
  ])('%s, in the summary of halo run and in halo top', async (_what, entries, expected) => {
    const drawn = await draw(entries);
    const facts = outcomeFacts(stateOf(...entries).stories[0]!);
    expect(facts.map(({ kind, value }) => ({ kind, value }))).toEqual(expected);
    for (const surface of ['halo run', 'halo top'] as const)
      for (const { value } of facts) expect(drawn[surface], surface).toContain(value);
  });
});

/** The kinds that no surface but `halo status` shows as a fact: other parts of the surface show them, or there is no room. */
const OMITTED: Partial<Record<Surface, FactKind[]>> = {
  'halo top': ['project', 'stories', 'settings', 'user', 'priority', 'batch', 'time', 'snapshot'],
  MCP: ['project', 'repo', 'used'],
};

it('a fact of a run is the same in halo status, halo top and MCP', async () => {
  const entries: JournalEntry[] = [run, started, ...passed(story)];
  const pull = { why: 'the forge does not answer', retryAt: '2030-01-01T00:06:00.000Z' };
  const view = { pull, workers: 0, record: { config: { land: { mode: 'worktree' } } } };
  const drawn = await draw(entries, view);
  const facts = runFacts({ state: stateOf(...entries), dir: '/halo/runs/r1', ...view }, NOW);
  for (const surface of ['halo status', 'halo top', 'MCP'] as const)
    for (const { kind, value } of facts) {
      // `halo status` and MCP read the time themselves.
      if (OMITTED[surface]?.includes(kind) || kind === 'time' || kind === 'pull') continue;
      expect(drawn[surface], `${surface}: ${kind}`).toContain(
        surface === 'MCP' ? JSON.stringify(value).slice(1, -1) : value,
      );
    }
  expect(facts.map(({ kind }) => kind)).toEqual([
    ...['project', 'repo', 'prd', 'stories', 'waiting', 'user', 'priority', 'time', 'used', 'commits', 'worktree'],
    'pull',
  ]);
  const ended = stateOf(...entries, end);
  const summary = renderView({
    state: ended,
    recent: [],
    now: NOW,
    width: 160,
    height: 40,
    paint: paintPlain,
    dir: '',
  });
  expect(summary.join('\n')).toContain(runFacts({ state: ended }, NOW).find(({ kind }) => kind === 'used')?.value);
});

it('the facts of a run have labels and safe values, in one order', () => {
  const state: RunState = { ...stateOf(run, started, ...attempted(story), noted), project: 'shop\u001b[2J' };
  expect(runFacts({ state }, NOW).map(({ label, value }) => `${label}: ${value}`)).toEqual([
    'project: shop<U+001B>[2J',
    'repo: /home/me/shop (main)',
    'prd: /home/me/shop/prd.json',
    'stories: US-001, of 2 in the PRD',
    expect.stringMatching(/^user: /),
    expect.stringMatching(/^priority: /),
    expect.stringMatching(/^time: /),
    'branch: halo/r1, no commit yet',
  ]);
  const landed = { ...state, tip: 'f'.repeat(40), landed: { branch: 'main', to: 'f'.repeat(40) } };
  expect(runFacts({ state: landed }, NOW)).toContainEqual({
    ...{ kind: 'commits', label: 'commits' },
    value: `${BASE.slice(0, 7)}..fffffff on halo/r1, landed on main`,
  });
});

describe('halo top', () => {
  const frame = (entries: JournalEntry[], workers = 1) => {
    const state = stateOf(...entries);
    const listed = update(openState({ now: NOW, width: 160, height: 40, where: '' }), {
      ...{ type: 'listed', runs: [state], older: 0 },
    } as const);
    const taker = { id: 'any-1', takes: 'any', host: 'h', pid: 1, since: NOW, draining: false } as const;
    return {
      run: () => frameOf(update(listed, { type: 'key', key: 'enter' }), paintPlain).join('\n'),
      workers: () => {
        const known = update(listed, {
          type: 'workers-listed',
          outages: [],
          workers: workers === 0 ? [] : [taker],
        });
        return frameOf(
          ['g', 'w'].reduce((state, key) => update(state, { type: 'key', key }), known),
          paintPlain,
        ).join('\n');
      },
    };
  };

  it('names a failed story also after the run was cancelled', () => {
    const cancelled: JournalEntry = { type: 'run.ended', stopReason: 'USER_ABORT', detail: 'cancelled by ann' };
    const drawn = frame([run, started, ...failed(story), cancelled]).run();
    expect(drawn).toMatch(/story +US-001 {2}failed: npm test/);
    expect(drawn).toMatch(/failed +GATE_FAILED: npm test exited with 1/);
  });

  it('names a missing worker before the reason of a story', () => {
    const first = { ...created('r1', 2) };
    const needs = first.prd.stories.map((each) => ({ ...each, dependsOn: each.id === story ? ['US-002'] : [] }));
    const waits: JournalEntry[] = [{ ...first, prd: { ...first.prd, stories: needs } }];
    const row = (workers: number) =>
      frame(waits, workers)
        .workers()
        .split('\n')
        .find((line) => line.includes('US-001'));
    expect(row(0)).toMatch(/no worker is running: start one with `halo worker`; waiting for US-002$/);
    expect(row(1)).toMatch(/ waiting for US-002$/);
  });
});
