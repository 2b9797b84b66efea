import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { casesAtLevel } from '../support/suite/level.ts';
import { tempDir } from '../support/temp-dir.ts';
import { paramsOf, run, runCommand, runKept, runLive } from '../support/agents/run-acp-client.ts';

const ENDED = { type: 'ended', stopReason: 'end_turn' };

// The client waits for its agent to end.
describe.concurrent('the client of the Agent Client Protocol', () => {
  it('sends one prompt to a session in its folder, and prints what the agent says of it', async () => {
    const done = await run({ says: 'I begin.' });
    expect(done.code).toBe(0);
    expect(done.received.methods).toEqual(['initialize', 'session/new', 'session/prompt']);
    expect(paramsOf(done, 'session/new')).toMatchObject({ cwd: process.cwd(), mcpServers: [] });
    expect(paramsOf(done, 'session/prompt')).toMatchObject({
      prompt: [{ type: 'text', text: 'Implement it.\nAll of it.' }],
    });
    expect(done.lines[0]).toEqual({ type: 'started', name: 'scripted', version: '1' });
    expect(done.lines[1]).toMatchObject({ type: 'update', update: { content: { text: 'I begin.' } } });
    expect(done.lines.at(-1)).toEqual(ENDED);
    expect(JSON.stringify(done.lines)).not.toContain('about myself');
  });

  it.each([
    [[{ optionId: 'x9', name: 'Yes', kind: 'allow_once' }], 'allow_once', { outcome: 'selected', optionId: 'x9' }],
    [
      [
        { optionId: 'no', name: 'No', kind: 'reject_once' },
        { optionId: 'ever', name: 'Always', kind: 'allow_always' },
      ],
      'allow_always',
      { outcome: 'selected', optionId: 'ever' },
    ],
    [[{ optionId: 'allow_once', name: 'Never', kind: 'reject_always' }], 'none', { outcome: 'cancelled' }],
  ])('answers a request for permission by the kind of its options: %j', async (asks, kind, outcome) => {
    const done = await run({ asks });
    expect(done.lines).toContainEqual({ type: 'permission', title: 'git push', kind });
    expect(done.received.permission).toMatchObject({ result: { outcome } });
  });

  it.each(casesAtLevel(['bypassPermissions'], ['agent-full-access', 'full-access', 'yolo']))(
    'chooses the mode %s',
    async (id) => {
      const modes = {
        currentModeId: 'ask',
        availableModes: [
          { id: 'ask', name: 'Ask' },
          { id, name: 'Free' },
        ],
      };
      const done = await run({ modes });
      expect(paramsOf(done, 'session/set_mode')).toEqual({ sessionId: 's', modeId: id });
    },
  );

  it('leaves an agent in its mode that has no such mode, or is in it', async () => {
    for (const currentModeId of ['yolo', 'plan']) {
      const done = await run({ modes: { currentModeId, availableModes: [{ id: currentModeId, name: 'x' }] } });
      expect(done.received.methods).not.toContain('session/set_mode');
    }
  });

  const model = (currentValue: string) => ({
    configOptions: [
      {
        ...{ id: 'm', name: 'Model', category: 'model', type: 'select', currentValue },
        options: [
          { value: 'small', name: 'Small' },
          { value: 'large', name: 'Large' },
        ],
      },
    ],
  });

  it('chooses the model of the run if the agent offers it', async () => {
    const done = await run(model('small'), { HALO_MODEL: 'large' });
    expect(paramsOf(done, 'session/set_config_option')).toMatchObject({ configId: 'm', value: 'large' });
    for (const name of ['small', 'other'])
      expect((await run(model('small'), { HALO_MODEL: name })).received.methods).not.toContain(
        'session/set_config_option',
      );
  });

  it('signs in with a key of the environment where the agent asks for that, and by no other method', async () => {
    const done = await run({
      methods: [
        { id: 'oauth', name: 'Browser' },
        { id: 'gemini-api-key', name: 'Key' },
      ],
    });
    expect(done).toMatchObject({
      code: 0,
      received: { methods: expect.arrayContaining(['authenticate']) as string[] },
    });
    const refused = await run({ methods: [{ id: 'oauth', name: 'Browser' }] });
    expect(refused).toMatchObject({ code: 1, lines: [{ type: 'started' }, { type: 'error', message: 'Authentication required' }] }); // prettier-ignore
  });

  it('reports a turn that ends in another way', async () => {
    expect((await run({ stopReason: 'refusal' })).lines.at(-1)).toEqual({ type: 'ended', stopReason: 'refusal' });
  });

  it('reports an agent of another version of the protocol', async () => {
    const { code, lines } = await run({ version: 7 });
    expect(code).toBe(1);
    expect(lines).toEqual([{ type: 'error', message: 'it speaks version 7 of the Agent Client Protocol, halo 1' }]);
  });

  it.each([
    ['the exit code of an agent that fails before its turn ends', () => run({ exits: 3 }), 3],
    ['127 if the shell finds no agent', () => runCommand('no-such-agent --acp'), 127],
  ])('exits with %s, without an error of its own', async (_what, start, code) => {
    const { lines, code: exitCode } = await start();
    expect(exitCode).toBe(code);
    expect(lines.filter(({ type }) => type === 'error' || type === 'ended')).toEqual([]);
  });

  it('notices the end of an agent whose server keeps its output open', async () => {
    const started = performance.now();
    expect((await run({ exits: 3, leaves: 60 })).code).toBe(3);
    expect(performance.now() - started).toBeLessThan(45_000);
  });

  it('reports an agent that ends without an error before its turn does', async () => {
    expect((await run({ exits: 0 })).lines.at(-1)).toEqual({
      type: 'error',
      message: 'it ended without an error before its turn did',
    });
  });

  it('cuts long texts of updates, but not messages, of which the last is the answer', async () => {
    const long = 'x'.repeat(50_000);
    const { lines } = await run({
      says: long,
      runs: { rawOutput: long, _meta: { terminal_exit: { exit_code: 3 }, more: 1 } },
    });
    const said = lines.find(({ update }) => (update as { content?: object } | undefined)?.content !== undefined);
    expect(said).toMatchObject({ update: { content: { text: long } } });
    const ran = lines.find(({ update }) => (update as { toolCallId?: string } | undefined)?.toolCallId === 'a');
    const { rawOutput, _meta } = ran?.update as { rawOutput: string; _meta: object };
    expect(rawOutput.length).toBeLessThan(17_000);
    expect(rawOutput).toContain('\n…\n');
    expect(_meta).toEqual({ terminal_exit: { exit_code: 3 } });
  });

  describe('with messages', () => {
    const MESSAGE = { id: 'm-1', text: 'Use euro.' };
    const typesOf = ({ lines }: { lines: { type: string }[] }) =>
      lines.map(({ type }) => type).filter((type) => type !== 'update');

    it.each([
      ['steers an agent that offers it', { steers: 'injected', waits: 1 }, 'turn', '_session/steering'],
      [
        'sends a second prompt to one that reads it in its turn',
        { name: 'OpenCode', waits: 1 },
        'turn',
        'session/prompt',
      ],
    ])('%s', async (_how, scenario, when, method) => {
      const done = await runLive(scenario, { messages: [MESSAGE] });
      expect(typesOf(done)).toEqual(['started', 'listens', 'queued', 'received', 'idle', 'ended']);
      expect(done.lines).toContainEqual({ type: 'listens', when });
      expect(done.lines).toContainEqual({ type: 'received', id: 'm-1' });
      expect(done.received.methods.slice(2)).toEqual(['session/prompt', method]);
      expect(done.received.seen.at(-1)?.params).toMatchObject({ prompt: [{ type: 'text', text: 'Use euro.' }] });
      expect(done.code).toBe(0);
    });

    it.each([
      ['would stop its turn for a second prompt', {}, 'after', { messages: [MESSAGE] }],
      ['has ended its turn', { steers: 'injected' }, 'turn', { afterwards: [MESSAGE] }],
    ])('gives them a turn of their own with an agent that %s', async (_how, scenario, when, given) => {
      const done = await runLive(scenario, given);
      expect(done.lines).toContainEqual({ type: 'listens', when });
      expect(typesOf(done).filter((type) => type !== 'idle')).toEqual([
        ...['started', 'listens', 'queued', 'received', 'ended'],
      ]);
      expect(done.received.methods.slice(2)).toEqual(['session/prompt', 'session/prompt']);
    });

    it('gives a message a turn of its own that a steered agent does not take', async () => {
      const done = await runLive({ steers: 'promptRequired', waits: 1 }, { messages: [MESSAGE] });
      expect(done.received.methods.slice(2)).toEqual(['session/prompt', '_session/steering', 'session/prompt']);
      expect(typesOf(done).filter((type) => type === 'received')).toHaveLength(1);
    });

    it('says that it has a message before the turn ends in which the agent cannot read it', async () => {
      const done = await runLive({}, { messages: [MESSAGE] });
      expect(typesOf(done).indexOf('queued')).toBeLessThan(typesOf(done).indexOf('received'));
      expect(done.lines.findIndex(({ type }) => type === 'queued')).toBeLessThan(
        done.lines.findIndex(({ type }) => type === 'update'),
      );
    });

    it('ends with a turn that does not end well', async () => {
      const done = await runLive({ stopReason: 'refusal' }, { messages: [MESSAGE] });
      expect(done.lines.at(-1)).toEqual({ type: 'ended', stopReason: 'refusal' });
      expect(typesOf(done)).not.toContain('received');
    });
  });

  it('is tested with the version of its library that the image has', () => {
    const { devDependencies } = JSON.parse(readFileSync('package.json', 'utf8')) as {
      devDependencies: Record<string, string>;
    };
    const image = readFileSync('docker/sandbox/packages.json', 'utf8');
    expect(image).toContain(`"@agentclientprotocol/sdk@${devDependencies['@agentclientprotocol/sdk']}"`);
  });
});

describe.concurrent('a session that is kept, by the client of the Agent Client Protocol,', () => {
  const RESUMES = { can: { loadSession: true, sessionCapabilities: { resume: {} } } };
  const LOADS = { can: { loadSession: true } };
  const methodsOf = (kept: Awaited<ReturnType<typeof runKept>>) => kept.received.methods.slice(1, -1);

  it.each([
    ['session/resume', RESUMES],
    ['session/load', LOADS],
  ])('is new at first, and continued with %s', async (method, scenario) => {
    const folder = tempDir('halo-acp-session');
    expect(methodsOf(await runKept(scenario, folder))).toEqual(['session/new']);
    const again = await runKept(scenario, folder);
    expect(methodsOf(again)).toEqual([method]);
    expect(paramsOf(again, method)).toMatchObject({ sessionId: 's', cwd: process.cwd(), mcpServers: [] });
    expect(again.lines.at(-1)).toEqual(ENDED);
  });

  it('is new each time if the agent can continue none, which it says', async () => {
    const folder = tempDir('halo-acp-session');
    for (let attempt = 1; attempt <= 2; attempt++) {
      const kept = await runKept({}, folder);
      expect(methodsOf(kept)).toEqual(['session/new']);
      expect(kept.lines).toContainEqual({ type: 'forgets' });
    }
  });

  it('ends with the reason if the agent cannot continue it, before a prompt', async () => {
    const folder = tempDir('halo-acp-session');
    await runKept(LOADS, folder);
    const lost = await runKept({ ...LOADS, loads: { error: { code: -32002, message: 'Resource not found' } } }, folder);
    expect(lost.code).toBe(1);
    expect(lost.lines.at(-1)).toEqual({ type: 'error', message: 'Resource not found' });
  });

  const PLANTED = casesAtLevel<[string, (path: string) => void]>(
    [['a link', (path) => symlinkSync('/etc/passwd', path)]],
    [
      ['a folder', (path) => mkdirSync(path)],
      ['a large file', (path) => writeFileSync(path, 's'.repeat(1_001))],
    ],
  );
  it.each(PLANTED)('is not read if the agent left %s in its place', async (_what, plant) => {
    const folder = tempDir('halo-acp-session');
    plant(join(folder, 'acp-session'));
    const lost = await runKept(LOADS, folder);
    expect(lost.code).toBe(1);
    expect(lost.lines.at(-1)).toEqual({ type: 'error', message: 'the id of the session cannot be read' });
  });
});
