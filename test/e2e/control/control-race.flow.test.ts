import { afterAll, beforeAll, expect, it } from 'vitest';
import { openLocal } from '../../../src/api/local.ts';
import type { Operations } from '../../../src/api/operations.ts';
import { toHaloError } from '../../../src/core/failure/errors.ts';
import { sleep } from '../../../src/lib/async.ts';
import { LEVEL } from '../../support/suite/level.ts';
import { openHalo, OK, scripted, type TestHalo } from '../../support/halo/halo.ts';
import type { TestRepository } from '../../support/repository/repository.ts';
import { newRepository } from '../../support/repository/new-repository.ts';

const RUNS = [6, 50, 200][LEVEL] ?? 200;
const LANES = 3;

let halo: TestHalo;
let repository: TestRepository;
let person: Operations;

beforeAll(async () => {
  halo = await openHalo({ concurrency: LANES });
  person = openLocal({ host: halo.host });
  repository = newRepository();
});
afterAll(async () => {
  await person.close();
  await halo.close();
});

/** The commits of a run on its branch. */
function commitsOf(runId: string): string[] {
  const branch = `refs/heads/halo/${runId}`;
  if (repository.git('for-each-ref', branch) === '') return [];
  return repository.git('log', '--format=%H', `main..${branch}`).split('\n').filter(Boolean);
}

/** Cancels a run of one story a moment after its gates began, when it is about to land. */
async function race(delayMs: number): Promise<string> {
  const runId = await halo.submit(repository.root, [{ id: 'A' }], scripted(`echo x >> x; ${OK}`));
  for await (const { event } of await person.followEvents({ runId, after: 0, follow: true }))
    if (event.type === 'phase.started' && event.phase === 'gates') break;
  await sleep(delayMs);
  const cancelled = await person.cancel({ runId }).then(
    () => true,
    (error: unknown) => {
      expect(toHaloError(error).code).toBe('CONTROL_REFUSED');
      return false;
    },
  );
  const shown = commitsOf(runId);
  const { state } = await person.getRun({ runId });
  expect(state).toMatchObject({ status: 'ended', stopReason: cancelled ? 'USER_ABORT' : 'SUCCESS' });
  expect(state.stories[0]?.commit === undefined ? [] : [state.stories[0].commit]).toEqual(shown);
  return runId;
}

it(
  'hazard 22: a cancel during a landing: one end, which matches git, and nothing afterwards',
  { timeout: 900_000 },
  async () => {
    const ids: string[] = [];
    const lane = async (first: number) => {
      for (let n = first; n < RUNS; n += LANES) ids.push(await race((n * 997) % 600));
    };
    await Promise.all(Array.from({ length: LANES }, (_, first) => lane(first)));
    const before = ids.map(commitsOf);
    // It ends all that is under way.
    await halo.worker.close();
    expect(ids.map(commitsOf)).toEqual(before);
    for (const runId of ids) {
      const ends = [];
      for await (const {
        event: { type },
      } of await person.followEvents({ runId, after: 0, follow: false }))
        if (type === 'run.ended') ends.push(type);
      expect(ends).toHaveLength(1);
    }
  },
);
