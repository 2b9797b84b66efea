import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Queue } from 'bullmq';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openLocal, type LocalOperations } from '../../src/api/local.ts';
import { queueOf } from '../../src/queue/job.ts';
import { connectRedis } from '../../src/queue/redis/connect-redis.ts';
import { startWorker } from '../../src/worker/main.ts';
import { hostOf } from '../support/halo/host.ts';
import { OK, prdOf, scripted } from '../support/halo/halo.ts';
import { addProbeResults } from '../support/suite/probed-engine.ts';
import { newRepository } from '../support/repository/new-repository.ts';
import type { TestRepository } from '../support/repository/repository.ts';
import { tempDir } from '../support/temp-dir.ts';

/** A home with runs that a newer halo wrote and one that lost its settings, before a worker of this version began. */
async function openOtherHome() {
  const home = tempDir('halo-home');
  addProbeResults(home);
  const operations = openLocal({ host: hostOf(home) });
  const pathOf = (runId: string, file: string) => join(home, 'runs', runId, file);
  const journalOf = (runId: string) => readFileSync(pathOf(runId, 'journal.jsonl'), 'utf8');

  async function submit(): Promise<{ runId: string; repository: TestRepository }> {
    const repository = newRepository();
    const set = scripted(`date +%N >> file; ${OK}`, ['test -s file']);
    const request = { prd: prdOf([{ id: 'A' }]), repos: [repository.root], profile: undefined };
    const [submitted] = (await operations.submit({ ...request, set, allowDirty: false })).runs;
    return { runId: submitted!.runId, repository };
  }

  const lost = await submit();
  const path = pathOf(lost.runId, 'run.json');
  writeFileSync(path, JSON.stringify({ ...(JSON.parse(readFileSync(path, 'utf8')) as object), config: {} }));
  const newer = [await submit(), await submit()] as const;
  for (const [n, event] of [
    { v: 1, type: 'run.teleported' },
    { v: 2, type: 'run.started' },
  ].entries()) {
    const line = JSON.stringify({ seq: 2, at: new Date().toISOString(), ...event });
    appendFileSync(pathOf(newer[n]!.runId, 'journal.jsonl'), `${line}\n`);
  }
  const before = newer.map(({ runId }) => journalOf(runId));

  const worker = await startWorker({ host: hostOf(home), concurrency: 2, log: pino({ level: 'silent' }) });
  const endPauses = await skipPauses(home);
  for await (const {
    event: { type },
  } of await operations.followEvents({ runId: lost.runId, after: 0, follow: true }))
    if (type === 'run.ended') break;
  await endPauses();
  await worker.close();
  return { operations, journalOf, lost, newer, before };
}

/** Lets the queue try failed jobs again without the pauses in between, until the returned function is called. */
async function skipPauses(home: string) {
  const link = await connectRedis(hostOf(home));
  const queue = new Queue(queueOf({ lane: '' }), {
    connection: link.client,
    prefix: link.prefix,
    skipVersionCheck: true,
  });
  let promoting = Promise.resolve();
  const timer = setInterval(() => {
    promoting = promoting.then(() => queue.promoteJobs());
  }, 50);
  return async () => {
    clearInterval(timer);
    await promoting;
    await queue.close();
    await link.close();
  };
}

let operations: LocalOperations;
let other: Awaited<ReturnType<typeof openOtherHome>>;
beforeAll(async () => {
  other = await openOtherHome();
  operations = other.operations;
});
afterAll(() => operations.close());

describe('hazard 38: a newer halo wrote the run', () => {
  it.each([
    [0, 'an event of a kind', /event 2 is "run\.teleported", which this version of halo does not support/],
    [1, 'an event of a version', /event 2 has version 2, but this version of halo supports 1/],
  ])('run %i has %s that this one does not know: refused with a sentence, and unchanged', async (nth, _what, says) => {
    const { runId } = other.newer[nth]!;
    await expect(operations.getRun({ runId })).rejects.toMatchObject({
      code: 'RUN_UNREADABLE',
      message: expect.stringMatching(says) as string,
      hint: expect.stringContaining('another version of halo') as string,
    });
    expect(other.journalOf(runId)).toBe(other.before[nth]);
    expect((await operations.listRuns()).runs.map((each) => each.runId)).toContain(other.lost.runId);
  });
});

it('a run that has lost its settings ends with the reason, and no unchecked commit lands', async () => {
  const { runId, repository } = other.lost;
  const { state } = await operations.getRun({ runId });
  expect(state).toMatchObject({ stopReason: 'INFRASTRUCTURE', tip: repository.git('rev-parse', 'main') });
  expect(state.detail).toContain('the settings of the run are gone');
  expect(repository.git('branch', '--list', 'halo/*')).toBe('');
});
