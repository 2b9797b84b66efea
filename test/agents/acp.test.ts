import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { acp } from '../../src/agents/acp.ts';
import { readRun } from './read-run.ts';

const update = (sessionUpdate: string, more: object) => ({ type: 'update', update: { sessionUpdate, ...more } });
const say = (text: string) => update('agent_message_chunk', { content: { type: 'text', text } });
const call = (more: object) => update('tool_call', { toolCallId: 'a', ...more });
const callUpdate = (more: object) => update('tool_call_update', { toolCallId: 'a', ...more });
const ENDED = { type: 'ended', stopReason: 'end_turn' };
const text = (said: string) => [{ type: 'content', content: { type: 'text', text: said } }];

function read(events: object[], exitCode = 0) {
  const stdout = events.map((event) => `${JSON.stringify(event)}\n`).join('');
  return readRun(acp, { stdout, stderrTail: '', exitCode });
}

describe('the messages to an agent', () => {
  const session = acp.openSession!({ live: true } as never)!;

  it.each([
    ['{"type":"listens","when":"after"}', { listens: 'after' }],
    ['{"type":"queued","id":"m-1"}', { received: ['m-1'] }],
    ['{"type":"received","id":"m-1"}', { taken: ['m-1'] }],
    ['{"type":"idle"}', { idle: true }],
    ['{"type":"listens","when":"never"}', {}],
    ['"idle" {', {}],
    [JSON.stringify(say('{"type":"idle"}')), {}],
  ])('%s', (line, sign) => {
    expect(session.marks.some((mark) => line.includes(mark.slice(1, -1)))).toBe(true);
    expect(session.read(line)).toEqual(sign);
  });

  it('are lines, as is the prompt', () => {
    expect(session.begin('a\nb')).toBe('{"text":"a\\nb"}\n');
    expect(session.tell({ id: 'm-1', text: 'c' })).toBe('{"id":"m-1","text":"c"}\n');
  });

  it.each([
    ['that follows the end of the one before', { type: 'idle' }],
    ['that a message begins', { type: 'received', id: 'm-1' }],
  ])('give the last turn the last word, also one %s', (_what, between) => {
    const [first, second] = ['first', 'second'].map((summary) => JSON.stringify({ status: 'ok', summary }));
    const { outcome } = read([say(first!), between, say(second!), { type: 'idle' }, ENDED]);
    expect(outcome).toMatchObject({ kind: 'answer', answer: { summary: 'second' } });
  });
});

describe('the updates of an agent', () => {
  it.each<[string, object[], object[]]>([
    [
      'Claude Code, whose command follows',
      [
        call({ kind: 'execute', title: 'Terminal', status: 'pending', rawInput: {}, content: [] }),
        callUpdate({ rawInput: { command: 'npm test' }, title: 'npm test' }),
        callUpdate({ status: 'completed', rawOutput: 'fine', content: text('```console\nfine\n```') }),
      ],
      [
        { kind: 'run', command: 'npm test' },
        { kind: 'ran', command: 'npm test', exitCode: 0, output: 'fine' },
      ],
    ],
    [
      'Codex, whose output comes in pieces',
      [
        call({ kind: 'execute', title: 'npm test', status: 'in_progress', rawInput: { command: ['npm', 'test'] } }),
        callUpdate({ _meta: { terminal_output_delta: { data: 'one\n', terminal_id: 'a' } } }),
        callUpdate({ _meta: { terminal_output_delta: { data: 'two\n' } } }),
        callUpdate({ status: 'failed', _meta: { terminal_exit: { exit_code: 3, signal: null } } }),
      ],
      [
        { kind: 'run', command: 'npm test' },
        { kind: 'ran', command: 'npm test', exitCode: 3, output: 'one\ntwo\n' },
      ],
    ],
    [
      'Kilo, whose exit code is in its metadata',
      [
        call({ kind: 'execute', title: 'bash', rawInput: { cwd: '/workspace' } }),
        callUpdate({ status: 'in_progress', rawInput: { command: 'false' } }),
        callUpdate({ status: 'completed', rawOutput: { output: 'no\n', metadata: { exit: 1 } } }),
      ],
      [
        { kind: 'run', command: 'false' },
        { kind: 'ran', command: 'false', exitCode: 1, output: 'no\n' },
      ],
    ],
    [
      'Gemini CLI, which has the command in its title and the exit code in its output',
      [
        call({ kind: 'execute', title: 'false', status: 'in_progress', content: text('[in /workspace]') }),
        callUpdate({
          kind: 'execute',
          title: 'false',
          status: 'completed',
          content: text('Command exited with code: 1'),
        }),
      ],
      [
        { kind: 'run', command: 'false' },
        { kind: 'ran', command: 'false', exitCode: 1, output: 'Command exited with code: 1' },
      ],
    ],
    [
      'an agent that repeats a call of which the end is unknown',
      [
        call({ kind: 'execute', title: 'x', rawInput: { command: 'sleep 1' } }),
        call({ kind: 'execute', title: 'x', rawInput: { command: 'sleep 1' } }),
        callUpdate({ status: 'failed' }),
      ],
      [
        { kind: 'run', command: 'sleep 1' },
        { kind: 'ran', command: 'sleep 1', exitCode: undefined, output: '' },
      ],
    ],
    [
      'an agent that writes and removes files',
      [
        call({ kind: 'edit', title: 'Write', locations: [{ path: '/workspace/src/a.js' }] }),
        callUpdate({ status: 'completed', content: [{ type: 'diff', path: '/workspace/src/b.js', newText: 'b' }] }),
        update('tool_call', { toolCallId: 'b', kind: 'delete', status: 'completed', locations: [{ path: '/tmp/c' }] }),
      ],
      [
        { kind: 'edit', path: 'src/a.js', change: 'update' },
        { kind: 'edit', path: 'src/b.js', change: 'add' },
        { kind: 'edit', path: '/tmp/c', change: 'delete' },
      ],
    ],
    ['an edit that failed', [call({ kind: 'edit', status: 'failed', locations: [{ path: '/a' }] })], []],
    ['an agent that reads', [call({ kind: 'read', status: 'completed', title: 'Read a.js' })], []],
    [
      'messages in pieces, which end where something else begins',
      [
        say('I look '),
        say('around.'),
        call({ kind: 'read' }),
        say('Then I write.'),
        update('plan', { entries: [] }),
        ENDED,
      ],
      [
        { kind: 'say', text: 'I look around.' },
        { kind: 'say', text: 'Then I write.' },
      ],
    ],
    [
      'a permission that no option gives',
      [{ type: 'permission', title: 'git push', kind: 'none' }],
      [{ kind: 'warn', text: 'permission denied: git push' }],
    ],
    ['a permission that was given', [{ type: 'permission', title: 'git push', kind: 'allow_once' }], []],
  ])('are activities: %s', (_who, events, activities) => {
    expect(read(events).activities).toEqual(activities);
  });
});

it('a call that names very many files is shown with some of them', () => {
  const locations = Array.from({ length: 5_000 }, (_, index) => ({ path: `/workspace/${index}.js` }));
  expect(read([call({ kind: 'edit', status: 'completed', locations })]).activities).toHaveLength(100);
});

it.each([
  ['Gemini CLI', 'Command exited with code: 3'],
  ['Kimi', 'Process exited with code 3\nCommand failed with exit code: 3.'],
  ['Claude Code', 'Exit code 3\nno such file'],
  ['Copilot', 'out\n<shellId: 1 completed with exit code 3>'],
])('the exit code that %s states in the output counts', (_agent, output) => {
  const events = [call({ kind: 'execute', title: 'x' }), callUpdate({ status: 'completed', content: text(output) })];
  expect(read(events).activities.at(-1)).toMatchObject({ kind: 'ran', exitCode: 3 });
});

describe('the end of an agent', () => {
  const answer = '{"status":"ok","summary":"Added it."}';
  it.each<[string, object[], number, object]>([
    ['is its last message', [say('I begin.'), call({ kind: 'read' }), say(answer), ENDED], 0, { kind: 'answer' }],
    [
      'is an error if its turn ended otherwise, whatever it said',
      [say(answer), { type: 'ended', stopReason: 'max_tokens' }],
      0,
      {
        kind: 'error',
        error: 'The answer of the model was too long (The ACP agent: the turn ended with "max_tokens")',
      },
    ],
    [
      'is an error with its own words',
      [{ type: 'error', message: 'Internal error: 429 Too Many Requests' }],
      1,
      { kind: 'error', error: 'The ACP agent failed: Internal error: 429 Too Many Requests' },
    ],
    [
      'explains a login',
      [{ type: 'error', message: 'Authentication required' }],
      1,
      { kind: 'error', error: expect.stringContaining('asks for a login') as string },
    ],
    ['is invalid without an answer', [say('Done!'), ENDED], 0, { kind: 'invalid' }],
  ])('%s', (_what, events, exitCode, outcome) => {
    expect(read(events, exitCode).outcome).toMatchObject(outcome);
  });

  it('says that its program is missing, which no further attempt changes', () => {
    const run = { stdout: '', stderrTail: '/bin/sh: 1: qwen: not found\n', exitCode: 127 };
    expect(readRun(acp, run).outcome).toEqual({
      kind: 'error',
      error: 'The ACP agent ended with exit code 127: /bin/sh: 1: qwen: not found',
      cause: 'program-missing',
    });
  });
});

/** Recorded from the real programs: each ran two commands, of which the second exits 3 (pi says 1), and wrote its answer. */
const RECORDED = readdirSync(new URL('fixtures/acp/', import.meta.url)).map((name) => name.replace('.jsonl', ''));

describe('a recorded session', () => {
  it('is there for each agent that the docs name', () => {
    const docs = readFileSync(new URL('../../docs/agents.md', import.meta.url), 'utf8');
    const named = [...docs.matchAll(/^- `\[agents\.([a-z-]+)\]`/gm)].map(([, name]) => name);
    expect(RECORDED.sort()).toEqual(named.sort());
  });

  it.each(RECORDED)('of %s shows what it ran, and is its answer', (agent) => {
    const stdout = readFileSync(new URL(`fixtures/acp/${agent}.jsonl`, import.meta.url), 'utf8');
    const { activities, outcome } = readRun(acp, { stdout, stderrTail: '', exitCode: 0 });
    const command = 'echo hello > greeting.txt; exit 3';
    expect(activities).toContainEqual({ kind: 'run', command });
    const ran = activities.find((each) => each.kind === 'ran' && each.command === command);
    expect(ran).toMatchObject({ exitCode: agent === 'pi' ? 1 : 3 });
    expect(outcome).toEqual({ kind: 'answer', answer: { status: 'ok', summary: 'Added the greeting.' } });
  });
});
