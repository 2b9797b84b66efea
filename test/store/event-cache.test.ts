import { appendFileSync, copyFileSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { transcribe } from '../../src/core/transcript/transcript.ts';
import { openStore, type Store } from '../../src/store/store.ts';
import { created, passed } from '../support/journal.ts';
import { tempDir } from '../support/temp-dir.ts';

let home: string;
let store: Store;
let runId: string;
beforeEach(async () => {
  home = tempDir('halo-events');
  store = openStore(home, { transcribe });
  const entry = created();
  runId = entry.runId;
  await store.createRun(entry, { haloVersion: '0.1.0', agent: { name: 'codex' }, args: [], config: {} });
});

const typesOf = async () => (await store.readWithoutActivities(runId)).map(({ type }) => type);
const say = { type: 'agent.activity', story: 'US-001', attempt: 1, activity: { kind: 'say', text: 'hello' } } as const;

describe('the events of a run without activities', () => {
  test('are all others, also those that another process appends', async () => {
    await store.append(runId, [{ type: 'run.started' }, say]);
    expect(await typesOf()).toEqual(['run.created', 'run.started']);
    const other = openStore(home, { transcribe });
    await other.append(runId, [say, ...passed('US-001'), say]);
    expect(await typesOf()).toEqual(
      (await store.readJournal(runId)).map(({ type }) => type).filter((type) => type !== 'agent.activity'),
    );
  });

  test('do not contain a line that is still being written', async () => {
    const journal = join(home, 'runs', runId, 'journal.jsonl');
    appendFileSync(journal, '{"v":1,"seq":2,"at":"2030-01-01T00:00:00.000Z",');
    expect(await typesOf()).toEqual(['run.created']);
    appendFileSync(journal, '"type":"run.started"}\n');
    expect(await typesOf()).toEqual(['run.created', 'run.started']);
  });

  test('are read again when another file takes the place of the journal', async () => {
    const journal = join(home, 'runs', runId, 'journal.jsonl');
    copyFileSync(journal, `${journal}.backup`);
    await store.append(runId, [{ type: 'run.started' }, ...passed('US-001')]);
    await typesOf();
    renameSync(`${journal}.backup`, journal);
    expect(await typesOf()).toEqual(['run.created']);
  });
});
