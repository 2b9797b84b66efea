import { mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { transcribe } from '../../src/core/transcript/transcript.ts';
import { openStore, type Store } from '../../src/store/store.ts';
import { created } from '../support/runs.ts';

const origin = { haloVersion: '0.1.0', agent: { name: 'codex' }, args: [], config: {} };

let home: string;
let store: Store;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'halo-store-'));
  store = openStore(home, { transcribe });
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

const newRuns = (count: number) => Array.from({ length: count }, () => ({ created: created(), origin }));

test('when one of several runs cannot be made, none is', async () => {
  const [first, second, third] = newRuns(3);
  await store.createRuns([second!]);
  await expect(store.createRuns([first!, second!, third!])).rejects.toThrow('exists already');
  expect(readdirSync(join(home, 'runs'))).toEqual([second!.created.runId]);
});

test('runs whose maker died after the decision are put in their places by whoever comes next', async () => {
  const runs = newRuns(3);
  await store.createRuns(runs);
  const ids = runs.map((run) => run.created.runId);
  const aside = join(home, 'runs', '.ready-0123456789abcdef');
  mkdirSync(aside);
  for (const id of ids.slice(1)) renameSync(join(home, 'runs', id), join(aside, id));
  expect(await store.runIds()).toEqual([ids[0]]);
  await Promise.all(Array.from({ length: 5 }, () => store.placeRuns()));
  expect(readdirSync(join(home, 'runs')).sort()).toEqual([...ids].sort());
});

test('runs whose maker died before the decision are never seen', async () => {
  const [run] = newRuns(1);
  await store.createRuns([run!]);
  const aside = join(home, 'runs', '.new-0123456789abcdef');
  mkdirSync(aside);
  renameSync(join(home, 'runs', run!.created.runId), join(aside, run!.created.runId));
  await store.placeRuns();
  expect(await store.runIds()).toEqual([]);
});
