import { describe, expect, it } from 'vitest';
import type { JournalEntry } from '../../../src/core/journal/events.ts';
import type { Phase } from '../../../src/core/journal/phase.ts';
import { messageRoute, messageState, type ShownHow } from '../../../src/core/run/messages.ts';
import { storyOf } from '../../../src/core/run/state.ts';
import { BASE, created, failed, passed, stateOf } from '../../support/journal.ts';

const story = 'US-001';
const ref = { story, attempt: 1 };
const start = (epoch = 1): JournalEntry => ({ type: 'story.started', ...ref, epoch, base: BASE });
const enter = (phase: Phase): JournalEntry => ({ type: 'phase.started', ...ref, phase });
const launched = { type: 'agent.listens', ...ref } satisfies JournalEntry;
const deaf: JournalEntry = { type: 'agent.launched', ...ref, agent: 'gemini' };
const sent = (id = 'm1'): JournalEntry => ({ type: 'message.sent', ...ref, id, text: 'Use euros.', by: 'ann' });
const shown = (how: ShownHow, ...ids: string[]): JournalEntry => ({ type: 'message.delivered', ...ref, ids, how });
const ended: JournalEntry = { type: 'run.ended', stopReason: 'INFRASTRUCTURE', detail: 'x' };
const returned: JournalEntry = { type: 'story.returned', ...ref };

const postponed: JournalEntry = {
  ...{ type: 'story.postponed', ...ref, model: 'm', by: 'provider', why: 'It asked for a pause.' },
  notBefore: '2030-01-02T00:00:00.000Z',
};
/** The engine went away, and the attempt begins again later. */
const disturbed: JournalEntry[] = [
  { type: 'story.disturbed', ...ref, class: 'infrastructure', stopReason: 'MISSING_DEPENDENCY', summary: 'x' },
  { type: 'retry.scheduled', ...ref, class: 'infrastructure', rule: 'wait', nth: 1, of: 3, notBefore: '2030-01-02T00:00:00.000Z', why: 'x' }, // prettier-ignore
];

const after = (...entries: JournalEntry[]) => stateOf(created('r', 2), { type: 'run.started' }, ...entries);
const first = (...entries: JournalEntry[]) => storyOf(after(...entries), story);

describe('where a message goes', () => {
  it.each<[string, JournalEntry[], string]>([
    ['before an attempt', [], 'next'],
    ['when it has begun', [start()], 'prompt'],
    ['during setup', [start(), enter('setup')], 'prompt'],
    ['when an agent works that takes messages', [start(), enter('agent'), launched], 'live'],
    [
      'when an agent works that takes them after its turn',
      [start(), enter('agent'), { ...launched, when: 'after' }],
      'after',
    ],
    ['when an agent works that takes none', [start(), enter('agent'), deaf], 'next'],
    ['when an agent writes tests first', [start(), enter('tests'), launched], 'live'],
    ['between tests and implementation', [start(), enter('tests'), launched, enter('red')], 'prompt'],
    ['during the gates', [start(), enter('agent'), launched, enter('export'), enter('gates')], 'next'],
    ['after its worker died', [start(), enter('agent'), launched, start(2)], 'prompt'],
    ['after its worker stopped', [start(), enter('agent'), launched, returned], 'prompt'],
    ['while its attempt waits for the model', [start(), enter('agent'), launched, postponed], 'prompt'],
    ['while its attempt waits for its engine', [start(), enter('agent'), launched, ...disturbed], 'prompt'],
    ['while its attempt waits for its engine during the gates', [start(), enter('gates'), ...disturbed], 'prompt'],
    ['after a failure', failed(story), 'next'],
  ])('%s', (_, entries, route) => expect(messageRoute(first(...entries))).toBe(route));
});

describe('what has become of a message', () => {
  const works = [start(), enter('agent'), launched];
  it.each<[string, JournalEntry[], string]>([
    ['waits for the first attempt', [sent()], 'prompt'],
    ['is in the prompt of the attempt', [sent(), start(), shown('prompt', 'm1'), ...works.slice(1)], 'delivered'],
    ['waits for the agent that works', [...works, sent()], 'queued'],
    ['waits for the end of its turn', [start(), enter('agent'), { ...launched, when: 'after' }, sent()], 'queued'],
    ['was read by the agent that works', [...works, sent(), shown('live', 'm1')], 'delivered'],
    ['was read before another one', [...works, sent('m0'), sent(), shown('live', 'm0')], 'queued'],
    ['is shown to the next agent again', [...works, sent(), shown('live', 'm1'), start(2)], 'prompt'],
    ['came while the attempt waits for the model', [...works, postponed, sent()], 'prompt'],
    ['came after the end of the run', [...works, ended, sent()], 'prompt'],
    ['came after the agent', [...works, enter('gates'), sent()], 'prompt'],
    ['came after the agent of a story that passed', [sent(), ...passed(story)], 'missed'],
    [
      'was read by the agent of a story that passed',
      [...works, sent(), shown('live', 'm1'), ...passed(story)],
      'delivered',
    ],
  ])('%s', (_, entries, state) => {
    const given = first(...entries);
    expect(messageState(given, given.messages!.at(-1)!)).toBe(state);
  });

  it('keeps text, author and time in the order in which they were sent', () => {
    const { messages } = first(sent('a'), sent('b'));
    expect(messages).toMatchObject([{ id: 'a', text: 'Use euros.', by: 'ann' }, { id: 'b' }]);
    expect(messages![0]!.at).toMatch(/^\d{4}-/);
  });
});
