import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { finished } from 'node:stream/promises';
import { describe, expect } from 'vitest';
import { openStore } from '../../../src/store/store.ts';
import { fenceArtifacts } from '../../../src/worker/attempt/attempt-journal.ts';
import { it } from '../../support/fixtures.ts';
import { attempted, created } from '../../support/journal.ts';

const RUN = '0tbq1aaaaaaaaaaa';
const PLACE = { runId: RUN, storyKey: 'us-001', attempt: 1 };

/** A run whose story another worker has taken over, and the store of the first attempt. */
async function overtaken(home: string) {
  const store = openStore(home, { transcribe: () => [] });
  await store.createRun(created(RUN, 1), { haloVersion: '0', agent: { name: 'codex' }, args: [], config: {} });
  await store.append(RUN, [...attempted('US-001'), ...attempted('US-001', 2)]);
  return { store, fenced: fenceArtifacts(store, RUN, { story: 'US-001', epoch: 1 }) };
}

async function write(stream: NodeJS.WritableStream, text: string): Promise<void> {
  stream.end(text);
  await finished(stream);
}

describe('an attempt that another worker has taken over', () => {
  it('does not replace the log of the other one', async ({ home }) => {
    const { store, fenced } = await overtaken(home);
    await write(store.openArtifact(PLACE, 'gates/1.log'), 'of the second attempt');
    await expect(write(fenced.openArtifact(PLACE, 'gates/1.log'), 'late')).rejects.toMatchObject({
      code: 'RUN_ABORTED',
    });
    expect(readFileSync(store.artifactPath(PLACE, 'gates/1.log'), 'utf8')).toBe('of the second attempt');
  });

  it('adds nothing to the output of the agents', async ({ home }) => {
    const { store, fenced } = await overtaken(home);
    await expect(write(fenced.openRaw(PLACE), '{"late":true}\n')).rejects.toMatchObject({ code: 'RUN_ABORTED' });
    expect(existsSync(store.artifactPath(PLACE, 'events.jsonl'))).toBe(false);
    expect(readFileSync(join(store.runFolder(RUN), 'events.jsonl'), 'utf8')).toBe('');
  });

  it('writes no artifact', async ({ home }) => {
    const { fenced } = await overtaken(home);
    await expect(fenced.writeArtifact(PLACE, 'prompt.md', 'late')).rejects.toMatchObject({ code: 'RUN_ABORTED' });
  });
});
