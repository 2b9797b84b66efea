import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { JournalEvent } from '../../../src/core/journal/events.ts';
import type { HaloProcess } from '../../support/halo/halo-process.ts';
import { makeRepository, type TestRepository } from '../../support/repository/repository.ts';
import { checkInvariants } from '../../support/faults/check-invariants.ts';
import { belowLevel, FULL } from '../../support/suite/level.ts';
import { canMount, mountSmallDisk, type SmallDisk } from './small-disk.ts';
import { NO_OP, openWorld, stopWorker, tidyUp, type World } from '../../support/faults/world.ts';
import { skipFor } from '../../support/skip.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { PATIENCE } from '../../support/patience.ts';

vi.setConfig({ testTimeout: 300_000, hookTimeout: 60_000 });

/** A story whose change does not pack well. */
const TWO_MIB = `agents.command.run=${JSON.stringify(`head -c 2097152 /dev/urandom > blob; ${NO_OP}`)}`;
const SETTINGS = [TWO_MIB, 'retry.infrastructure.retries=100', 'retry.infrastructure.backoff="3s"'];

describe(
  'hazard 18: the disk of the host is full',
  skipFor(belowLevel(FULL) || (!canMount() && 'needs the right to mount a file system')),
  () => {
    let disk: SmallDisk;
    let world: World;
    let repository: TestRepository;

    beforeEach(() => {
      disk = mountSmallDisk();
    });
    afterEach(async () => {
      await world.close();
      repository.remove();
      disk.unmount();
    });

    it.for([
      ['when the work is copied out of the sandbox', 'export.before', 512 * 1024],
      ['when the log of a gate is written', 'gates.before', 512 * 1024],
    ] as const)(
      'HALO_HOME, %s: the journal and the status report it, and the story lands when there is space',
      async ([, at, leave]) => {
        world = openWorld({ parent: disk.dir });
        repository = makeRepository();
        const noisy = `gates=${JSON.stringify(['head -c 2097152 /dev/urandom | base64'])}`;
        const runId = await world.submit(repository, [{ id: 'A' }, { id: 'B' }], [...SETTINGS, noisy]);
        const worker = world.startWorker({ HALO_FAILPOINT: `${at}@1:delay=3000` });
        await worker.says(`failpoint ${at}`);
        disk.fill(leave);
        const reported = await untilDisturbed(world, runId);
        expect(reported).toMatchObject({ class: 'infrastructure', stopReason: 'INFRASTRUCTURE' });
        expect(reported.summary).toMatch(/disk is full/);
        // Status says so while the run waits for its next try.
        const status = async () => (await world.home.halo(['status', runId], { cwd: '/' })).stdout;
        await vi.waitFor(async () => expect(await status()).toMatch(/disk is full/), PATIENCE);
        disk.free();
        await finish(runId, worker);
      },
    );

    it('HALO_HOME, when the journal is written: the worker reports it and continues', async () => {
      const side = tempDir('halo-redis');
      const socket = join(side, 'redis.sock');
      const redis = spawn('redis-server', ['--port', '0', '--unixsocket', socket, '--dir', side], { stdio: 'ignore' });
      try {
        await vi.waitFor(() => expect(existsSync(socket)).toBe(true), PATIENCE);
        world = openWorld({ parent: disk.dir, socket });
        repository = makeRepository();
        const runId = await world.submit(repository, [{ id: 'A' }, { id: 'B' }], SETTINGS);
        const env = { HALO_REDIS_URL: `unix://${socket}` };
        const worker = world.startWorker({ ...env, HALO_FAILPOINT: 'story.ended.before@1:delay=3000' });
        await worker.says('failpoint story.ended.before');
        disk.fill();
        await worker.says('journal.jsonl: the disk is full');
        const status = await world.home.halo(['status', runId], { cwd: '/', env });
        expect(status).toMatchObject({ code: 0, stdout: expect.stringMatching(/^A +passed/m) as string });
        disk.free();
        await finish(runId, worker, env);
      } finally {
        redis.kill();
      }
    });

    it('HALO_HOME, with the embedded Redis on it: the worker reports it and continues when there is space', async () => {
      world = openWorld({ parent: disk.dir });
      repository = makeRepository();
      const runId = await world.submit(repository, [{ id: 'A' }, { id: 'B' }], SETTINGS);
      const worker = world.startWorker({ HALO_FAILPOINT: 'enqueue.before@1:delay=3000' });
      await worker.says('failpoint enqueue.before');
      disk.fill();
      await worker.says('cannot write to its disk: MISCONF Errors writing to the AOF file: No space left on device');
      disk.free();
      await finish(runId, worker);
    });

    it('the repository, when the commit lands: nothing is half-written, and the story lands when there is space', async () => {
      world = openWorld();
      repository = makeRepository({}, 'repository', disk.dir);
      const runId = await world.submit(repository, [{ id: 'A' }, { id: 'B' }], SETTINGS);
      const worker = world.startWorker({ HALO_FAILPOINT: 'objects.before@1:delay=3000' });
      await worker.says('failpoint objects.before');
      disk.fill();
      const reported = await untilDisturbed(world, runId);
      expect(reported).toMatchObject({ class: 'infrastructure', stopReason: 'INFRASTRUCTURE' });
      expect(reported.summary).toMatch(/No space left on device/);
      expect(reported.summary).toContain(disk.dir);
      expect(repository.git('for-each-ref', 'refs/heads/halo')).toBe('');
      disk.free();
      await finish(runId, worker);
    });

    async function finish(runId: string, worker: HaloProcess, env: Record<string, string> = {}): Promise<void> {
      await world.untilEnded(runId);
      // One and the same worker from first to last, and no attempt was used up.
      expect(worker.process.exitCode).toBeNull();
      await stopWorker(worker);
      const ends = world.journal(runId).filter((event) => event.type === 'story.ended');
      expect(ends.map(({ story, verdict, attempt }) => [story, verdict, attempt])).toEqual([
        ['A', 'passed', 1],
        ['B', 'passed', 1],
      ]);
      // It does not go round in circles while it waits.
      expect(worker.stderr().split('\n').length).toBeLessThan(200);
      await tidyUp(world, env);
      await checkInvariants(world, [{ runId, repository, main: 'unchanged', landed: ['A', 'B'] }]);
    }
  },
);

async function untilDisturbed(world: World, runId: string): Promise<JournalEvent & { type: 'story.disturbed' }> {
  return vi.waitFor(
    () => {
      const reported = world.journal(runId).find((event) => event.type === 'story.disturbed');
      if (reported === undefined) throw new Error('no report yet');
      return reported;
    },
    { timeout: 120_000, interval: 100 },
  );
}
