import { randomBytes } from 'node:crypto';
import { existsSync, appendFileSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { finished } from 'node:stream/promises';
import { beforeEach, describe, expect, test } from 'vitest';
import { newRunId } from '../../src/lib/run-id.ts';
import { transcribe } from '../../src/core/transcript/transcript.ts';
import { openMasker } from '../../src/lib/secrets/masker.ts';
import { openStore, type Store } from '../../src/store/store.ts';
import { BASE, COMMIT, created, failed, failedWithTests, journalOf, passed } from '../support/journal.ts';
import { tempDir } from '../support/temp-dir.ts';

const ORIGIN = { haloVersion: '0.1.0', agent: { name: 'codex' }, args: ['run', 'prd.json'], config: { image: 'x' } };

let home: string;
let store: Store;
beforeEach(() => {
  home = tempDir('halo-store');
  store = openStore(home, { transcribe });
});

async function newRun(ids?: string[]): Promise<string> {
  const entry = created(undefined, ids);
  await store.createRun(entry, ORIGIN);
  return entry.runId;
}

const createdAt = (ms: number) => created(newRunId(new Date(ms), randomBytes), []);
const read = (runId: string, name: string) => readFileSync(join(home, 'runs', runId, name), 'utf8');
const json = (runId: string, name: string) => JSON.parse(read(runId, name)) as Record<string, unknown>;

describe('a new run', () => {
  test('has all parts of the run directory, private to the owner, and nothing else', async () => {
    const runId = await newRun();
    expect(readdirSync(join(home, 'runs'))).toEqual([runId]);
    expect(readdirSync(join(home, 'runs', runId)).sort()).toEqual([
      'agent.log',
      'artifacts',
      'checkpoints',
      'debug_bundle',
      'events.jsonl',
      'history.md',
      'journal.jsonl',
      'progress.md',
      'run.json',
    ]);
    expect(statSync(join(home, 'runs', runId, 'journal.jsonl')).mode & 0o077).toBe(0);
    expect((await store.readState(runId)).status).toBe('queued');
  });

  test('cannot replace another, and leaves nothing behind after a failure', async () => {
    const entry = created();
    await store.createRun(entry, ORIGIN);
    await expect(store.createRun(entry, ORIGIN)).rejects.toThrow('already exists');
    expect(readdirSync(join(home, 'runs'))).toEqual([entry.runId]);
  });

  test('contains the facts of the contract in run.json', async () => {
    const runId = await newRun();
    expect(json(runId, 'run.json')).toMatchObject({
      contractVersion: '0.1',
      runId,
      status: 'queued',
      startTime: null,
      endTime: null,
      stopReason: null,
      exitStatus: null,
      repo: { path: '/home/me/shop', branch: 'main', headSha: BASE },
      prd: { path: '/home/me/shop/prd.json', dialect: 'ralph', hash: 'f00' },
      agent: { name: 'codex', version: null },
      args: ['run', 'prd.json'],
      progress: { completed: [], current: null, next: 'US-001' },
    });
  });
});

describe('append', () => {
  test('numbers events without gaps, also for concurrent calls', async () => {
    const runId = await newRun();
    await Promise.all([store.append(runId, [{ type: 'run.started' }]), store.append(runId, passed('US-001'))]);
    expect((await store.readJournal(runId)).map((event) => event.seq)).toEqual(
      journalOf([created(), { type: 'run.started' }, ...passed('US-001')]).map(({ seq }) => seq),
    );
  });

  test('keeps run.json, the checkpoint, progress.md, history.md and agent.log up to date', async () => {
    const runId = await newRun();
    await store.append(runId, [{ type: 'run.started' }, ...passed('US-001'), ...failed('US-002')]);
    await store.append(runId, [
      { type: 'run.ended', stopReason: 'GATE_FAILED', detail: 'US-002: npm test exited with 1' },
    ]);
    expect(json(runId, 'run.json')).toMatchObject({
      status: 'ended',
      stopReason: 'GATE_FAILED',
      exitStatus: 10,
      progress: { completed: ['US-001'], current: null, next: 'US-002' },
      landed: { commits: [{ story: 'US-001', commit: COMMIT }] },
      config: { image: 'x' },
    });
    expect(json(runId, 'checkpoints/state.json')).toMatchObject({ state: await store.readState(runId) });
    expect(read(runId, 'progress.md')).toContain('1 of 2 stories passed');
    expect(read(runId, 'progress.md')).toContain(
      `- commit: ${COMMIT}\n- gate \`npm test\`: passed in 1.2 s\n\n> Adds the cart.`,
    );
    await store.append(runId, passed('US-002').slice(0, 1));
    expect(read(runId, 'progress.md')).toContain('1 of 2 stories passed. In progress: US-002.');
    expect(read(runId, 'history.md').match(/^## .*$/gm)).toEqual([
      expect.stringMatching(/^## .* UTC - US-001 passed$/),
      expect.stringMatching(/^## .* UTC - US-002 failed$/),
    ]);
    expect(read(runId, 'agent.log')).toContain('US-002');
  });

  test('keeps run.json up to date when the stories that could not be marked change, also of an ended run', async () => {
    const runId = await newRun();
    await store.append(runId, [...passed('US-001'), { type: 'run.ended', stopReason: 'SUCCESS', detail: '' }]);
    await store.append(runId, [{ type: 'marks.failed', stories: ['US-001'], reason: 'it is a link' }]);
    expect(json(runId, 'run.json')).toMatchObject({ progress: { unmarked: { stories: ['US-001'] } } });
    await store.append(runId, [{ type: 'marks.caught_up' }]);
    expect(json(runId, 'run.json')).toMatchObject({ progress: { unmarked: null } });
  });

  test('text of an agent cannot imitate a heading in progress.md', async () => {
    const runId = await newRun();
    const entries = passed('US-001').map((e) =>
      e.type === 'story.ended' ? { ...e, summary: 'ok\n## Fake\x1b[2J' } : e,
    );
    await store.append(runId, entries);
    expect(read(runId, 'progress.md')).toContain('> ok\n> ## Fake\n');
  });

  test('truncates a line that a crash left incomplete, and readers ignore it', async () => {
    const runId = await newRun();
    appendFileSync(join(home, 'runs', runId, 'journal.jsonl'), '{"v":1,"seq":2,"type":"run.st');
    expect(await store.readJournal(runId)).toHaveLength(1);
    const other = openStore(home, { transcribe });
    await other.append(runId, [{ type: 'run.started' }]);
    expect((await store.readJournal(runId)).map((e) => e.type)).toEqual(['run.created', 'run.started']);
  });

  test('an append to a run that somebody has removed creates nothing', async () => {
    const runId = await newRun();
    const journal = join(home, 'runs', runId, 'journal.jsonl');
    rmSync(journal);
    await expect(store.append(runId, [{ type: 'run.started' }])).rejects.toMatchObject({ code: 'RUN_NOT_FOUND' });
    expect(existsSync(journal)).toBe(false);
  });

  test.for<[string, string, (lines: string[]) => string[]]>([
    ['is repeated', 'event 2 follows event 3', (lines) => [...lines, lines[1]!]],
    ['is missing', 'event 3 follows event 1', ([first = '', , ...rest]) => [first, ...rest]],
    [
      'is in another place',
      'event 3 follows event 1',
      ([first = '', second = '', third = '']) => [first, third, second],
    ],
    ['is the creation of the run, again', 'event 1 follows event 3', (lines) => [...lines, lines[0]!]],
    ['is the first one, and missing', 'it begins with event 2', ([, ...rest]) => rest],
  ])('hazard 55: does not read a journal of which a line %s', async ([, says, damage]) => {
    const runId = await newRun();
    await store.append(runId, [{ type: 'run.started' }, ...passed('US-001').slice(0, 1)]);
    const path = join(home, 'runs', runId, 'journal.jsonl');
    const lines = readFileSync(path, 'utf8').trimEnd().split('\n');
    writeFileSync(path, damage(lines).map((line) => `${line}\n`).join('')); // prettier-ignore
    rmSync(join(home, 'runs', runId, 'checkpoints/state.json'));
    const error = { code: 'RUN_UNREADABLE', message: expect.stringContaining(says) as string };
    for (const read of ['readState', 'readJournal'] as const)
      await expect(openStore(home, { transcribe })[read](runId)).rejects.toMatchObject(error);
  });

  test('sees what another store appended in between', async () => {
    const runId = await newRun();
    const other = openStore(home, { transcribe });
    await store.append(runId, [{ type: 'run.started' }]);
    await other.append(runId, passed('US-001'));
    const [event] = await store.append(runId, [{ type: 'run.ended', stopReason: 'SUCCESS', detail: '' }]);
    expect(event?.seq).toBe(3 + passed('US-001').length);
    expect((await other.readState(runId)).tip).toBe(COMMIT);
  });

  test('decides on the state as of the last event of any store, and blocks other writers until it is done', async () => {
    const runId = await newRun();
    const other = openStore(home, { transcribe });
    const decide = (by: Store) =>
      by.transact(runId, async (state) => {
        await new Promise((resolve) => setTimeout(resolve, 20));
        return { entries: state.status === 'queued' ? [{ type: 'run.started' as const }] : [], result: state.seq };
      });
    expect((await Promise.all([decide(store), decide(other), decide(store)])).sort()).toEqual([1, 2, 2]);
    expect((await store.readJournal(runId)).map(({ type }) => type)).toEqual(['run.created', 'run.started']);
  });

  test('a decision that fails leaves the journal unchanged, and the run unlocked', async () => {
    const runId = await newRun();
    const failing = store.transact(runId, () => Promise.reject(new Error('not now')));
    await expect(failing).rejects.toThrow('not now');
    await openStore(home, { transcribe }).append(runId, [{ type: 'run.started' }]);
    expect(await store.readJournal(runId)).toHaveLength(2);
  });

  test('a damaged checkpoint or run.json is ignored: the journal is the source of truth', async () => {
    const runId = await newRun();
    await store.append(runId, passed('US-001'));
    writeFileSync(join(home, 'runs', runId, 'checkpoints/state.json'), '{"v":1,"journalBytes":7,"state":{}}');
    writeFileSync(join(home, 'runs', runId, 'run.json'), '');
    const other = openStore(home, { transcribe });
    expect((await other.readState(runId)).tip).toBe(COMMIT);
    await other.append(runId, [{ type: 'run.ended', stopReason: 'SUCCESS', detail: '' }]);
    expect(json(runId, 'run.json')).toMatchObject({ stopReason: 'SUCCESS' });
  });

  test.each([
    ['gone', undefined],
    ['no object', 'null'],
  ])('a run.json that is %s is written again', async (_what, text) => {
    const runId = await newRun();
    rmSync(join(home, 'runs', runId, 'run.json'));
    if (text !== undefined) writeFileSync(join(home, 'runs', runId, 'run.json'), text);
    expect(await store.readRecord(runId)).toMatchObject({ runId, status: 'queued', args: [], config: {} });
    await store.append(runId, [{ type: 'run.ended', stopReason: 'USER_ABORT', detail: '' }]);
    expect(json(runId, 'run.json')).toMatchObject({ stopReason: 'USER_ABORT' });
  });

  test.each([
    ['failed', failed('US-002'), 'GATE_FAILED'],
    ['was stopped', passed('US-002').slice(0, 1), 'USER_ABORT'],
    ['had not begun', [], 'CIRCUIT_OPEN'],
  ] as const)('names in run.json the story to continue with, if that %s', async (_how, entries, stopReason) => {
    const entry = { ...created(undefined, ['US-001', 'US-002', 'US-003']), attempts: 1 };
    await store.createRun(entry, ORIGIN);
    await store.append(entry.runId, [...passed('US-001'), ...entries, { type: 'run.ended', stopReason, detail: '' }]);
    expect(json(entry.runId, 'run.json').progress).toMatchObject({
      completed: ['US-001'],
      current: null,
      next: 'US-002',
    });
  });

  test('append to a missing run fails with RUN_NOT_FOUND, also for a path instead of an id', async () => {
    for (const runId of ['0123456789', '../../etc'])
      await expect(store.append(runId, [{ type: 'run.started' }])).rejects.toMatchObject({ code: 'RUN_NOT_FOUND' });
  });

  test('records the version of the agent when it is known', async () => {
    const runId = await newRun();
    await store.amend(runId, { agent: { name: 'codex', version: '1.2.3' } });
    await store.append(runId, [{ type: 'run.started' }]);
    expect(json(runId, 'run.json')).toMatchObject({
      agent: { name: 'codex', version: '1.2.3' },
      args: ['run', 'prd.json'],
    });
  });
});

describe('list and find', () => {
  test('list returns the newest first and reports damaged runs', async () => {
    const [old, young, broken] = [createdAt(1e12), createdAt(2e12), created()];
    for (const entry of [old, young, broken]) await store.createRun(entry, ORIGIN);
    for (const name of ['journal.jsonl', 'checkpoints/state.json'])
      writeFileSync(join(home, 'runs', broken.runId, name), 'garbage\n');
    const { runs, unreadable } = await store.list();
    expect(runs.map((run) => run.runId).sort()).toEqual([old.runId, young.runId].sort());
    expect(unreadable).toMatchObject([{ runId: broken.runId, error: { code: 'RUN_UNREADABLE' } }]);
  });

  test('list of a home without runs is empty', async () => {
    expect(await openStore(join(home, 'none'), { transcribe }).list()).toEqual({
      runs: [],
      unreadable: [],
      omitted: { open: 0, ended: 0 },
    });
  });

  test('find accepts any unique part of an id, and names candidates otherwise', async () => {
    const first = createdAt(1e12);
    const second = createdAt(1e12);
    for (const entry of [first, second]) await store.createRun(entry, ORIGIN);
    expect(await store.find(first.runId)).toBe(first.runId);
    expect(await store.find(first.runId.slice(0, 14).toUpperCase())).toBe(first.runId);
    expect(await store.find(first.runId.slice(9))).toBe(first.runId);
    await expect(store.find(first.runId.slice(0, 7))).rejects.toThrow('matches 2 runs');
    await expect(store.find(`${first.runId.slice(0, 14)}!`)).rejects.toThrow(`the closest are ${first.runId}`);
    await expect(store.find('')).rejects.toMatchObject({ code: 'RUN_NOT_FOUND' });
  });
});

describe('raw output and artifacts', () => {
  test('raw output is kept byte for byte per attempt, and in whole lines for the run', async () => {
    const runId = await newRun();
    const bytes = Buffer.from('{"a":"ü"}\n\xff\xfe{"b":1}\n{"torn', 'latin1');
    const stream = store.openRaw({ runId, storyKey: 's-1', attempt: 1 });
    for (const byte of bytes) stream.write(Buffer.from([byte]));
    stream.end();
    await finished(stream);
    const own = store.artifactPath({ runId, storyKey: 's-1', attempt: 1 }, 'events.jsonl');
    expect(readFileSync(own).equals(bytes)).toBe(true);
    expect(
      readFileSync(join(home, 'runs', runId, 'events.jsonl')).equals(Buffer.concat([bytes, Buffer.from('\n')])),
    ).toBe(true);
  });

  test('raw output can be read while more is printed', async () => {
    const runId = await newRun();
    const stream = store.openRaw({ runId, storyKey: 's-1', attempt: 1 });
    stream.write('one\ntwo');
    await expect.poll(() => read(runId, 'events.jsonl')).toBe('one\n');
    expect(read(runId, 'artifacts/s-1/1/events.jsonl')).toBe('one\n');
    const large = 'x'.repeat(3_000_000);
    stream.write(large);
    stream.end('\nlast');
    await finished(stream);
    expect(read(runId, 'events.jsonl')).toBe(`one\ntwo${large}\nlast\n`);
    expect(read(runId, 'artifacts/s-1/1/events.jsonl')).toBe(`one\ntwo${large}\nlast`);
  });

  test('raw output is masked across chunks, in both files and in the lines that are passed on', async () => {
    const runId = await newRun();
    const masker = openMasker();
    masker.learn(['correct-horse-battery']);
    let lines = '';
    const stream = openStore(home, { transcribe, masker }).openRaw({ runId, storyKey: 's-1', attempt: 1 }, (more) => {
      lines += Buffer.concat(more).toString();
      return Promise.resolve();
    });
    const text = 'one\n{"key":"correct-horse-battery"}\nlast';
    for (const byte of Buffer.from(text)) stream.write(Buffer.from([byte]));
    stream.end();
    await finished(stream);
    const masked = `one\n{"key":"${'*'.repeat(21)}"}\nlast`;
    expect(lines).toBe(masked);
    expect(read(runId, 'artifacts/s-1/1/events.jsonl')).toBe(masked);
    expect(read(runId, 'events.jsonl')).toBe(`${masked}\n`);
  });

  test('an artifact has its own path, and a name cannot lead elsewhere', async () => {
    const runId = await newRun();
    const place = { runId, storyKey: 's-1', attempt: 2 };
    expect(await store.writeArtifact(place, 'gates/1.log', 'ok')).toBe('artifacts/s-1/2/gates/1.log');
    expect(read(runId, 'artifacts/s-1/2/gates/1.log')).toBe('ok');
    expect((await store.readArtifactEnd(runId, 's-1/2/gates/1.log')).toString()).toBe('ok');
    await store.writeArtifact(place, 'gates/2.log', `${'x'.repeat(100_000)}end`);
    const end = (await store.readArtifactEnd(runId, 's-1/2/gates/2.log')).toString();
    expect(end).toBe(`${'x'.repeat(64 * 1024 - 3)}end`);
    for (const name of ['../x', '/etc/passwd', 'a//b', '.', ''])
      await expect(store.writeArtifact(place, name, '')).rejects.toMatchObject({ code: 'INTERNAL' });
    expect(() => store.artifactPath({ ...place, storyKey: '..' }, 'x')).toThrow('is not an artifact name');
  });

  test('a disk error is DISK_FAILED with the path', async () => {
    const runId = await newRun();
    writeFileSync(join(home, 'runs', runId, 'artifacts', 's-1'), 'a file, not a folder');
    const place = { runId, storyKey: 's-1', attempt: 1 };
    await expect(store.writeArtifact(place, 'x', '')).rejects.toMatchObject({ code: 'DISK_FAILED' });
    await expect(store.writeArtifact(place, 'x', '')).rejects.toThrow(join(home, 'runs', runId, 'artifacts', 's-1'));
    const stream = store.openRaw(place);
    stream.write('x\n');
    await expect(finished(stream)).rejects.toMatchObject({ code: 'DISK_FAILED' });
  });
});

test('the debug bundle describes what happened, why, what to try and where to look', async () => {
  const runId = await newRun();
  await store.append(runId, failedWithTests('US-001'));
  const { key } = (await store.readState(runId)).stories[0]!;
  await store.writeArtifact({ runId, storyKey: key, attempt: 1 }, 'prompt.md', '');
  const dir = await store.writeDebugBundle(runId, {
    end: { stopReason: 'GATE_FAILED', detail: 'US-001: it failed', story: 'US-001' },
    gitStatus: ' M a.txt',
    gitDiff: '+a',
    container: { image: 'halo-sandbox', exitCode: 1 },
  });
  expect(readdirSync(dir).sort()).toEqual([
    'container.json',
    'events.tail.jsonl',
    'git-diff.patch',
    'git-status.txt',
    'journal.tail.jsonl',
    'run.json',
    'summary.md',
  ]);
  const summary = readFileSync(join(dir, 'summary.md'), 'utf8');
  for (const part of [
    'GATE_FAILED',
    '> npm test exited with 1',
    '## Failed tests\n\n> ✗ test 1  test/page.test.js:3\n>   is 1<U+202E>\n>   not 0\n> ✗ test 2',
    '## What to try next\n\n- `halo logs',
    `- \`artifacts/${key}/1/\``,
    'git-diff.patch',
  ])
    expect(summary).toContain(part);
  let writing = true;
  const again = store.writeDebugBundle(runId, { end: { stopReason: 'USER_ABORT', detail: '' } });
  void again.finally(() => (writing = false));
  const seen = new Set<boolean>();
  for (; writing; await new Promise(setImmediate)) seen.add(existsSync(join(dir, 'summary.md')));
  expect([...seen], 'the summary is there while it is written again').toEqual([true]);
  expect(readdirSync(dir), 'nothing of an earlier failure').not.toContain('git-diff.patch');
  await store.dropDebugBundle(runId);
  expect(readdirSync(dir)).toEqual([]);
});

test('the summary of the debug bundle describes the newest failure, and names only files that exist', async () => {
  const runId = await newRun();
  const story = { story: 'US-001', attempt: 2 };
  const why = { stopReason: 'MISSING_DEPENDENCY', summary: 'no image' } as const;
  await store.append(runId, failedWithTests('US-001'));
  const { key } = (await store.readState(runId)).stories[0]!;
  await store.writeArtifact({ runId, storyKey: key, attempt: 1 }, 'prompt.md', '');
  await store.append(runId, [
    { type: 'story.started', ...story, epoch: 2, base: 'a'.repeat(40), worker: 'w' },
    { type: 'story.disturbed', ...story, class: 'environment', ...why },
  ]);
  const end = { stopReason: 'MISSING_DEPENDENCY', detail: 'US-001: no image', story: 'US-001' } as const;
  const dir = await store.writeDebugBundle(runId, { end });
  const summary = readFileSync(join(dir, 'summary.md'), 'utf8');
  expect(summary).toContain(`# Run ${runId}: MISSING_DEPENDENCY\n`);
  expect(summary).toContain('> US-001: no image\n');
  expect(summary).toContain('- `halo doctor`: see what is missing');
  expect(summary).toContain(`- \`artifacts/${key}/1/\``);
  for (const old of ['GATE_FAILED', 'npm test', 'Failed tests', `artifacts/${key}/2`])
    expect(summary).not.toContain(old);
});
