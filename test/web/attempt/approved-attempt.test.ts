import { expect, it } from 'vitest';
import type { JournalEntry, JournalEvent } from '../../../src/core/journal/events.ts';
import { reviewRun } from '../../../src/core/review/review.ts';
import { attemptWords } from '../../../src/view/attempt-words.ts';
import { attemptMs, type AttemptRecord } from '../../../src/core/journal/attempts.ts';
import { RunJournal } from '../../../src/web/run/run-journal.ts';
import { attempted, BASE, COMMIT, created, failed, held, journalOf, passed } from '../../support/journal.ts';

const REF = { story: 'US-001', attempt: 1 } as const;
const WAITED_MS = 3_600_000;
const HELD: JournalEntry[] = [
  created('approve1', 1),
  { type: 'run.started' },
  ...attempted('US-001').slice(0, 3),
  { type: 'agent.launched', ...REF, agent: 'codex', model: 'gpt-5' },
  { type: 'gate.ended', ...REF, command: 'npm test', exitCode: 0, ms: 1200, log: 'gates/1.log' },
  ...held('US-001').slice(-2, -1),
];
const APPROVED: JournalEntry[] = [
  { type: 'approval.given', ...REF, commit: COMMIT, by: 'lena' },
  { type: 'story.started', ...REF, epoch: 2, base: BASE },
  { type: 'gate.ended', ...REF, command: 'npm test', exitCode: 0, ms: 1200, log: 'gates/onto-1/1.log' },
];

/** A journal in which an hour passes before the approval. */
function journalOfApproval(...last: JournalEntry[]): JournalEvent[] {
  return journalOf([...HELD, ...APPROVED, ...last]).map((event, index) => {
    const waited = index < HELD.length ? 0 : WAITED_MS;
    return { ...event, at: new Date(Date.parse(event.at) + waited).toISOString() };
  });
}

function recordOf(events: readonly JournalEvent[]): AttemptRecord {
  const journal = new RunJournal();
  journal.add(events);
  return journal.attemptOf('US-001', 1)!;
}

it('an approved attempt that lands later keeps its agent, its commands and who approved it', () => {
  const record = recordOf(journalOfApproval(...passed('US-001').slice(-1)));
  expect(attemptWords(record, false).text).toBe('passed, approved by lena');
  expect(record.agent).toMatchObject({ agent: 'codex', model: 'gpt-5' });
  expect(record.commands.map(({ log }) => log)).toEqual(['gates/1.log', 'gates/onto-1/1.log']);
});

it('the time of an approved attempt is that of both of its parts, without the wait', () => {
  const events = journalOfApproval(...passed('US-001').slice(-1));
  const record = recordOf(events);
  // Events are a second apart: HELD from its third entry on, then the second part from its start to its end.
  const ms = (HELD.length - 3 + 2) * 1_000;
  expect(attemptMs(record, record.end!.at)).toBe(ms);
  expect(reviewRun(events)?.stories).toMatchObject([{ id: 'US-001', ms }]);
});

it.each([
  ['fails', failed('US-001').slice(-1), 'failed: gate'],
  ['needs approval again', held('US-001').slice(-2, -1), 'waiting for approval'],
])('an approved attempt that %s does not say that it is approved', (_name, last, text) =>
  expect(attemptWords(recordOf(journalOfApproval(...last)), false).text).toContain(text),
);
