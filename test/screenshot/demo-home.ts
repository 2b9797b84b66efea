import type { JournalEntry } from '../../src/core/journal/events.ts';
import type { Judged } from '../../src/core/journal/event-parts.ts';
import { newRunId } from '../../src/lib/run-id.ts';
import { openStore } from '../../src/store/store.ts';
import { created, gateFailure } from '../support/journal.ts';

/** When the picture is taken: everything in the home happened before. */
export const NOW = new Date('2026-05-12T14:32:00Z');

interface Story {
  title: string;
  /** What happened to it, the newest state. */
  is: 'passed' | 'pending' | 'failed' | 'held' | 'asked' | 'prepare' | 'agent' | 'gates';
}

interface DemoRun {
  project: string;
  user: string;
  /** Minutes before the picture at which it was submitted. */
  ago: number;
  stories: Story[];
  then?: JournalEntry[];
}

const COMMIT = 'abcdef0123456789abcdef0123456789abcdef01';
const stories = (is: Story['is'], ...titles: string[]): Story[] => titles.map((title) => ({ title, is }));

const RUNS: DemoRun[] = [
  {
    ...{ project: 'shop', user: 'maria', ago: 14 },
    stories: [
      ...stories('passed', 'Sum up the cart', 'Show the total on the cart page'),
      ...stories('agent', 'Apply a voucher to the cart'),
      ...stories('gates', 'Keep the cart after signing in'),
      ...stories('pending', 'Send the order by mail', 'Cancel an order'),
    ],
  },
  {
    ...{ project: 'billing', user: 'jonas', ago: 9 },
    stories: [
      ...stories('passed', 'Round amounts to cents'),
      ...stories('agent', 'Export invoices as CSV'),
      ...stories('pending', 'Number invoices without gaps'),
    ],
  },
  {
    ...{ project: 'warehouse', user: 'priya', ago: 6 },
    stories: [
      ...stories('prepare', 'Reserve stock for an order'),
      ...stories('pending', 'Release stock after a timeout'),
    ],
  },
  {
    ...{ project: 'mobile-api', user: 'maria', ago: 31 },
    stories: [
      ...stories('passed', 'List orders by page'),
      ...stories('pending', 'Filter orders by date', 'Cache the list'),
    ],
    then: [{ type: 'run.paused', by: 'maria', now: false }],
  },
  { ...{ project: 'docs-site', user: 'tom', ago: 2 }, stories: stories('pending', 'Check all links', 'Add a search') },
  {
    ...{ project: 'auth', user: 'priya', ago: 52 },
    stories: [
      ...stories('passed', 'Lock an account after ten wrong passwords'),
      ...stories('held', 'Rotate signing keys'),
    ],
    then: [
      {
        type: 'run.ended',
        stopReason: 'NEEDS_HUMAN',
        detail: 'US-002: it changes protected paths: .github/workflows/release.yml',
      },
    ],
  },
  {
    ...{ project: 'reports', user: 'jonas', ago: 75 },
    stories: stories('asked', 'Sum up sales by region'),
    then: [{ type: 'run.ended', stopReason: 'NEEDS_HUMAN', detail: 'US-001: Which time zone do the reports use?' }],
  },
  {
    ...{ project: 'shop', user: 'tom', ago: 130 },
    stories: stories('passed', 'Show product pictures', 'Search products by name', 'Sort products by price'),
    then: [
      { type: 'run.ended', stopReason: 'SUCCESS', detail: '3 of 3 stories passed' },
      { type: 'run.landed', branch: 'main', from: 'a'.repeat(40), to: COMMIT, by: 'maria' },
    ],
  },
  {
    ...{ project: 'search', user: 'priya', ago: 190 },
    stories: [...stories('passed', 'Index product descriptions'), ...stories('failed', 'Rank results by sales')],
    then: [{ type: 'run.ended', stopReason: 'GATE_FAILED', detail: 'US-002: npm test exited with 1' }],
  },
  {
    ...{ project: 'billing', user: 'jonas', ago: 260 },
    stories: stories('passed', 'Remind customers of unpaid invoices'),
    then: [{ type: 'run.ended', stopReason: 'SUCCESS', detail: '1 of 1 stories passed' }],
  },
];

/** Writes the journals of a week at a small company into `home`. The same each time. */
export async function fillDemoHome(home: string): Promise<void> {
  let at = 0;
  const store = openStore(home, { transcribe: () => [], now: () => new Date(at) });
  for (const [index, { project, user, ago, stories, then = [] }] of RUNS.entries()) {
    at = NOW.getTime() - ago * 60_000;
    const runId = newRunId(new Date(at), (bytes) => new Uint8Array(bytes).map((_zero, byte) => index * 31 + byte * 57));
    const source = `https://git.example.com/acme/${project}.git`;
    const first = created(runId, stories.length);
    const prd = {
      ...first.prd,
      project,
      stories: first.prd.stories.map((story, index) => ({ ...story, title: stories[index]?.title ?? '' })),
    };
    const repo = { ...first.repo, source, mirror: `${project}-1` };
    const origin = { haloVersion: '0.1.0', agent: { name: 'codex' as const }, args: [], config: {} };
    await store.createRun({ ...first, repo, prd, user, prdIsHere: false }, origin);
    const entries = stories.flatMap(({ is }, index) => toEntries(`US-00${index + 1}`, is));
    const all: JournalEntry[] = [
      ...(entries.length > 0 ? [{ type: 'run.started' } as const] : []),
      ...entries,
      ...then,
    ];
    // What was running then has run for some time.
    const step = (Math.min(ago - 1, 25) * 60_000) / (all.length + 1);
    for (const entry of all) {
      at += step;
      await store.append(runId, [entry]);
    }
  }
}

type End = Judged & Pick<JournalEntry & { type: 'story.ended' }, 'stopReason' | 'summary' | 'commit' | 'held'>;

function toEntries(story: string, is: Story['is']): JournalEntry[] {
  if (is === 'pending') return [];
  const ref = { story, attempt: 1 };
  const phase = (name: 'prepare' | 'agent' | 'gates'): JournalEntry => ({ type: 'phase.started', ...ref, phase: name });
  const started: JournalEntry[] = [{ type: 'story.started', ...ref, epoch: 1, base: COMMIT }, phase('prepare')];
  if (is === 'prepare') return started;
  if (is === 'agent') return [...started, phase('agent')];
  if (is === 'gates') return [...started, phase('agent'), phase('gates')];
  const usage = { requests: 14, inputTokens: 182_400, cachedTokens: 121_000, outputTokens: 9_350, costUsd: 0.42 };
  const ends: Record<typeof is, End> = {
    passed: { verdict: 'passed', stopReason: 'SUCCESS', summary: 'Done, with tests.', commit: COMMIT },
    failed: {
      verdict: 'failed',
      stopReason: 'GATE_FAILED',
      summary: 'npm test exited with 1',
      failure: gateFailure('hint'),
    },
    asked: { verdict: 'needs_human', stopReason: 'NEEDS_HUMAN', summary: 'Which time zone do the reports use?' },
    held: {
      verdict: 'needs_human',
      stopReason: 'NEEDS_HUMAN',
      summary: 'The gates pass.',
      held: { commit: COMMIT, paths: ['.github/workflows/release.yml'] },
    },
  };
  return [...started, phase('agent'), phase('gates'), { type: 'story.ended', ...ref, usage, ...ends[is] }];
}
