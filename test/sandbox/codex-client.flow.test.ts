import { describe, expect, it } from 'vitest';
import { runCodexClient, SCHEMA, type CodexRun } from '../support/agents/run-codex-client.ts';

const paramsOf = ({ received }: CodexRun, method: string) =>
  received.seen.filter((each) => each.method === method).map(({ params }) => params);
const itemsOf = ({ lines }: CodexRun) =>
  lines.flatMap(({ type, item }) => (item === undefined ? [] : [{ type, item }]));

describe.concurrent('the client of the app server of Codex', () => {
  it('starts one turn with the prompt and the schema, and ends with it', async () => {
    const done = await runCodexClient({});
    expect(done.code).toBe(0);
    expect(done.received.argv).toEqual(['app-server', '--strict-config']);
    expect(done.received.seen.map(({ method }) => method)).toEqual([
      ...['initialize', 'initialized', 'thread/start', 'turn/start'],
    ]);
    expect(paramsOf(done, 'turn/start')).toEqual([
      { threadId: 'thread-1', input: [{ type: 'text', text: 'Implement it.\nAll of it.' }], outputSchema: SCHEMA },
    ]);
    expect(done.lines.map(({ type }) => type)).toEqual([
      ...['thread.started', 'turn.started', 'item.completed', 'turn.completed'],
    ]);
  });

  it('leaves folder, sandbox and approvals to the configuration, because Codex trusts a folder that is given', async () => {
    expect(paramsOf(await runCodexClient({}), 'thread/start')).toEqual([{}]);
  });

  it('continues a session with the model that it is given, or ends with the reason', async () => {
    const resumes: [string, string] = ['session-7', 'gpt-5.5'];
    const done = await runCodexClient({}, { resumes });
    expect(done.code).toBe(0);
    expect(paramsOf(done, 'thread/resume')).toEqual([{ threadId: 'session-7', model: 'gpt-5.5' }]);
    expect(paramsOf(done, 'thread/start')).toEqual([]);
    const lost = await runCodexClient({ fails: 'thread/resume' }, { resumes });
    expect(lost.code).toBe(1);
    expect(lost.lines).toEqual([{ type: 'error', message: 'it does not work' }]);
  });

  it('prints items in the words of `codex exec`', async () => {
    const command = { type: 'commandExecution', id: 'x', command: 'ls', cwd: '/', aggregatedOutput: null };
    const file = { type: 'fileChange', changes: [{ path: '/workspace/a', kind: { type: 'add' }, diff: '+a' }] };
    const done = await runCodexClient({
      notifies: [
        ['item/started', { item: { ...command, exitCode: null, status: 'inProgress' } }],
        ['item/completed', { item: { ...command, aggregatedOutput: 'a\n', exitCode: 3, status: 'failed' } }],
        ['item/completed', { item: { ...file, status: 'completed' } }],
        ['item/completed', { item: { type: 'reasoning', summary: [], content: [] } }],
        ['item/started', { item: { type: 'agentMessage', text: '' } }],
        ['warning', { message: 'Model metadata not found.' }],
      ],
    });
    const ran = { type: 'command_execution', command: 'ls' };
    expect(itemsOf(done).slice(0, -1)).toEqual([
      { type: 'item.started', item: { ...ran, aggregated_output: '', exit_code: null, status: 'in_progress' } },
      { type: 'item.completed', item: { ...ran, aggregated_output: 'a\n', exit_code: 3, status: 'failed' } },
      {
        type: 'item.completed',
        item: { type: 'file_change', changes: [{ path: '/workspace/a', kind: 'add' }], status: 'completed' },
      },
      { type: 'item.completed', item: { type: 'error', message: 'Model metadata not found.' } },
    ]);
  });

  it('prints the usage of the thread', async () => {
    const total = { totalTokens: 11, inputTokens: 10, cachedInputTokens: 4, outputTokens: 1, reasoningOutputTokens: 0 };
    const { lines } = await runCodexClient({ notifies: [['thread/tokenUsage/updated', { tokenUsage: { total } }]] });
    expect(lines.at(-1)).toEqual({
      type: 'turn.completed',
      usage: { input_tokens: 10, cached_input_tokens: 4, output_tokens: 1, reasoning_output_tokens: 0 },
    });
  });

  it('adds a message to the turn, and prints its id once the model gets it', async () => {
    const done = await runCodexClient({ waits: 1 }, { messages: [{ id: 'm-1', text: 'Use euro.' }] });
    expect(paramsOf(done, 'turn/start')[1]).toEqual({
      threadId: 'thread-1',
      clientUserMessageId: 'm-1',
      input: [{ type: 'text', text: 'Use euro.' }],
      outputSchema: SCHEMA,
    });
    expect(done.lines.filter(({ type }) => /^(?:turn|message\.received)/.test(type)).map(({ type }) => type)).toEqual([
      ...['turn.started', 'message.received', 'turn.completed'],
    ]);
    expect(done.lines).toContainEqual({ type: 'message.queued', id: 'm-1' });
    expect(done.lines).toContainEqual({ type: 'message.received', id: 'm-1' });
    expect(done.code).toBe(0);
  });

  it.each([
    ['comes after the end of the turn', {}, { afterwards: [{ id: 'm-1', text: 'Use euro.' }] }],
    ['comes while the model writes', {}, { messages: [{ id: 'm-1', text: 'Use euro.' }] }],
    ['the running turn refuses', { refuses: ['m-1'] }, { messages: [{ id: 'm-1', text: 'Use euro.' }] }],
    [
      'the turn refuses after its end',
      { refuses: ['m-1'], late: true },
      { messages: [{ id: 'm-1', text: 'Use euro.' }] },
    ],
  ])('gives a message that %s a turn of its own', async (_how, scenario, given) => {
    const done = await runCodexClient(scenario, given);
    expect(done.lines.filter(({ type }) => /^(?:turn|message\.received)/.test(type)).map(({ type }) => type)).toEqual([
      ...['turn.started', 'turn.completed', 'turn.started', 'message.received', 'turn.completed'],
    ]);
    expect(done.code).toBe(0);
  });

  it('reports that Codex refuses a message also as a turn of its own', async () => {
    const scenario = { refuses: ['m-1', 'm-1'], late: true };
    const done = await runCodexClient(scenario, { messages: [{ id: 'm-1', text: 'Use euro.' }] });
    expect(done.lines.at(-1)).toEqual({ type: 'error', message: 'the turn takes no input' });
    expect(done.code).toBe(1);
  });

  it.each(['thread/start', 'turn/start'])('reports that Codex refuses %s', async (fails) => {
    const done = await runCodexClient({ fails });
    expect(done.lines.at(-1)).toEqual({ type: 'error', message: 'it does not work' });
    expect(done.code).toBe(1);
  });

  it.each([
    [{ status: 'failed', message: 'no quota' }, 'no quota'],
    [{ status: 'interrupted' }, 'the turn was interrupted'],
  ])('reports a turn that ends in another way: %j', async (end, message) => {
    const done = await runCodexClient({ end });
    expect(done.lines.at(-1)).toEqual({ type: 'turn.failed', error: { message } });
    expect(done.code).toBe(1);
  });

  it('prints an error with its details', async () => {
    const error = { message: 'Reconnecting... 1/4', additionalDetails: 'status 500' };
    const { lines } = await runCodexClient({ notifies: [['error', { error, willRetry: true }]] });
    expect(lines).toContainEqual({ type: 'error', message: 'Reconnecting... 1/4 (status 500)' });
  });

  it.each([3, 0])('exits with the code of a Codex that ends before its turn: %i', async (exits) => {
    const done = await runCodexClient({ exits });
    expect(done.code).toBe(exits || 1);
    expect(done.lines.map(({ type }) => type)).toEqual(['thread.started', 'turn.started']);
  });

  it('exits with an error if Codex cannot be started', async () => {
    const done = await runCodexClient({}, { program: '/opt/absent/codex' });
    expect(done.code).toBe(1);
  });
});
