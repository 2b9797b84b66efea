import { expect, test } from 'vitest';
import { openLocal } from '../../../src/api/local.ts';
import type { JournalEntry } from '../../../src/core/journal/events.ts';
import { openStore } from '../../../src/store/store.ts';
import { created, passed } from '../../support/journal.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { hostOf } from '../../support/halo/host.ts';

test('a story that was added by a later PRD of the run can be replayed', async () => {
  const home = tempDir('halo-replay');
  const store = openStore(home, { transcribe: () => [] });
  const run = created(undefined, ['US-001']);
  const { prd } = created();
  await store.createRun(run, { haloVersion: '0.1.0', agent: { name: 'codex' }, args: [], config: {} });
  const { prdPath } = run;
  const replanned: JournalEntry = { type: 'run.replanned', by: 'ada', prd, prdPath, changed: [] };
  await store.append(run.runId, [{ type: 'run.started' }, replanned, ...passed('US-002')]);
  const operations = openLocal({ host: hostOf(home) });
  // As far as it gets without a cassette.
  await expect(operations.replay({ runId: run.runId, story: 'US-002' })).rejects.toMatchObject({
    code: 'CASSETTE_MISSING',
  });
  await expect(operations.replay({ runId: run.runId, story: 'US-003' })).rejects.toMatchObject({
    code: 'STORY_NOT_FOUND',
  });
});
