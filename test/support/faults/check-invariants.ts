import { readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { expect, vi } from 'vitest';
import { findLeftovers } from './find-leftovers.ts';
import { filesWith } from '../text/files-with.ts';
import type { TestRepository } from '../repository/repository.ts';
import { activeJobs, CANARY, type World } from './world.ts';
import { PATIENCE } from '../patience.ts';

/** What must hold of a run, whatever happened while it was worked on. */
export interface Promised {
  runId: string;
  repository: TestRepository;
  /** Where the user's branch is now: where it was, unless the run may fast-forward it. */
  main: 'unchanged' | 'may follow';
  /** Stories in the order in which they land; any order when several run in parallel. */
  landed: string[];
  anyOrder?: boolean;
  stopReason?: string;
}

/**
 * Asserts after a fault, when all workers have stopped: one commit for each story (I1), nothing left behind (I2), no job
 * without a living worker (I3), the user's checkout as it was (I4), no secret written down (I5), an end with a reason (I6).
 */
export async function checkInvariants(world: World, promised: Promised[]): Promise<void> {
  for (const run of promised) {
    // First, because its reason explains the rest.
    checkEnd(world, run);
    checkCommits(run);
    checkCheckout(world, run);
  }
  await checkLeftovers(world);
  const listed = readdirSync(join(world.home.dir, 'open-runs'));
  expect(
    promised.filter(({ runId }) => listed.some((name) => name.startsWith(runId))),
    'I2: listed as open',
  ).toEqual([]);
  // All workers are gone.
  expect(await activeJobs(world), 'I3: jobs under way without a worker').toEqual([]);
  expect(await filesWith(world.home.dir, CANARY), 'I5: files with the secret').toEqual([]);
}

/** The trailers of the commits on the branch of a run, oldest first. */
export function landedBy(repository: TestRepository, runId: string): string[] {
  const trailer = (name: string) => `%(trailers:key=${name},valueonly,separator=%x00)`;
  const format = `--format=${trailer('Halo-Run')} ${trailer('Halo-Story')}`;
  const base = repository.git('rev-list', '--max-parents=0', 'main');
  const log = repository.git('log', '--reverse', format, `${base}..refs/heads/halo/${runId}`);
  return log.split('\n').filter((line) => line !== '');
}

function checkCommits({ repository, runId, landed, anyOrder = false }: Promised): void {
  const trailers = landed.length === 0 ? [] : landedBy(repository, runId);
  const wanted = landed.map((story) => `${runId} ${story}`);
  const sort = (lines: string[]) => (anyOrder ? lines.toSorted() : lines);
  expect(sort(trailers), `I1: the commits of ${runId}`).toEqual(sort(wanted));
  expect(repository.git('fsck', '--strict', '--no-dangling', '--no-progress'), 'I1: a whole repository').toBe('');
}

function checkCheckout(world: World, { repository, runId, main }: Promised): void {
  expect(repository.git('status', '--porcelain'), `I4: the checkout of ${runId}`).toBe('');
  const places = ['main', 'HEAD'].map((name) => repository.git('rev-parse', name));
  const allowed = [repository.git('rev-list', '--max-parents=0', 'main')];
  if (main === 'may follow') allowed.push(repository.git('rev-parse', `halo/${runId}`));
  expect(places[0], 'I4: HEAD is on main').toBe(places[1]);
  expect(allowed, 'I4: main').toContain(places[0]);
  const prd = (world.journal(runId)[0] as { prdPath?: string }).prdPath;
  // A file that the test wrote has a folder of its own.
  if (prd !== undefined && basename(dirname(prd)).startsWith('prd-'))
    expect(readdirSync(dirname(prd)), 'I4: beside the PRD').toEqual(['prd.json']);
}

function checkEnd(world: World, { runId, stopReason = 'SUCCESS' }: Promised): void {
  // A run that waits for a person ends, and continues with the person's answer.
  const ends = world.journal(runId).filter((event) => event.type === 'run.ended' && event.stopReason !== 'NEEDS_HUMAN');
  expect(ends, `I6: the end of ${runId}`).toMatchObject([{ stopReason, detail: expect.any(String) as string }]);
  const record = JSON.parse(readFileSync(join(world.home.dir, 'runs', runId, 'run.json'), 'utf8')) as object;
  expect(record, 'I6: run.json').toMatchObject({ stopReason });
}

async function checkLeftovers({ home, tmp, engines }: World): Promise<void> {
  await vi.waitFor(async () => expect(await findLeftovers(home.dir, engines), 'I2: left behind').toEqual([]), {
    ...PATIENCE,
    interval: 500,
  });
  expect(readdirSync(tmp), 'I2: temporary files').toEqual([]);
}
