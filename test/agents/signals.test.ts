import { describe, expect, it } from 'vitest';
import { buildPrompt } from '../../src/agents/prompt/build-prompt.ts';
import { agentAdapter } from '../../src/agents/registry.ts';
import { PROGRAM_AGENTS } from '../support/agent-ids.ts';

const command = agentAdapter('command');

/** How an attempt at US-001 ends whose agent prints these lines and exits with 0. */
function outcomeOf(...lines: string[]) {
  const read = command.createReader({ story: 'US-001', form: 'signals' });
  const answers = lines.flatMap((line) => read(line).answerText ?? []);
  return command.outcome({ exitCode: 0, answerText: answers.at(-1), error: undefined, stderrTail: '' });
}

const block = (...fields: string[]) => ['<!-- HANK_STATUS', ...fields, '-->'];
const answer = (status: string, summary: string) => ({ kind: 'answer', answer: { status, summary } });

describe('an agent that answers with signals', () => {
  it.each<[string[], string, string]>([
    [['Added the cart.', 'STORY_DONE: US-001'], 'ok', 'Added the cart.'],
    [['**STORY_DONE: US-001**'], 'ok', ''],
    [['BLOCKED: Missing database connection string'], 'needs_human', 'Missing database connection string'],
    [['TESTS_GENERATED: US-001'], 'failed', 'The agent wrote tests, but did not finish the story.'],
    [block('STATUS: COMPLETE', 'EXIT_SIGNAL: false', 'RECOMMENDATION: Continue.'), 'ok', 'Continue.'],
    [
      block('STATUS: COMPLETE', 'TASKS_COMPLETED: Added the greeter', 'RECOMMENDATION: #43'),
      'ok',
      'Added the greeter. Next: #43',
    ],
    [['Did it.', ...block('STATUS: COMPLETE', 'TASKS_COMPLETED: 1', 'RECOMMENDATION: #43')], 'ok', 'Did it. Next: #43'],
    [block('STATUS: IN_PROGRESS', 'EXIT_SIGNAL: true'), 'ok', ''],
    [block('STATUS: BLOCKED', 'RECOMMENDATION: Needs a key.'), 'needs_human', 'Needs a key.'],
    [block('STATUS: IN_PROGRESS'), 'failed', 'The agent reported that it is not finished.'],
    [['Did it.', '---HANK_STATUS---', 'STATUS: COMPLETE', '---END_HANK_STATUS---'], 'ok', 'Did it.'],
    [['BLOCKED: no', 'STORY_DONE: US-001'], 'ok', ''],
    [['STORY_DONE: US-001', '{"status":"failed","summary":"After all."}'], 'failed', 'After all.'],
  ])('ends with the last of %j', (lines, status, summary) => {
    expect(outcomeOf(...lines)).toEqual(answer(status, summary));
  });

  it.each(['TESTS_GENERATED: US-001', 'STORY_DONE: US-001'])('ends the session that writes tests with %s', (line) => {
    const read = command.createReader({ story: 'US-001', form: 'signals', testsOnly: true });
    const [, answerText] = ['Wrote three tests.', line].map((each) => read(each).answerText);
    expect(command.outcome({ exitCode: 0, answerText, error: undefined, stderrTail: '' })).toEqual(
      answer('ok', 'Wrote three tests.'),
    );
    const { answerText: other } = read('TESTS_GENERATED: US-002');
    expect(command.outcome({ exitCode: 0, answerText: other, error: undefined, stderrTail: '' })).toMatchObject({
      error: 'The agent reported another story as its own: "US-002".',
    });
  });

  it.each<[string[]]>([
    [['I am done.']],
    [['I think STORY_DONE: US-001 is right']],
    [['<!-- HANK_STATUS', 'STATUS: COMPLETE']],
  ])('gives no answer with %j', (lines) => expect(outcomeOf(...lines).kind).toBe('invalid'));

  it.each(['STORY_DONE: US-002', 'TESTS_GENERATED: US-0012'])('gives no valid answer with %s', (line) => {
    expect(outcomeOf(line)).toMatchObject({
      kind: 'invalid',
      error: expect.stringContaining('another story') as string,
    });
  });

  it('is asked for a signal, and only then', () => {
    const story = {
      ...{
        id: 'US-001',
        storyKey: 'us-001',
        title: 'Cart',
        description: '',
        acceptance: ['adds up'],
        priority: 1,
        notes: '',
      },
      ...{ status: 'pending' as const, dependsOn: [], extra: {} },
    };
    const input = { prd: { project: '', description: '', context: [] }, story, progress: [], guidance: [], gates: [] };
    expect(buildPrompt({ ...input, answer: 'signals' }).text).toMatch(/\nSTORY_DONE: US-001\nBLOCKED: [^{}]*\n$/);
    const prompt = buildPrompt({ ...input, answer: 'signals' }).text.split('\n');
    expect(outcomeOf(...prompt)).toMatchObject({
      kind: 'invalid',
      error: expect.stringContaining('is the example in its prompt') as string,
    });
    expect(outcomeOf(...prompt, 'Did it.', 'STORY_DONE: US-001')).toEqual(answer('ok', 'Did it.'));
    expect(buildPrompt(input).text).not.toContain('STORY_DONE');
    const testsFirst = { command: 'npm test', write: ['*.test.js'] };
    expect(buildPrompt({ ...input, answer: 'signals', testsFirst }).text).toMatch(
      /these lines:\nTESTS_GENERATED: US-001\nBLOCKED: [^{}]*\n$/,
    );
  });

  it('counts signals only if they are configured', () => {
    const read = command.createReader({ story: 'US-001', form: 'json' });
    expect(read('STORY_DONE: US-001').answerText).toBeUndefined();
  });
});

/** Each program without a schema for the answer, and how it prints a message. */
const PROGRAMS = {
  opencode: (text: string) => [JSON.stringify({ type: 'text', part: { text } })],
  gemini: (text: string) => [
    ...text.match(/[^]{1,7}/g)!.map((content) => JSON.stringify({ type: 'message', role: 'assistant', content })),
    JSON.stringify({ type: 'tool_use', tool_name: 'list', tool_id: '1' }),
  ],
};

it('agents whose program has no schema for the answer read signals as well', () => {
  const without = PROGRAM_AGENTS.filter((id) => agentAdapter(id).hasAnswerSchema !== true);
  expect(Object.keys(PROGRAMS)).toEqual(without);
});

describe.each(Object.keys(PROGRAMS) as (keyof typeof PROGRAMS)[])('the messages of %s', (id) => {
  const adapter = agentAdapter(id);
  const outcomeOfMessages = (form: 'json' | 'signals', ...messages: string[]) => {
    const read = adapter.createReader({ story: 'US-001', form });
    const answers = messages.flatMap(PROGRAMS[id]).flatMap((line) => read(line).answerText ?? []);
    return adapter.outcome({ exitCode: 0, answerText: answers.at(-1), error: undefined, stderrTail: '' });
  };

  it.each<[string[], string, string]>([
    [['I look around.', 'Added the cart.\n\n**STORY_DONE: US-001**'], 'ok', 'Added the cart.'],
    [['BLOCKED: Which currency?\n'], 'needs_human', 'Which currency?'],
    [[`Did it.\n${block('STATUS: COMPLETE').join('\r\n')}\nGood luck!`], 'ok', 'Did it.'],
    [['STORY_DONE: US-001', 'That was all.'], 'ok', ''],
    [['STORY_DONE: US-001', '{\n"status": "failed",\n"summary": "After all."\n}'], 'failed', 'After all.'],
  ])('end with the last signal or JSON answer of %j', (messages, status, summary) => {
    expect(outcomeOfMessages('signals', ...messages)).toEqual(answer(status, summary));
  });

  it('give no answer with prose, with the signal of another story, or if no signals are configured', () => {
    expect(outcomeOfMessages('signals', 'I am done: STORY_DONE: US-001')).toMatchObject({
      error: 'The agent ended without a final answer.',
    });
    expect(outcomeOfMessages('signals', 'STORY_DONE: US-002')).toMatchObject({
      error: 'The agent reported another story as its own: "US-002".',
    });
    expect(outcomeOfMessages('json', 'Done.\nSTORY_DONE: US-001').kind).toBe('invalid');
  });
});
