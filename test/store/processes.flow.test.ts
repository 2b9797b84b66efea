import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import type { JournalEntry, JournalEvent } from '../../src/core/journal/events.ts';
import { openStore, type Store } from '../../src/store/store.ts';
import { buildSources, type Built } from '../support/halo/build.ts';
import { COMMIT, created, passed } from '../support/journal.ts';
import { casesAtLevel } from '../support/suite/level.ts';
import { tempDir } from '../support/temp-dir.ts';

const ORIGIN = { haloVersion: '0.1.0', agent: { name: 'codex' }, args: [], config: {} };

let built: Built;
let home: string;
let store: Store;
beforeAll(() => {
  built = buildSources('store/store');
});
afterAll(() => built.remove());
beforeEach(() => {
  home = tempDir('halo-store');
  store = openStore(home, { transcribe: () => [] });
});

/** A process that runs `script` with `store`, `runId` and `say(i)`, which appends a numbered line. */
function writer(runId: string, script: string): ChildProcess {
  const file = join(home, `writer-${Math.random()}.mjs`);
  writeFileSync(
    file,
    `import { openStore } from ${JSON.stringify(built.module('store/store'))};
     const store = openStore(${JSON.stringify(home)}, { transcribe: () => [] });
     const runId = ${JSON.stringify(runId)};
     const activity = (text) => ({ type: 'agent.activity', story: 'US-001', attempt: 1, activity: { kind: 'say', text } });
     const say = (i) => store.append(runId, [activity(i + 'x'.repeat(500)), { type: 'run.started' }]);
     ${script}`,
  );
  return spawn(process.execPath, [file], { stdio: ['ignore', 'pipe', 'inherit'] });
}

test('processes that append to one run at the same time lose nothing and leave no gap', async () => {
  const entry = created();
  await store.createRun(entry, ORIGIN);
  const writers = [1, 2, 3].map(() => writer(entry.runId, 'for (let i = 0; i < 20; i++) await say(i);'));
  const ends = await Promise.all(writers.map((child) => once(child, 'exit')));
  expect(ends.map(([code]) => code as number)).toEqual([0, 0, 0]);
  const journal = await store.readJournal(entry.runId);
  expect(journal.map((event) => event.seq)).toEqual(Array.from({ length: 121 }, (_, i) => i + 1));
  expect((await store.readState(entry.runId)).seq).toBe(121);
});

test('a journal stays readable and without gaps when its writers are killed at any moment', async () => {
  const entry = created();
  await store.createRun(entry, ORIGIN);
  for (const _round of casesAtLevel([1, 2], [3, 4])) {
    const child = writer(entry.runId, "for (let i = 0; ; i++) { await say(i); if (i === 3) console.log('go'); }");
    await once(child.stdout!, 'data');
    child.kill('SIGKILL');
    await once(child, 'exit');
  }
  await store.append(entry.runId, [{ type: 'run.ended', stopReason: 'SUCCESS', detail: '' }]);
  const seqs = (await store.readJournal(entry.runId)).map((event) => event.seq);
  expect(seqs).toEqual(seqs.map((_, i) => i + 1));
  expect((await store.readState(entry.runId)).status).toBe('ended');
});

test('a follower receives what another process writes, in order, and ends with the run', async () => {
  const entry = created();
  await store.createRun(entry, ORIGIN);
  const script = `for (let i = 0; i < 10; i++) await say(i);
    await store.append(runId, [{ type: 'run.ended', stopReason: 'SUCCESS', detail: '' }]);`;
  const child = writer(entry.runId, script);
  const exit = once(child, 'exit');
  const events: JournalEvent[] = [];
  for await (const event of store.follow(entry.runId, { after: 1, follow: true })) events.push(event);
  expect(events.map((event) => event.seq)).toEqual(Array.from({ length: 21 }, (_, i) => i + 2));
  await exit;
});

test('following the raw output yields every byte of a story, over all attempts', async () => {
  const entry = created();
  await store.createRun(entry, ORIGIN);
  const script = `for (const attempt of [1, 2]) {
      const raw = store.openRaw({ runId, storyKey: 's-1', attempt });
      for (let i = 0; i < 5; i++) raw.write('{"attempt":' + attempt + ',"i":' + i + '}\\n');
      await new Promise((done) => raw.end(done));
    }
    await store.append(runId, [{ type: 'run.ended', stopReason: 'SUCCESS', detail: '' }]);`;
  const child = writer(entry.runId, script);
  const exit = once(child, 'exit');
  const texts = await Promise.all([
    collect(store.followRaw(entry.runId, { storyKey: 's-1', follow: true })),
    collect(store.followRaw(entry.runId, { follow: true })),
  ]);
  const lines = [1, 2].flatMap((n) => [0, 1, 2, 3, 4].map((i) => `{"attempt":${n},"i":${i}}\n`));
  expect(texts).toEqual([lines.join(''), lines.join('')]);
  await exit;
});

test.each<[string, JournalEntry]>([
  ['closed its breaker', { type: 'breaker.reset', key: 'run' }],
  [
    'refused a commit of it',
    { type: 'story.rejected', story: 'US-001', attempt: 1, commit: COMMIT, reason: 'no', by: 'ada' },
  ],
])('an ended run is followed to its next end after a user %s', async (_what, word) => {
  const entry = created();
  await store.createRun(entry, ORIGIN);
  const ended: JournalEntry = { type: 'run.ended', stopReason: 'CIRCUIT_OPEN', detail: '' };
  const held = { verdict: 'needs_human', stopReason: 'NEEDS_HUMAN', held: { commit: COMMIT, paths: [] } } as const;
  const events = passed('US-001');
  await store.append(entry.runId, [events[0]!, { ...events.at(-1), ...held } as JournalEntry, ended, word]);
  const following = collectEvents(store.follow(entry.runId, { after: 0, follow: true }));
  await store.append(entry.runId, [ended]);
  expect((await following).at(-1)).toMatchObject({ seq: 6, type: 'run.ended' });
});

test('a follower stops when it is aborted, and a reader stops at the last event', async () => {
  const entry = created();
  await store.createRun(entry, ORIGIN);
  expect(await collectEvents(store.follow(entry.runId, { after: 0, follow: false }))).toHaveLength(1);
  const stop = new AbortController();
  const following = collectEvents(store.follow(entry.runId, { after: 0, follow: true, signal: stop.signal }));
  stop.abort();
  expect((await following).length).toBeLessThanOrEqual(1);
});

async function collect(parts: AsyncIterable<Uint8Array>): Promise<string> {
  const all: Uint8Array[] = [];
  for await (const part of parts) all.push(part);
  return Buffer.concat(all).toString();
}

async function collectEvents(events: AsyncIterable<JournalEvent>): Promise<JournalEvent[]> {
  const all: JournalEvent[] = [];
  for await (const event of events) all.push(event);
  return all;
}
