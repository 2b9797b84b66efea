import { describe, expect, test } from 'vitest';
import {
  toEngineNotification,
  wantsNotification,
  toNotification,
  type Notification,
} from '../../../src/features/notifications/core/notification.ts';
import { foldRun } from '../../../src/core/journal/fold-run.ts';
import type { JournalEntry } from '../../../src/core/journal/events.ts';
import { COMMIT, created, failed, journalOf, passed } from '../../support/journal.ts';

const RUN = '0tbq4m8k2dhe7w1';

function notificationsOf(...entries: JournalEntry[]): Notification[] {
  const events = journalOf([created(RUN), ...entries]);
  const state = foldRun(events);
  if (state === undefined) throw new Error('no run');
  return events.flatMap((event) => toNotification(event, state) ?? []);
}

const textsOf = (...entries: JournalEntry[]) =>
  notificationsOf(...entries).map(({ type, title, text }) => [type, title, text]);

const ended = (stopReason: string, detail = 'why') => ({ type: 'run.ended', stopReason, detail }) as JournalEntry;
const [begun] = passed('US-001');
const end = (more: object): JournalEntry => {
  const entry = { ...(passed('US-001').at(-1) as JournalEntry & { type: 'story.ended' }) };
  delete entry.commit;
  return { ...entry, ...more };
};

describe('a notification', () => {
  test.each<[string, JournalEntry[], string[]]>([
    ['a started run', [{ type: 'run.started' }], ['run.started', `shop: run ${RUN} has started`, 'shop']],
    [
      'a successful run',
      [ended('SUCCESS')],
      ['run.succeeded', `shop: run ${RUN} has ended: 0 of 2 stories passed`, 'shop'],
    ],
    [
      'a failed run',
      [ended('GATE_FAILED')],
      ['run.failed', `shop: run ${RUN} has ended with GATE_FAILED: 0 of 2 stories passed`, 'why'],
    ],
    [
      'a run that a user stopped',
      [ended('USER_ABORT')],
      ['run.stopped', `shop: run ${RUN} was stopped: 0 of 2 stories passed`, 'why'],
    ],
    [
      'a landed run',
      [ended('SUCCESS'), { type: 'run.landed', branch: 'main', from: COMMIT, to: COMMIT }],
      ['run.landed', `shop: run ${RUN} has landed on main`, ''],
    ],
    [
      'a budget of which four fifths are spent',
      [{ type: 'budget.warned', scope: 'run', unit: 'usd', limit: 5e6, spent: 4.05e6, story: 'US-001', attempt: 1 }],
      ['budget.warned', "shop: 81 % of this run's budget is spent: $4.05 of $5.00", 'shop'],
    ],
    [
      'an open breaker of a run',
      [{ type: 'breaker.opened', reason: 'three equal failures' }],
      ['breaker.opened', `shop: the circuit breaker of run ${RUN} is open`, 'three equal failures'],
    ],
    [
      'a question',
      [begun!, end({ verdict: 'needs_human', stopReason: 'NEEDS_HUMAN', summary: 'Which\n\ncurrency?' })],
      ['story.question', 'shop: US-001 needs a human', 'Which currency?'],
    ],
    [
      'a commit that waits',
      [
        begun!,
        end({
          verdict: 'needs_human',
          stopReason: 'NEEDS_HUMAN',
          summary: 'done',
          held: { commit: COMMIT, paths: [] },
        }),
      ],
      ['story.approval', 'shop: US-001 waits for your approval', 'done'],
    ],
  ])('reports %s', (_what, entries, expected) => {
    expect(textsOf(...entries)).toContainEqual(expected);
  });

  test('reports a story when it has passed, or has failed without a further retry', () => {
    expect(textsOf(...passed('US-001'))).toEqual([['story.passed', 'shop: US-001 has passed', expect.any(String)]]);
    expect(textsOf(...failed('US-002')).map(([type]) => type)).toEqual(['story.failed']);
  });

  test('does not report what a later event has dealt with', () => {
    const again = { type: 'story.started', story: 'US-002', attempt: 2, epoch: 2, base: COMMIT } as JournalEntry;
    const events = journalOf([created(RUN), ...failed('US-002'), again]);
    const state = foldRun(journalOf([created(RUN), ...failed('US-002')]))!;
    const index = events.findIndex(({ type }) => type === 'story.ended');
    expect(toNotification(events[index]!, state)).toMatchObject({ type: 'story.failed' });
    expect(toNotification(events[index]!, state, events.slice(index + 1))).toBeUndefined();
  });

  test('does not count stories that landed after the end that it is about', () => {
    const events = journalOf([created(RUN), ended('NEEDS_HUMAN'), ...passed('US-001'), ended('PARTIAL')]);
    const titles = events
      .map((event, index) => toNotification(event, foldRun(events)!, events.slice(index + 1)))
      .flatMap((found) => (found?.type === 'run.failed' ? [found.title] : []));
    expect(titles).toEqual([
      `shop: run ${RUN} has ended with NEEDS_HUMAN`,
      `shop: run ${RUN} has ended with PARTIAL: 1 of 2 stories passed`,
    ]);
  });

  test('has the command with which a person continues, and the same id for the same event', () => {
    const entries = [begun!, end({ verdict: 'needs_human', stopReason: 'NEEDS_HUMAN', summary: 'Which?' })];
    const [question] = notificationsOf(...entries);
    expect(question).toMatchObject({
      id: `${RUN}-3`,
      command: `halo answer ${RUN} --story US-001 "…"`,
      story: { id: 'US-001' },
    });
    expect(notificationsOf(...entries)).toEqual([question]);
  });

  test('is one line without control characters, and short', () => {
    const summary = `\u001b[31mred\u202e ${'x'.repeat(2_000)}`;
    const [question] = notificationsOf(begun!, end({ verdict: 'needs_human', stopReason: 'NEEDS_HUMAN', summary }));
    expect(question!.text.length).toBeLessThanOrEqual(400);
    expect(question!.text).not.toMatch(/[\u0000-\u001f\u202e]/);
  });
});

describe('an endpoint', () => {
  const [notification] = notificationsOf(ended('GATE_FAILED'));

  test.each([
    [{ events: ['failed'] }, true],
    [{ events: ['run.failed'] }, true],
    [{ events: ['all'] }, true],
    [{ events: ['needs-person', 'done'] }, false],
    [{ events: ['all'], repositories: ['/home/me/*'] }, true],
    [{ events: ['all'], repositories: ['/srv/*'] }, false],
    [{ events: ['all'], users: ['ben'] }, false],
  ])('wants a failed run with %j: %s', (filter, wanted) => {
    expect(wantsNotification(filter, notification!)).toBe(wanted);
  });

  test.each([
    [{ events: ['needs-person'] }, true],
    [{ events: ['failed'] }, false],
    [{ events: ['all'], repositories: ['*'] }, false],
    [{ events: ['all'], users: ['ada'] }, false],
  ])('wants an engine that takes no stories with %j: %s', (filter, wanted) => {
    const outage = { engine: 'build-2', since: '2030-01-01T00:00:00.000Z', why: 'away' } as const;
    expect(wantsNotification(filter, toEngineNotification(outage))).toBe(wanted);
  });
});
