import { describe, expect, it } from 'vitest';
import type { JournalEntry } from '../../../src/core/journal/events.ts';
import type { MessageRoute } from '../../../src/core/run/messages.ts';
import { chooseStory, routeSentence } from '../../../src/core/run/message-target.ts';
import { BASE, created, failed, passed, stateOf } from '../../support/journal.ts';

const start = (story: string): JournalEntry => ({ type: 'story.started', story, attempt: 1, epoch: 1, base: BASE });
const run = (...entries: JournalEntry[]) => stateOf(created('r', 3), { type: 'run.started' }, ...entries);

describe('the story that gets a message', () => {
  it.each<[string, JournalEntry[], string | undefined, string]>([
    ['the named one', [start('US-001')], 'US-002', 'US-002'],
    ['the one in progress', [start('US-002')], undefined, 'US-002'],
    ['the only one that is left', [...passed('US-001'), ...passed('US-002')], undefined, 'US-003'],
  ])('is %s', (_, entries, named, id) => expect(chooseStory(run(...entries), named).id).toBe(id));

  it.each<[string, JournalEntry[], string | undefined, object]>([
    ['is unknown', [], 'US-9', { code: 'STORY_NOT_FOUND' }],
    [
      'could be any of several',
      [start('US-001'), start('US-002')],
      undefined,
      { code: 'USAGE', message: 'Several stories can get the message: US-001, US-002.' },
    ],
    [
      'does not exist any more',
      [...passed('US-001'), ...passed('US-002'), ...passed('US-003')],
      undefined,
      { code: 'CONTROL_REFUSED' },
    ],
  ])('%s: refused', (_, entries, named, error) => {
    let thrown: unknown;
    try {
      chooseStory(run(...entries), named);
    } catch (caught) {
      thrown = caught;
    }
    expect(thrown).toMatchObject(error);
  });
});

describe('where a message goes, as a sentence', () => {
  const ended: JournalEntry = { type: 'run.ended', stopReason: 'ATTEMPTS_EXHAUSTED', detail: '' };
  it.each<[JournalEntry[], MessageRoute, string]>([
    [
      [],
      'live',
      'The message to story US-001 goes to the agent that is working, which reads it after its current step.',
    ],
    [[], 'after', 'The message to story US-001 goes to the agent that is working, which reads it after its turn.'],
    [[], 'prompt', 'The message to story US-001 will be in the prompt of the attempt that has begun.'],
    [[], 'next', 'The message to story US-001 will be in the prompt of the next attempt, if there is one.'],
    [
      [...failed('US-001'), ended],
      'next',
      'The message to story US-001 will be in the prompt of the next attempt, which `halo retry r` starts.',
    ],
  ])('%#', (entries, route, sentence) =>
    expect(routeSentence(run(...entries), { id: 'US-001' }, route)).toBe(sentence),
  );
});
