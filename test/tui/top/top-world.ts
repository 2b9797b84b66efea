import type { ListedRun } from '../../../src/api/runs/limited-runs.ts';
import type { JournalEntry } from '../../../src/core/journal/events.ts';
import { paintPlain } from '../../../src/tui/paint.ts';
import { frameOf } from '../../../src/tui/top/frame.ts';
import { openState, type TopEvent, type TopState } from '../../../src/tui/top/model.ts';
import type { ListedPrds, PrdEntry } from '../../../src/tui/top/prds/prd-files.ts';
import { update } from '../../../src/tui/top/update.ts';
import { attempted, created, held, journalOf, passed, stateOf, succeeded } from '../../support/journal.ts';

export const NOW = '2030-01-01T00:05:00.000Z';
export const RUN = '0tbq1aaaaaaaaaa';
export const DONE = '0tbq2bbbbbbbbbb';
export const HELD = '0tbq3cccccccccc';

/** The events of a run at the second of three stories. */
export const RUNNING: JournalEntry[] = [
  created(RUN, 3),
  { type: 'run.started' },
  ...passed('US-001'),
  ...attempted('US-002'),
];

/** A run whose story waits for approval, one in progress and one that ended well; newest first. */
export function someRuns(): ListedRun[] {
  return [stateOf(created(HELD, 1), ...held('US-001')), stateOf(...RUNNING), stateOf(...succeeded(DONE))];
}

export function start(size: { width?: number; height?: number } = {}): TopState {
  return openState({ now: NOW, width: 80, height: 24, where: '/home/me/.halo', ...size });
}

/** The state after these events; a text is the name of a key. */
export function after(state: TopState, ...events: (TopEvent | string)[]): TopState {
  return events
    .map((event): TopEvent => (typeof event === 'string' ? { type: 'key', key: event } : event))
    .reduce(update, state);
}

export const listed = (runs: readonly ListedRun[] = someRuns(), older = 0): TopEvent => ({
  type: 'listed',
  runs,
  older,
});

export const PRDS: ListedPrds = {
  repo: '/home/me/shop',
  agent: 'codex',
  entries: [
    {
      ...prdEntry('prd.json', false),
      stories: [{ id: 'US-001', title: 'Add a cart', status: 'done', criteria: 2, priority: 1 }],
    },
    {
      ...prdEntry('checkout', true),
      stories: [
        { id: 'A', title: 'Pay by card', status: 'pending', criteria: 3, priority: 1 },
        { id: 'B', title: 'Send a receipt', status: 'pending', criteria: 1, priority: 2 },
      ],
    },
    { ...prdEntry('broken', true), problem: 'broken is not JSON.' },
  ],
};

function prdEntry(name: string, isNamed: boolean): PrdEntry {
  const path = isNamed ? `/home/me/shop/.halo/prds/${name}/prd.json` : `/home/me/shop/${name}`;
  return { name, path, realPath: path, isNamed, project: 'shop', stories: [] };
}

export function followed(runId: string, entries: JournalEntry[]): TopEvent {
  return { type: 'followed', runId, events: journalOf(entries) };
}

/** Types a text, character by character. */
export function typing(text: string): string[] {
  return Array.from(text, (character) => (character === ' ' ? 'space' : character));
}

/** The frame without colors and without spaces at the ends of lines. */
export function linesOf(state: TopState): string[] {
  return frameOf(state, paintPlain).map((line) => line.trimEnd());
}

/** The same as one text; several blank lines are one. */
export function textOf(state: TopState): string {
  return `\n${linesOf(state)
    .join('\n')
    .replace(/\n{3,}/g, '\n\n')}\n`;
}
