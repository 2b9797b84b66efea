import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { skipFor } from '../../support/skip.ts';
import { belowFull, casesAtLevel, FULL, LEVEL } from '../../support/suite/level.ts';
import { filesWith } from '../../support/text/files-with.ts';
import { modelAt, openModelHalo, replaying, treeOf, type ModelHalo } from '../../support/halo/model-halo.ts';
import type { Lane, Turn } from '../../support/model/model-server.ts';
import type { TestRepository } from '../../support/repository/repository.ts';

const KEY = 'sk-test-3f9c2a7be4';
const OK = { json: { status: 'ok', summary: 'Added the greeting.' } };
const GREET: Turn[] = [
  { saying: 'I look around first.', run: 'ls && cat README.md' },
  { patch: '*** Begin Patch\n*** Add File: greeting.txt\n+hello\n*** End Patch\n' },
  { run: 'grep hello greeting.txt; echo "interfaces: $(ls /sys/class/net | paste -sd,);"' },
  OK,
];

let halo: ModelHalo;
beforeAll(async () => {
  halo = await openModelHalo(KEY);
});
afterAll(() => halo.close());

const CODEX = 'agent=codex';

function run(turns: Turn[], more: string[] = [], repository?: TestRepository) {
  return halo.implement(turns, [CODEX, ...more], repository);
}

describe.each([
  { how: 'Codex', own: [], isReplayed: true },
  // Replays of the app server are in messages.flow.test.ts.
  { how: 'Codex, by its app server,', own: ['agents.codex.live=true'], isReplayed: LEVEL >= FULL },
])('a story that $how implements', ({ own, isReplayed }) => {
  it('lands, is metered and logged, and no file contains the key', async () => {
    const guidance = 'Greet in lower case letters.';
    const { state, server, repository, read } = await run(
      GREET,
      ['gates=["grep hello greeting.txt"]', 'model.mode=record', ...own],
      halo.newRepository({ 'AGENTS.md': guidance }),
    );
    expect(state).toMatchObject({ stopReason: 'SUCCESS', stories: [{ progress: 'passed', attempts: 1 }] });
    expect(repository.git('show', `halo/${state.runId}:greeting.txt`)).toBe('hello');
    expect(repository.git('show', '--format=', '--name-only', `halo/${state.runId}`)).toBe('greeting.txt');

    const usage = { inputTokens: 400, outputTokens: 40 };
    expect(JSON.parse(read('artifacts/hello/1/usage.json'))).toMatchObject(usage);
    expect(state.usage).toMatchObject(usage);

    const log = read('agent.log');
    for (const text of ['I look around first.', '$ ls && cat README.md', 'A test.', 'added   greeting.txt'])
      expect(log).toContain(text);

    expect(server.remaining()).toBe(0);
    // Nothing but loopback: what reached this server came through the gateway.
    expect(server.requests.at(-1)!.body).toContain('interfaces: lo;');
    expect(server.requests.map(({ headers }) => headers.authorization)).toEqual(Array(4).fill(`Bearer ${KEY}`));
    expect(await filesWith(halo.home, KEY)).toEqual([]);
    // Codex itself reads AGENTS.md: it is in what the model is asked, and not in halo's prompt.
    expect(server.requests[0]!.body).toContain(guidance);
    expect(read('artifacts/hello/1/prompt.md')).not.toContain(guidance);

    // It lands the same tree again from the cassette, without a provider and without a key.
    if (!isReplayed) return;
    await server.close();
    const cassettes = halo.keepCassette(state);
    expect(readFileSync(join(cassettes, 'hello.jsonl'), 'utf8')).not.toContain(KEY);
    const again = halo.newRepository({ 'AGENTS.md': guidance });
    const replayed = await halo.run(again.root, [{ id: 'hello' }], replaying(cassettes, [CODEX, ...own]));
    expect(replayed).toMatchObject({ stopReason: 'SUCCESS' });
    expect(treeOf(again, replayed)).toBe(treeOf(repository, state));
    const { costUsd, ...tokens } = state.usage;
    expect(costUsd).toBeGreaterThan(0);
    expect(replayed.usage).toEqual(tokens);
  });
});

describe('a story that Codex implements', () => {
  it('is retried with the reason after a failed gate, and then lands', skipFor(belowFull()), async () => {
    const write = (text: string): Turn => ({ write: 'greeting.txt', content: `${text}\n` });
    const hint: Turn = { ...write('hello'), expect: ['The last attempt failed', 'GATE_FAILED', 'no greeting here'] };
    const gate = 'grep hello greeting.txt || { echo no greeting here; exit 1; }';
    const { state, server } = await run(
      [write('bye'), OK, hint, OK],
      [`gates=${JSON.stringify([gate])}`, 'retry.attempts=2'],
    );
    expect(state).toMatchObject({ stopReason: 'SUCCESS', stories: [{ progress: 'passed', attempts: 2 }] });
    expect(server.remaining()).toBe(0);
  });

  it('runs beside others, each with its own gateway', async () => {
    const lane = (word: string): Lane => ({
      match: `Say ${word}`,
      turns: [{ write: 'word.txt', content: word, expect: [`Say ${word}`] }, OK],
    });
    const server = await halo.serve([lane('red'), lane('blue')]);
    const words = ['red', 'blue'].map(async (word) => {
      const repository = halo.newRepository();
      const story = { id: word, title: `Say ${word}` };
      const state = await halo.run(repository.root, [story], modelAt(server.url, [CODEX]));
      return repository.git('show', `halo/${state.runId}:word.txt`);
    });
    expect(await Promise.all(words)).toEqual(['red', 'blue']);
  });
});

// Beside each other: most of their time Codex waits before it tries again.
describe.concurrent('a story that Codex does not finish', () => {
  it('ends with the question when a human is needed, and keeps the work so far', async () => {
    const { state, read } = await run([
      { write: 'half.txt', content: 'half\n' },
      { json: { status: 'needs_human', summary: 'Which language must it greet in?' } },
    ]);
    expect(state).toMatchObject({ stopReason: 'NEEDS_HUMAN' });
    expect(state.detail).toContain('Which language must it greet in?');
    expect(read('artifacts/hello/1/diff.patch')).toContain('+half');
    expect(read('agent.log')).toContain('NEEDS A HUMAN');
  });

  it.each(
    casesAtLevel<{ name: string; turns: Turn[]; reason: string; says: string }>(
      [
        {
          name: 'too many requests',
          turns: fails(429),
          reason: 'ENGINE_ERROR',
          says: 'limits requests, or the quota of the account is used up (HTTP status 429)',
        },
      ],
      [
        {
          name: 'prose instead of JSON',
          turns: [{ write: 'x', content: 'x' }, { say: 'All done, enjoy!' }],
          reason: 'INVALID_OUTPUT',
          says: 'not the JSON that was asked for: "All done, enjoy!"',
        },
        {
          name: 'a refused request',
          turns: fails(400),
          reason: 'ENGINE_ERROR',
          says: 'refused the request (HTTP status 400): scripted failure 400',
        },
        { name: 'a refused key', turns: fails(401), reason: 'ENGINE_ERROR', says: 'refused the key (HTTP status 401)' },
        {
          name: 'a failing provider',
          turns: fails(500),
          reason: 'ENGINE_ERROR',
          says: 'failed (HTTP status 500): scripted failure 500',
        },
      ],
    ),
  )('reports the result of $name', async ({ turns, reason, says }) => {
    const { state, repository, read } = await run(turns);
    expect(state).toMatchObject({ stopReason: reason });
    expect(state.detail).toContain(says);
    expect(read('debug_bundle/summary.md')).toContain(says);
    expect(repository.git('branch', '--list', 'halo/*')).toBe('');
  });

  it('reports that the provider is unreachable, with its address', skipFor(belowFull()), async () => {
    const server = await halo.serve([]);
    await server.close();
    const state = await halo.run(halo.newRepository().root, [{ id: 'hello' }], modelAt(server.url, [CODEX]));
    expect(state).toMatchObject({ stopReason: 'ENGINE_ERROR' });
    expect(state.detail).toContain(`could not be reached`);
    expect(state.detail).toContain(new URL(server.url).host);
  });
});

it('a replay reports where an agent diverged from the cassette', skipFor(belowFull()), async () => {
  const { state: recorded, server } = await run(GREET, ['model.mode=record']);
  const cassettes = halo.keepCassette(recorded);
  await server.close();
  const lines = readFileSync(join(cassettes, 'hello.jsonl'), 'utf8').split('\n');
  const replayOf = async (name: string, kept: string[], more: string[] = []) => {
    const folder = join(cassettes, name);
    mkdirSync(folder);
    writeFileSync(join(folder, 'hello.jsonl'), `${kept.join('\n')}\n`);
    return halo.run(halo.newRepository().root, [{ id: 'hello' }], replaying(folder, [CODEX, ...more]));
  };
  const nowhere = halo.run(halo.newRepository().root, [{ id: 'other' }], replaying(cassettes, [CODEX]));
  const [short, skipped, otherModel] = await Promise.all([
    replayOf('short', lines.slice(0, 3)),
    replayOf('skipped', [lines[0]!, lines[1]!, lines[3]!, lines[4]!]),
    replayOf('model', lines.filter(Boolean), ['model.name=gpt-5.1']),
  ]);
  for (const state of [short, skipped, otherModel]) expect(state).toMatchObject({ stopReason: 'ENGINE_ERROR' });
  expect(short.detail).toContain('the agent makes request 3, but the cassette hello.jsonl holds only 2');
  expect(skipped.detail).toContain('request 2 carries 1 tool results, but the cassette hello.jsonl has 2 there');
  expect(otherModel.detail).toContain('asks for the model "gpt-5.1"');
  expect(await nowhere).toMatchObject({ stopReason: 'MISSING_DEPENDENCY' });
  expect((await nowhere).detail).toContain(`${join(cassettes, 'other.jsonl')} could not be read`);
});

function fails(status: number): Turn[] {
  return Array.from({ length: 30 }, () => ({ fail: status }));
}
