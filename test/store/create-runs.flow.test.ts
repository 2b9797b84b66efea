import { mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { transcribe } from '../../src/core/transcript/transcript.ts';
import { openStore } from '../../src/store/store.ts';
import { created } from '../support/journal.ts';
import { test as base } from '../support/fixtures.ts';

const origin = { haloVersion: '0.1.0', agent: { name: 'codex' }, args: [], config: {} };
const END = { type: 'run.ended', stopReason: 'USER_ABORT', detail: 'Cancelled.' } as const;

const test = base.extend('store', ({ home }) => openStore(home, { transcribe }));

const newRuns = (count: number) => Array.from({ length: count }, () => ({ created: created(), origin }));

test('no run is created if one of several cannot be created', async ({ home, store }) => {
  const [first, second, third] = newRuns(3);
  await store.createRuns([second!]);
  await expect(store.createRuns([first!, second!, third!])).rejects.toThrow('already exists');
  expect(readdirSync(join(home, 'runs'))).toEqual([second!.created.runId]);
});

test('the next process publishes runs whose creator died after the commit point', async ({ home, store }) => {
  const runs = newRuns(3);
  await store.createRuns(runs);
  const ids = runs.map((run) => run.created.runId);
  const aside = join(home, 'runs', '.ready-0123456789abcdef');
  mkdirSync(aside);
  for (const id of ids.slice(1)) renameSync(join(home, 'runs', id), join(aside, id));
  expect(await store.runIds()).toEqual([ids[0]]);
  await Promise.all(Array.from({ length: 5 }, () => store.publishRuns()));
  expect(readdirSync(join(home, 'runs')).sort()).toEqual([...ids].sort());
});

test('runs whose creator died before the commit point are never visible', async ({ home, store }) => {
  const [run] = newRuns(1);
  await store.createRuns([run!]);
  const aside = join(home, 'runs', '.new-0123456789abcdef');
  mkdirSync(aside);
  renameSync(join(home, 'runs', run!.created.runId), join(aside, run!.created.runId));
  await store.publishRuns();
  expect(await store.runIds()).toEqual([]);
});

test('runs are created if the index of runs cannot be written', async ({ home, store }) => {
  const [first, open, ended] = newRuns(3);
  await store.createRuns([first!]);
  await store.append(first!.created.runId, [END]);
  expect(await store.openRuns()).toEqual([]);
  mkdirSync(join(home, 'run-index.jsonl.lock'));
  await store.createRuns([open!]);
  await store.createEnded(ended!.created, END, origin);
  const { runId } = open!.created;
  expect(await store.openRuns()).toEqual([{ runId, started: false }]);
  expect((await store.list({ user: open!.created.user, open: 5, ended: 0 })).runs).toMatchObject([{ runId }]);
});

test('a disk error after the commit point does not fail the creation of runs; they are published later', async ({
  home,
  store,
}) => {
  const [run] = newRuns(1);
  mkdirSync(home, { recursive: true });
  writeFileSync(join(home, 'open-runs'), 'not a folder');
  await store.createRuns([run!]);
  expect(await store.runIds()).toEqual([]);
  rmSync(join(home, 'open-runs'));
  await store.publishRuns();
  expect(await store.runIds()).toEqual([run!.created.runId]);
});
