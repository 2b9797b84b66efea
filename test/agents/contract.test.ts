import { readFileSync } from 'node:fs';
import { describe, expect, it, test } from 'vitest';
import { formatAnswer, readAnswer } from '../../src/agents/answer.ts';
import type { AgentIntent } from '../../src/agents/adapter.ts';
import type { AgentId } from '../../src/core/agent.ts';
import { agentAdapter, AGENTS } from '../../src/agents/registry.ts';
import { PROGRAM_AGENTS, PROGRAM_STARTS } from '../support/agent-ids.ts';
import { expectDenied, expectOutcome, readRun } from './read-run.ts';

/** How each agent's program prints its final message. */
const PRINT: Record<AgentId | 'acp', (answer: string) => string> = {
  codex: (text) => JSON.stringify({ type: 'item.completed', item: { id: 'item_0', type: 'agent_message', text } }),
  claude: (text) =>
    JSON.stringify({
      type: 'result',
      subtype: 'success',
      is_error: false,
      structured_output: JSON.parse(text) as unknown,
    }),
  opencode: (text) => JSON.stringify({ type: 'text', part: { type: 'text', text } }),
  // In two pieces, as a stream may bring it.
  gemini: (text) =>
    [
      { type: 'message', role: 'assistant', content: text.slice(0, 5), delta: true },
      { type: 'message', role: 'assistant', content: text.slice(5), delta: true },
      { type: 'result', status: 'success' },
    ]
      .map((event) => JSON.stringify(event))
      .join('\n'),
  command: (text) => text,
  acp: (text) =>
    [
      {
        type: 'update',
        update: { sessionUpdate: 'agent_message_chunk', content: { type: 'text', text: text.slice(0, 5) } },
      },
      {
        type: 'update',
        update: { sessionUpdate: 'agent_message_chunk', content: { type: 'text', text: text.slice(5) } },
      },
      { type: 'ended', stopReason: 'end_turn' },
    ]
      .map((event) => JSON.stringify(event))
      .join('\n'),
};

const INTENT: AgentIntent = {
  model: 'some-model',
  api: 'openai',
  modelUrl: 'http://127.0.0.1:4000/v1',
  gatewayToken: 'halo-token',
  home: '/home/some one',
  options: {},
  commandLine: 'cat',
};

const ODD_LINES = [
  '',
  '   ',
  'plain text',
  '{',
  'null',
  '[]',
  '1e999',
  '"text"',
  '{"type":null}',
  '{"type":"item.completed"}',
  '{"type":"item.completed","item":null}',
  '{"type":"item.completed","item":{"type":"command_execution","command":7}}',
  '{"type":"item.completed","item":{"type":"file_change","status":"completed","changes":{}}}',
  '{"type":"turn.failed","error":{}}',
  '{"__proto__":{"status":"ok"},"constructor":1}',
  '{"type":"result"}',
  '{"type":"result","is_error":true,"errors":[1]}',
  '{"type":"assistant","message":{"content":[null]}}',
  '{"type":"assistant","message":{"content":[{"type":"tool_use","name":"Bash","input":{"command":7}}]}}',
  '{"type":"user","tool_use_result":{"stdout":7}}',
  '{"type":"text","part":{"text":7}}',
  '{"type":"tool_use","part":{"tool":"bash","state":{"input":{}}}}',
  '{"type":"tool_use","tool_name":"run_shell_command","tool_id":"x","parameters":{"command":7}}',
  '{"type":"message","role":"assistant","content":7}',
  '{"type":"error","error":{}}',
  '{"type":"update","update":{"sessionUpdate":"tool_call","toolCallId":7}}',
  '{"type":"update","update":{"sessionUpdate":"tool_call_update","toolCallId":"a","kind":"execute","status":"failed","content":[null],"rawOutput":null}}',
  '\u0000\u001b[2J\ud800',
  '['.repeat(100_000),
  JSON.stringify({ type: 'item.completed', item: { type: 'command_execution', aggregated_output: 'x'.repeat(2e6) } }),
  'y'.repeat(2e6),
];

const WRONG_ANSWERS: [string, string, RegExp][] = [
  ['an unknown status', '{"status":"done","summary":"x"}', /"status" must be/],
  ['no summary', '{"status":"ok"}', /"summary" must be a text/],
  ['a summary that is not a text', '{"status":"ok","summary":["x"]}', /"summary" must be a text/],
  ['an endless summary', `{"status":"ok","summary":"${'x'.repeat(9000)}"}`, /longer than/],
];

describe.each(Object.keys(AGENTS) as (AgentId | 'acp')[])('the agent %s', (id) => {
  const adapter = agentAdapter(id);
  const endWith = (answer: string, exitCode: number | undefined = 0) =>
    readRun(adapter, { stdout: `${PRINT[id](answer)}\n`, stderrTail: '', exitCode }).outcome;

  it('is registered under its id', () => expect(adapter.id).toBe(id));

  it('launches the same way each time and writes only below its home', () => {
    const launch = adapter.launch(INTENT);
    expect(adapter.launch(INTENT)).toEqual(launch);
    for (const path of Object.keys(launch.files)) expect(path).toMatch(/^\/home\/some one\//);
  });

  it('receives the token of its attempt as its key, and no secret', () => {
    const reported = JSON.stringify(adapter.launch(INTENT));
    expect(reported).toContain('halo-token');
    const launch = reported
      .replaceAll(/\b(\w+_API_KEY|HALO_MODEL_KEY|apiKey)\\?":\\?"halo-token\\?"/g, '')
      .replace('env_key = \\"HALO_MODEL_KEY\\"', '');
    expect(launch).not.toMatch(/api_?key|env_key|authorization|bearer/i);
  });

  it('never throws on any line', () => {
    const read = adapter.createReader();
    for (const line of ODD_LINES) expect(Array.isArray(read(line).activities)).toBe(true);
  });

  it.each(['ok', 'needs_human', 'failed'] as const)(
    'accepts the answer %s with or without surrounding white space',
    (status) => {
      const answer = { status, summary: 'Said\nin two lines.' };
      expect(endWith(JSON.stringify(answer))).toEqual({ kind: 'answer', answer });
      expect(endWith(`  ${JSON.stringify(answer)} `)).toEqual({ kind: 'answer', answer });
    },
  );

  it('keeps further keys of an answer for its record', () => {
    const answer = { status: 'ok', summary: 'x', filesChanged: ['a.js'], testsRun: [{ command: 'npm test' }] };
    const outcome = endWith(JSON.stringify(answer));
    const { filesChanged, testsRun } = answer;
    expect(outcome).toEqual({
      kind: 'answer',
      answer: { status: 'ok', summary: 'x', other: { filesChanged, testsRun } },
    });
    expect(outcome.kind === 'answer' && JSON.parse(formatAnswer(outcome.answer))).toEqual(answer);
  });

  it('drops further keys of an answer that are too long to keep', () => {
    const answer = JSON.stringify({ status: 'ok', summary: 'x', log: 'y'.repeat(70_000) });
    expect(adapter.outcome({ exitCode: 0, answerText: answer, error: undefined, stderrTail: '' })).toEqual({
      kind: 'answer',
      answer: { status: 'ok', summary: 'x' },
    });
  });

  it.each(WRONG_ANSWERS)('rejects an answer with %s as invalid and reports the reason', (_what, answer, reason) => {
    const outcome = endWith(answer);
    expect(outcome).toMatchObject({ kind: 'invalid', error: expect.stringMatching(reason) as string });
  });

  it.each([
    ['prose', 'I am done.'],
    ['a fenced answer', '```json\n{"status":"ok","summary":"x"}\n```\n'],
    ['JSON that is not an object', '["status"]'],
  ])('rejects %s as invalid', (_what, text) => {
    const outcome = adapter.outcome({ exitCode: 0, answerText: text, error: undefined, stderrTail: '' });
    expect(outcome.kind).toBe('invalid');
  });

  it('rejects two JSON documents as invalid and reports their number', () => {
    const answerText = '{"status":"ok","summary":"x"}\n{"status":"ok","summary":"y"}';
    const outcome = adapter.outcome({ exitCode: 0, answerText, error: undefined, stderrTail: '' });
    expect(outcome).toMatchObject({ kind: 'invalid', error: expect.stringContaining('2 JSON documents') as string });
  });

  it('rejects an empty output as invalid', () => {
    expect(readRun(adapter, { stdout: '', stderrTail: '', exitCode: 0 }).outcome.kind).toBe('invalid');
  });

  it('ignores an answer if the program failed', () => {
    const answer = '{"status":"ok","summary":"x"}';
    expect(endWith(answer, 3)).toMatchObject({
      kind: 'error',
      error: expect.stringContaining('exit code 3') as string,
    });
    expect(endWith(answer, 137)).toMatchObject({ kind: 'error', error: expect.stringContaining('SIGKILL') as string });
    const killed = adapter.outcome({ exitCode: undefined, answerText: answer, error: undefined, stderrTail: '' });
    expect(killed.kind).toBe('error');
  });

  it('quotes the last line on stderr if there is no other message', () => {
    const outcome = adapter.outcome({
      exitCode: 2,
      answerText: undefined,
      error: undefined,
      stderrTail: 'a\nno such flag\n',
    });
    expect(outcome).toMatchObject({ kind: 'error', error: expect.stringMatching(/: no such flag$/) as string });
  });
});

test('the image has the program of each agent, for each type of processor', () => {
  const path = new URL('../../docker/sandbox/packages.json', import.meta.url);
  const { npm } = JSON.parse(readFileSync(path, 'utf8')) as { npm: Record<string, { file: string }[]> };
  for (const packages of Object.values(npm))
    expect(packages.map(({ file }) => file)).toEqual(expect.arrayContaining(PROGRAM_AGENTS.map((id) => `${id}.tgz`)));
});

interface Recording {
  name: string;
  exitCode: number;
  stderrTail: string;
  outcome: { kind: string; says?: string };
  denied?: string;
}

const recordedBy = (name: string) => {
  const read = (file: string) => readFileSync(new URL(`fixtures/${name}/${file}`, import.meta.url), 'utf8');
  return { read, recordings: JSON.parse(read('index.json')) as Recording[] };
};

describe.each(PROGRAM_STARTS)('recordings of the real $name', ({ name: start, id }) => {
  const { read, recordings } = recordedBy(start);

  it.each(recordings)('are judged as they ended: $name', ({ name, exitCode, stderrTail, outcome, denied }) => {
    const run = readRun(agentAdapter(id), { stdout: read(`${name}.jsonl`), exitCode, stderrTail });
    expectOutcome(run.outcome, outcome);
    expectDenied(run.denied, denied);
  });

  it('show which actions were denied', () => {
    expect(recordings.filter(({ denied }) => denied !== undefined).map(({ name }) => name)).toEqual(['denied']);
  });
});

describe('recordings of the real Claude Code', () => {
  const { read } = recordedBy('claude');
  const activitiesOf = (name: string) =>
    readRun(agentAdapter('claude'), { stdout: read(`${name}.jsonl`), exitCode: 0, stderrTail: '' }).activities;

  it('are formatted for users: messages, commands and results', () => {
    const write = `mkdir -p "$(dirname 'greeting.txt')" && printf %s aGVsbG8K | base64 -d > 'greeting.txt'`;
    expect(activitiesOf('success')).toEqual([
      { kind: 'say', text: 'I look around first.' },
      { kind: 'run', command: 'printf one; ls' },
      { kind: 'ran', command: 'the command above', exitCode: 0, output: 'one' },
      { kind: 'run', command: write },
      { kind: 'ran', command: 'the command above', exitCode: 0, output: '' },
    ]);
  });

  it('show the exit code and the output of a failed command', () => {
    expect(activitiesOf('command-failed')[1]).toEqual({
      kind: 'ran',
      command: 'the command above',
      exitCode: 3,
      output: 'out\nerr',
    });
  });

  it('show each reconnection as a warning, and each error once', () => {
    const warnings = ['1/3', '2/3', '3/3'].map((count) => ({ kind: 'warn', text: `Reconnecting... ${count} (500)` }));
    expect(activitiesOf('http-500')).toEqual(warnings);
  });

  it('show what its own tools wrote', () => {
    const result = (value: object) => JSON.stringify({ type: 'user', tool_use_result: value });
    const parseLine = (line: string) => agentAdapter('claude').createReader()(line);
    expect(parseLine(result({ type: 'create', filePath: '/workspace/a b.txt' })).activities).toEqual([
      { kind: 'edit', path: 'a b.txt', change: 'add' },
    ]);
    expect(parseLine(result({ filePath: '/workspace/a.txt', oldString: 'x', newString: 'y' })).activities).toEqual([
      { kind: 'edit', path: 'a.txt', change: 'update' },
    ]);
  });

  it('do not count an interrupted run as an answer, although it exits 0', () => {
    const line = {
      type: 'result',
      subtype: 'error_during_execution',
      is_error: true,
      terminal_reason: 'aborted_tools',
    };
    const run = { stdout: JSON.stringify(line), exitCode: 0, stderrTail: '' };
    expectOutcome(readRun(agentAdapter('claude'), run).outcome, { kind: 'error', says: 'was interrupted' });
  });
});

describe.each([
  ['codex', `"$(dirname 'greeting.txt')"`],
  ['codex-live', "'.'"],
])('recordings of the real Codex CLI: %s', (start, folder) => {
  const { read } = recordedBy(start);

  it('are formatted for users: commands, results and edits', () => {
    const { activities } = readRun(agentAdapter('codex'), {
      stdout: read('success.jsonl'),
      exitCode: 0,
      stderrTail: '',
    });
    const write = `mkdir -p ${folder} && printf %s aXQncyBoZWxsbwo= | base64 -d > 'greeting.txt'`;
    expect(activities).toEqual([
      { kind: 'run', command: 'printf one; ls' },
      { kind: 'ran', command: 'printf one; ls', exitCode: 0, output: 'one' },
      { kind: 'run', command: write },
      { kind: 'ran', command: write, exitCode: 0, output: '' },
      { kind: 'edit', path: 'greeting.txt', change: 'update' },
    ]);
  });

  it('show each reconnection as a warning', () => {
    const run = { stdout: read('stream-cut-recovered.jsonl'), exitCode: 0, stderrTail: '' };
    const { activities } = readRun(agentAdapter('codex'), run);
    expect(activities.map(({ kind }) => kind)).toEqual(['warn']);
  });

  it('show messages of the agent that are not the answer', () => {
    const { activities } = readRun(agentAdapter('codex'), { stdout: read('prose.jsonl'), exitCode: 0, stderrTail: '' });
    expect(activities).toEqual([{ kind: 'say', text: 'All done, enjoy!' }]);
  });
});

it.each(Object.values(AGENTS).filter(({ hasAnswerSchema }) => hasAnswerSchema))(
  '$title gets the schema of the answer that a session is asked for',
  (adapter) => {
    const launched = (answers: NonNullable<AgentIntent['answers']>) =>
      JSON.stringify(adapter.launch({ ...INTENT, answers }));
    expect(launched('tests')).toMatch(/criteria[^]*holds/);
    expect(launched('story')).not.toContain('holds');
    expect(launched('plan')).toContain('dependsOn');
  },
);

it.each<[string, unknown, boolean | undefined]>([
  ['true', true, true],
  ['null', null, undefined],
  ['no boolean', 'yes', undefined],
])('the answer of a session with tests may say that a criterion holds: %s', (_what, holds, expected) => {
  const outcome = readAnswer(JSON.stringify({ status: 'ok', summary: '', criteria: [{ n: 1, tests: ['a'], holds }] }));
  expect(outcome).toMatchObject({ kind: 'answer', answer: { criteria: [{ n: 1, tests: ['a'], holds: expected }] } });
});
