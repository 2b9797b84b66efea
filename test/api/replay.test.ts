import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { openLocal } from '../../src/api/local.ts';
import type { JournalEntry } from '../../src/core/journal/events.ts';
import { openStore } from '../../src/store/store.ts';
import { attempt, created } from '../support/runs.ts';

test('a story that came with a later PRD of the run can be replayed', async () => {
  const home = mkdtempSync(join(tmpdir(), 'halo-replay-'));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  const store = openStore(home, { transcribe: () => [] });
  const run = created(['S-1']);
  const { prd } = created(['S-1', 'S-2']);
  await store.createRun(run, { haloVersion: '0.1.0', agent: { name: 'codex' }, args: [], config: {} });
  const { prdPath } = run;
  const replanned: JournalEntry = { type: 'run.replanned', by: 'ada', prd, prdPath, changed: [] };
  await store.append(run.runId, [{ type: 'run.started' }, replanned, ...attempt('S-2')]);
  const operations = openLocal({ host: { home, redisUrl: undefined, apiUrl: undefined, apiToken: undefined } });
  // As far as it gets without a cassette.
  await expect(operations.replay(run.runId, { storyId: 'S-2' })).rejects.toMatchObject({ code: 'CASSETTE_MISSING' });
  await expect(operations.replay(run.runId, { storyId: 'S-3' })).rejects.toMatchObject({ code: 'STORY_NOT_FOUND' });
});
