import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, vi } from 'vitest';
import { it } from '../../support/fixtures.ts';
import { OK, scripted } from '../../support/halo/halo.ts';
import { PATIENCE } from '../../support/patience.ts';

it(
  'a worker keeps the output of an agent once, and compresses long logs, when the run has ended',
  { timeout: 300_000 },
  async ({ halo, repository }) => {
    const noisy = `date +%N > work.txt; yes 'output of the agent' | head -n 20000; ${OK}`;
    const { runId, stopReason, stories } = await halo.run(
      repository.root,
      [{ id: 'A' }],
      scripted(noisy, ['yes gate | head -n 20000']),
    );
    expect(stopReason).toBe('SUCCESS');
    const path = join(halo.home, 'runs', runId, 'artifacts', stories[0]!.key, '1', 'events.jsonl');
    await vi.waitFor(() => expect([existsSync(path), existsSync(`${path}.ranges`)]).toEqual([false, true]), PATIENCE);
    const text = readFileSync(join(halo.home, 'runs', runId, 'events.jsonl'), 'utf8');
    expect(text.split('\n').filter((line) => line.includes('output of the agent')).length).toBeGreaterThan(10_000);
    const parts: Buffer[] = [];
    for await (const { raw } of await halo.operations.followRaw({ runId, story: 'A', follow: false }))
      parts.push(Buffer.from(raw, 'base64'));
    expect(Buffer.concat(parts).toString()).toBe(text);
    const log = (await halo.operations.listArtifacts({ runId })).artifacts.find(
      ({ path, bytes }) => path.includes('gates/') && bytes > 65_536,
    );
    await vi.waitFor(
      () => expect(existsSync(join(halo.home, 'runs', runId, 'artifacts', `${log?.path}.gz`))).toBe(true),
      100_000,
    );
    expect((await halo.operations.readArtifact({ runId, path: log?.path ?? '', whole: false })).toString()).toContain(
      'gate\ngate\n',
    );
  },
);
