import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pino } from 'pino';
import { expect } from 'vitest';
import type { JournalEntry } from '../../../src/core/journal/events.ts';
import { openStore } from '../../../src/store/store.ts';
import { updateDependencies } from '../../../src/worker/recovery/update-dependencies.ts';
import { it } from '../../support/fixtures.ts';
import { BASE, COMMIT, created, failed, passed } from '../../support/journal.ts';

const ORIGIN = { haloVersion: '0.1.0', agent: { name: 'codex' }, args: [], config: {} };
const SUCCESS: JournalEntry = { type: 'run.ended', stopReason: 'SUCCESS', detail: '' };
const FAILURE: JournalEntry = { type: 'run.ended', stopReason: 'ATTEMPTS_EXHAUSTED', detail: '' };

/** A run that needs another one, of the same repository or of another. */
async function open(home: string, { mirror = 'shop-1' } = {}) {
  const store = openStore(home, { transcribe: () => [] });
  const [needed, waiting] = [created('0tbq1aaaaaaaaaaa', 1), created('0tbq2bbbbbbbbbbb', 1)];
  await store.createRun({ ...needed, repo: { ...needed.repo, mirror } }, ORIGIN);
  await store.createRun({ ...waiting, after: [needed.runId] }, ORIGIN);
  const worker = { store, log: pino({ level: 'silent' }) };
  const needEnds = (...entries: JournalEntry[]) => store.append(needed.runId, entries);
  const update = async () => updateDependencies(worker, await store.readState(waiting.runId));
  const changes = async () =>
    (await store.readJournal(waiting.runId)).filter((event) => event.type === 'need.changed').map(({ now }) => now);
  return { needEnds, update, changes, needed: needed.runId };
}

it.for<[string, JournalEntry[], object]>([
  ['is open until that run ends', [], { needs: [{ now: 'open' }], tip: BASE }],
  [
    'is met by success, and the run builds on the result',
    [...passed('US-001'), SUCCESS],
    { needs: [{ now: 'met' }], tip: COMMIT, repo: { base: COMMIT } },
  ],
  [
    'has failed with the stop reason of that run',
    [...failed('US-001'), FAILURE],
    { needs: [{ now: 'failed', stopReason: 'ATTEMPTS_EXHAUSTED' }], tip: BASE },
  ],
])('a dependency on another run %s', async ([, entries, state], { home }) => {
  const { needEnds, update } = await open(home);
  await needEnds(...entries);
  expect(await update()).toMatchObject(state);
});

it('a dependency on a run of another repository changes no base', async ({ home }) => {
  const { needEnds, update } = await open(home, { mirror: 'lib-1' });
  await needEnds(...passed('US-001'), SUCCESS);
  expect(await update()).toMatchObject({ needs: [{ now: 'met' }], tip: BASE });
});

it('a dependency follows a run that is retried, until it is met', async ({ home }) => {
  const { needEnds, update, changes } = await open(home);
  await needEnds(...failed('US-001'), FAILURE);
  await update();
  await needEnds({ type: 'run.retried', by: 'tess', stories: ['US-001'] });
  await update();
  await needEnds(...passed('US-001'), SUCCESS);
  expect(await update()).toMatchObject({ needs: [{ now: 'met' }], tip: COMMIT });
  await needEnds({ type: 'run.retried', by: 'tess', stories: [] });
  await update();
  expect(await changes()).toEqual(['failed', 'open', 'met']);
});

it('a dependency is recorded once, however often and by however many workers it is compared', async ({ home }) => {
  const { needEnds, update, changes } = await open(home);
  await needEnds(...passed('US-001'), SUCCESS);
  await Promise.all([update(), update(), update()]);
  await update();
  expect(await changes()).toEqual(['met']);
});

it('a dependency that cannot be read stays open', async ({ home }) => {
  const { needEnds, update, needed } = await open(home);
  await needEnds(...passed('US-001'), SUCCESS);
  writeFileSync(join(home, 'runs', needed, 'journal.jsonl'), '');
  expect(await update()).toMatchObject({ needs: [{ now: 'open' }], tip: BASE });
});
