import { describe, expect, it } from 'vitest';
import type { JournalEntry } from '../../../src/core/journal/events.ts';
import { canMessage } from '../../../src/core/run/actions.ts';
import { MAX_MESSAGES } from '../../../src/core/run/messages.ts';
import { storyOf } from '../../../src/core/run/state.ts';
import { asked, BASE, COMMIT, created, failed, held, passed, stateOf } from '../../support/journal.ts';

const story = 'US-001';
const ref = { story, attempt: 1 };
const start = (): JournalEntry => ({ type: 'story.started', ...ref, epoch: 1, base: BASE });
const sent = (id: string): JournalEntry => ({ type: 'message.sent', ...ref, id, text: 'Use euros.', by: 'ann' });
const after = (...entries: JournalEntry[]) => stateOf(created('r', 2), { type: 'run.started' }, ...entries);

describe('canMessage', () => {
  it.each<[string, JournalEntry[]]>([
    ['has not started', []],
    ['is in progress', [start()]],
    ['has failed', failed(story)],
  ])('accepts a story that %s', (_, entries) => {
    const run = after(...entries);
    expect(canMessage(run, storyOf(run, story))).toBe(true);
  });

  it.each<[string, JournalEntry[], string]>([
    ['waits for approval', held(story), 'halo reject r --story US-001 --feedback'],
    ['was approved', [...held(story), { type: 'approval.given', ...ref, commit: COMMIT, by: 'ann' }], 'halo status r'],
    ['asks a question', asked(story), 'halo answer r --story US-001'],
    ['has passed', passed(story), 'halo reject r --story US-001 --feedback'],
    ['was cancelled', [{ type: 'story.cancelled', ...ref, by: 'ann' }], 'halo status r'],
    ['has all messages', Array.from({ length: MAX_MESSAGES }, (_, nth) => sent(`m${nth}`)), 'halo resume r --replan'],
    [
      'is of a run that was cancelled',
      [start(), { type: 'run.ended', stopReason: 'USER_ABORT', detail: '' }],
      'halo status r',
    ],
  ])('refuses a story that %s', (_, entries, hint) => {
    const run = after(...entries);
    expect(canMessage(run, storyOf(run, story))).toMatchObject({
      code: 'CONTROL_REFUSED',
      hint: expect.stringContaining(hint) as string,
    });
  });
});
