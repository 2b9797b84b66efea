import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { pino } from 'pino';
import { afterEach, expect, it, vi } from 'vitest';
import { openLocal } from '../../../src/api/local.ts';
import type { Operations } from '../../../src/api/operations.ts';
import { sleep } from '../../../src/lib/async.ts';
import { startWorker, type Worker } from '../../../src/worker/main.ts';
import { OK, prdOf, scripted } from '../../support/halo/halo.ts';
import type { TestRepository } from '../../support/repository/repository.ts';
import { FULL, LEVEL } from '../../support/suite/level.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { hostOf } from '../../support/halo/host.ts';
import { newRepository } from '../../support/repository/new-repository.ts';
import { PATIENCE } from '../../support/patience.ts';

let home: string;
let server: ChildProcess;
let worker: Worker | undefined;
let operations: Operations | undefined;
let repository: TestRepository;

afterEach(async () => {
  await worker?.close();
  await operations?.close();
  server.kill('SIGKILL');
});

/** Nothing of it is kept: what comes back after an outage is an empty server. */
function startServer(): void {
  const flags = ['--port', '0', '--unixsocket', join(home, 'redis.sock'), '--dir', home, '--save', ''];
  server = spawn('redis-server', flags, { stdio: 'ignore' });
}

it(
  'hazards 6, 8: a run whose Redis is unavailable when a story ends, and returns empty, continues: each story lands once',
  { timeout: 180_000 },
  async () => {
    home = tempDir('halo-away');
    repository = newRepository();
    startServer();
    const redisUrl = `unix://${join(home, 'redis.sock')}`;
    // Journals and queue are compared as often.
    const host = { ...hostOf(home, redisUrl), takeoverMs: 3_000 };
    worker = await vi.waitFor(() => startWorker({ host, concurrency: 1, log: pino({ level: 'silent' }) }), PATIENCE);
    operations = openLocal({ host });
    const [submitted] = (
      await operations.submit({
        prd: prdOf([{ id: 'A' }, { id: 'B' }]),
        repos: [repository.root],
        profile: undefined,
        set: scripted(`echo x >> x; ${OK}`),
        allowDirty: false,
      })
    ).runs;
    const { runId } = submitted!;
    for await (const { event } of await operations.followEvents({ runId, after: 0, follow: true })) {
      if (event.type === 'phase.started' && event.phase === 'agent') {
        server.kill('SIGKILL');
        await once(server, 'exit');
      }
      if (event.type === 'story.ended') break;
    }
    // In the full suite, longer than a worker waits for an answer.
    await sleep(LEVEL < FULL ? 2000 : 7000);
    expect((await operations.getRun({ runId })).state).toMatchObject({
      status: 'running',
      stories: [{ progress: 'passed' }, {}],
    });
    startServer();
    for await (const {
      event: { type },
    } of await operations.followEvents({ runId, after: 0, follow: true }))
      if (type === 'run.ended') break;
    const { state } = await operations.getRun({ runId });
    expect(state).toMatchObject({ stopReason: 'SUCCESS', stories: [{ attempts: 1 }, { attempts: 1 }] });
    expect(repository.git('log', '--format=%s', `main..halo/${runId}`).split('\n')).toEqual([
      'feat: [B] - Story B',
      'feat: [A] - Story A',
    ]);
  },
);
