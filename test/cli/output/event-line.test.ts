import { expect, it } from 'vitest';
import { eventLine } from '../../../src/cli/output/event-line.ts';
import type { JournalEntry } from '../../../src/core/journal/events.ts';
import { applyEvent } from '../../../src/core/journal/fold-run.ts';
import type { RunState } from '../../../src/core/run/state.ts';
import { paintPlain } from '../../../src/tui/paint.ts';
import { created, failed, journalOf, passed } from '../../support/journal.ts';

/** What the operator of a server reads of a journal, without the times. */
function linesOf(entries: JournalEntry[]): string[] {
  let state: RunState | undefined;
  return journalOf(entries).flatMap((event) => {
    state = applyEvent(state, event);
    const line = state && eventLine(event, state, paintPlain);
    return line === undefined ? [] : [line.replace(/^\d\d:\d\d:\d\d {2}/, '')];
  });
}

it('the operator of a server reads one line for each start, end and user command', () => {
  expect(
    linesOf([
      created('r1', 2),
      { type: 'run.started' },
      ...passed('US-001'),
      ...failed('US-002'),
      { type: 'run.paused', by: 'ann@desk', now: true },
      { type: 'run.ended', stopReason: 'PARTIAL', detail: '1 of 2 stories passed' },
    ]),
  ).toEqual([
    'shop r1  submitted by me (2 stories, /home/me/shop)',
    'shop r1  US-001 started',
    'shop r1  US-001 passed abcdef0 12.0s',
    'shop r1  US-002 started',
    'shop r1  US-002 failed npm test exited with 1 12.0s',
    'shop r1  PAUSED by ann@desk',
    'shop r1  PARTIAL 1 of 2 stories passed 28.0s',
  ]);
});

it('a line names the folder of the repository, whatever the PRD calls its project, and the engine of another machine', () => {
  const first = created('r1', 1);
  if (first.type !== 'run.created') throw new Error('a run is created first');
  const source = 'https://git.example.com/team/web-shop.git';
  const start = { type: 'story.started', story: 'US-001', attempt: 1, epoch: 1, base: 'a'.repeat(40) } as const;
  expect(
    linesOf([
      { ...first, repo: { ...first.repo, source }, prd: { ...first.prd, project: 'Checkout' } },
      { type: 'run.started' },
      { ...start, engine: { name: 'build-1', id: 'x' } },
    ]),
  ).toEqual([`web-shop r1  submitted by me (1 story, ${source})`, 'web-shop r1  US-001 started on the engine build-1']);
});
