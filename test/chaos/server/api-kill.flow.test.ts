import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openHttp } from '../../../src/api/http/http-client.ts';
import type { Operations } from '../../../src/api/operations.ts';
import { toHaloError } from '../../../src/core/failure/errors.ts';
import { sleep } from '../../../src/lib/async.ts';
import { OK, prdOf, remotelyScripted } from '../../support/halo/halo.ts';
import type { HaloProcess } from '../../support/halo/halo-process.ts';
import type { TestRepository } from '../../support/repository/repository.ts';
import { checkInvariants, type Promised } from '../../support/faults/check-invariants.ts';
import { ALL, belowLevel, FULL, LEVEL } from '../../support/suite/level.ts';
import { openRandom } from '../../support/faults/random.ts';
import { openWorld, stopWorker, tidyUp, type World } from '../../support/faults/world.ts';
import { skipFor } from '../../support/skip.ts';

const SEED = Number(process.env.HALO_CHAOS_SEED ?? (LEVEL < FULL ? 1 : Date.now() % 1_000_000));
const ROUNDS = LEVEL < ALL ? 6 : 25;
/** After its first few answers, or none, the server has at most this long to live. */
const DEATH_MS = 600;

const QUICK = remotelyScripted(`date +%N >> x; ${OK}`);
const HELD = [...QUICK, 'approval.mode="story"'];

/** What was asked for, and whether the server lived to answer. */
interface Asked<T> {
  answer: T | undefined;
}

interface Run {
  runId: string;
  repository: TestRepository;
}

describe(
  'hazard 42: requests to a server that is killed at any moment',
  { ...skipFor(belowLevel(FULL)), timeout: 600_000 },
  () => {
    it(`took effect once if it answered, and once or not at all otherwise (HALO_CHAOS_SEED=${SEED})`, async () => {
      const world = openWorld();
      try {
        const random = openRandom(SEED);
        const toApprove = await submitAll(world, HELD);
        const maker = world.startWorker({}, { concurrency: 2 });
        for (const { runId } of toApprove) await world.untilEnded(runId);
        await stopWorker(maker);
        const toCancel = await submitAll(world, QUICK);
        const promised: Promised[] = [];
        let answered = 0;
        for (const [round, approving] of toApprove.entries()) {
          const cancelling = toCancel[round]!;
          const repository = world.addRepository();
          const asks = (operations: Operations) => ({
            submitted: operations.submit(requestOf(round, repository)).then(({ runs }) => runs),
            cancelled: operations.cancel({ runId: cancelling.runId }),
            approved: operations.approve({ runId: approving.runId, story: 'A' }),
          });
          const server = await serve(world);
          const asked = asks(server.operations);
          const outcomes = Promise.all([settle(asked.submitted), settle(asked.cancelled), settle(asked.approved)]);
          const enough = Math.floor(random() * 4);
          await firstOf(Object.values(asked), enough);
          await sleep(random() * DEATH_MS);
          server.process.process.kill('SIGKILL');
          await server.process.ended;
          const [submitted, cancelled, approved] = await outcomes;
          answered += [submitted, cancelled, approved].filter(({ answer }) => answer !== undefined).length;

          // As it is before anybody asks again.
          const made = await runsOf(world, round);
          expect(made.length, 'runs of one submit').toBeLessThanOrEqual(1);
          if (submitted.answer !== undefined) expect(made).toEqual([submitted.answer[0]?.runId]);
          const stateOf = async ({ runId }: Run) => (await world.operations.getRun({ runId })).state;
          if (cancelled.answer !== undefined) expect((await stateOf(cancelling)).stopReason).toBe('USER_ABORT');
          if (approved.answer !== undefined) expect((await stateOf(approving)).stories[0]?.progress).toBe('passed');

          // Asked again, it is as if it had been asked once.
          const [again] = (await world.operations.submit(requestOf(round, repository))).runs;
          if (made.length > 0) expect(again?.runId).toBe(made[0]);
          expect(await runsOf(world, round)).toEqual([again?.runId]);
          await world.operations.cancel({ runId: cancelling.runId });
          await approveAgain(world, approving);
          promised.push(
            { runId: again!.runId, repository, main: 'unchanged', landed: ['A'] },
            { ...cancelling, main: 'unchanged', landed: [], stopReason: 'USER_ABORT' },
            { ...approving, main: 'unchanged', landed: ['A'] },
          );
        }
        const worker = world.startWorker({}, { concurrency: 2 });
        for (const { runId, stopReason } of promised) if (stopReason === undefined) await world.untilEnded(runId);
        await stopWorker(worker);
        await tidyUp(world);
        await checkInvariants(world, promised);
        process.stdout.write(
          `seed ${SEED}: ${ROUNDS} servers killed, ${answered} of ${ROUNDS * 3} requests answered\n`,
        );
      } finally {
        await world.close();
      }
    });
  },
);

/** Resolves when that many of the requests have ended. */
function firstOf(requests: Promise<unknown>[], count: number): Promise<void> {
  let ended = 0;
  return new Promise((resolve) => {
    const look = () => {
      if (ended >= count) resolve();
    };
    for (const request of requests)
      void request
        .then(
          () => 0,
          () => 0,
        )
        .then(() => ((ended += 1), look()));
    look();
  });
}

async function submitAll(world: World, settings: string[]): Promise<Run[]> {
  const runs: Run[] = [];
  while (runs.length < ROUNDS) {
    const repository = world.addRepository();
    runs.push({ runId: await world.submit(repository, [{ id: 'A' }], settings), repository });
  }
  return runs;
}

/** The same request whenever it is made. */
function requestOf(round: number, { root }: TestRepository) {
  const prd = { ...prdOf([{ id: 'A' }]), path: `/elsewhere/prd-of-round-${round}.json` };
  return { prd, repos: [root], profile: undefined, set: QUICK, allowDirty: false, key: `round ${round}`, user: 'tess' };
}

async function runsOf({ operations }: World, round: number): Promise<string[]> {
  const { path } = requestOf(round, { root: '' } as TestRepository).prd;
  return (await operations.listRuns()).runs.filter(({ prdPath }) => prdPath === path).map(({ runId }) => runId);
}

/** A user who is not sure approves again; that it has landed already is not an error. */
async function approveAgain({ operations }: World, { runId }: Run): Promise<void> {
  await operations
    .approve({ runId, story: 'A' })
    .catch((error: unknown) => expect(toHaloError(error).code).toBe('LAND_REFUSED'));
  expect((await operations.getRun({ runId })).state).toMatchObject({ stories: [{ progress: 'passed' }] });
}

async function serve({ home }: World): Promise<{ process: HaloProcess; operations: Operations }> {
  const process = home.start(['serve', '--listen', '127.0.0.1:0'], { cwd: home.dir });
  await process.says('token');
  const url = /http:\S+/.exec(process.stdout())?.[0] ?? '';
  const token = readFileSync(join(home.dir, 'api-token'), 'utf8').trim();
  return { process, operations: openHttp({ url, token }) };
}

/** A server that died did not answer; a refusal would be an answer, and there is nothing to refuse. */
async function settle<T>(request: Promise<T>): Promise<Asked<T>> {
  try {
    return { answer: await request };
  } catch (error) {
    expect(toHaloError(error).code).toBe('API_UNREACHABLE');
    return { answer: undefined };
  }
}
