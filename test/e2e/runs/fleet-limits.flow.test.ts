import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { JournalEvent } from '../../../src/core/journal/events.ts';
import { OK, prdOf, scripted } from '../../support/halo/halo.ts';
import { openHome, type HaloHome } from '../../support/halo/halo-process.ts';
import { callHalo } from '../../support/terminal/call-halo.ts';
import { skipFor } from '../../support/skip.ts';
import { belowFull } from '../../support/suite/level.ts';
import { newRepository } from '../../support/repository/new-repository.ts';

let home: HaloHome;

beforeEach(() => void (home = openHome()));
afterEach(() => home.close());

async function halo(...words: string[]): Promise<string> {
  const end = await callHalo(words, { cwd: home.dir, env: { HALO_HOME: home.dir } });
  expect(end).toMatchObject({ code: 0 });
  return end.stdout.trimEnd();
}

test('hazard 31: three worker processes reach the limit of the fleet and never exceed it, according to the journals', async () => {
  writeFileSync(join(home.dir, 'config.toml'), '[fleet]\nmax = 2\n');
  const prd = join(home.dir, 'prd.json');
  writeFileSync(prd, prdOf([{ id: 'A' }, { id: 'B' }]).bytes);
  const repositories = Array.from({ length: 3 }, () => newRepository());
  const settings = scripted(`echo x >> log.txt; ${OK}`).flatMap((pair) => ['-c', pair]);
  const repos = repositories.flatMap(({ root }) => ['--repo', root]);
  const runIds = (await halo('submit', prd, ...repos, ...settings)).split('\n');
  for (const worker of Array.from({ length: 3 }, () => home.start(['worker'], { cwd: home.dir })))
    await worker.says('running up to');
  const journals = await journalsOf(runIds);
  expect(journals.map((events) => events.at(-1))).toMatchObject(runIds.map(() => ({ stopReason: 'SUCCESS' })));
  expect(maxConcurrent(journals.flat(), { from: 'story.started', to: 'story.ended' })).toBe(2);
});

// Which job is next is in test/queue/scheduler.
test(
  'a user with more runs than workers finishes each run before the next one starts, according to the journals',
  skipFor(belowFull()),
  async () => {
    const prd = join(home.dir, 'prd.json');
    writeFileSync(prd, prdOf([{ id: 'A' }, { id: 'B' }]).bytes);
    const repositories = [newRepository(), newRepository()];
    const settings = scripted(`echo x >> log.txt; ${OK}`).flatMap((pair) => ['-c', pair]);
    const repos = repositories.flatMap(({ root }) => ['--repo', root]);
    const runIds = (await halo('submit', prd, ...repos, ...settings)).split('\n');
    const worker = home.start(['worker', '--concurrency', '1'], { cwd: home.dir });
    await worker.says('running up to');
    const journals = await journalsOf(runIds);
    expect(journals.map((events) => events.at(-1))).toMatchObject(runIds.map(() => ({ stopReason: 'SUCCESS' })));
    expect(maxConcurrent(journals.flat(), { from: 'run.started', to: 'run.ended' })).toBe(1);
  },
);

/** The journals of the runs, once all have ended. */
async function journalsOf(runIds: string[]): Promise<JournalEvent[][]> {
  const journals: JournalEvent[][] = [];
  for (const runId of runIds) {
    const lines = (await halo('logs', runId, '-f', '--json')).split('\n');
    journals.push(lines.map((line) => JSON.parse(line) as JournalEvent));
  }
  return journals;
}

test('halo ls and halo status name the limit that holds a run back, and say that no worker is running', async () => {
  writeFileSync(join(home.dir, 'config.toml'), '[fleet]\nper_repo = 1\n');
  const prd = join(home.dir, 'prd.json');
  writeFileSync(prd, prdOf([{ id: 'A' }]).bytes);
  const { root } = newRepository();
  const submit = (script: string) =>
    halo('submit', prd, '--repo', root, ...scripted(script).flatMap((pair) => ['-c', pair]));
  const [first, second] = [await submit('echo "I begin."; sleep 600'), await submit(`echo x >> log.txt; ${OK}`)];
  const listed = await callHalo(['ls'], { cwd: home.dir, env: { HALO_HOME: home.dir } });
  expect(listed.stderr).toContain('no worker is running');
  expect(await halo('status', second)).toContain('no worker is running');
  const worker = home.start(['worker'], { cwd: home.dir });
  const logs = home.start(['logs', '-f', first], { cwd: home.dir });
  await logs.says('I begin.');
  expect(await halo('ls')).toMatch(new RegExp(`^${second} +waiting: fleet.per_repo = 1 `, 'm'));
  expect(await halo('status', second)).toContain('fleet.per_repo = 1 is reached');
  expect(await halo('status', first)).not.toContain('is reached');
  await halo('cancel', first);
  await logs.ended;
  await halo('logs', '-f', second);
  expect(await halo('ls')).not.toContain('held');
  worker.process.kill('SIGTERM');
  await worker.ended;
});

/** How much was under way at the same time, at most; what ends makes room for what starts. */
function maxConcurrent(events: JournalEvent[], { from, to }: Record<'from' | 'to', JournalEvent['type']>): number {
  const changes = events.flatMap(({ type, at }) => {
    if (type === from) return [{ at, by: 1 }];
    return type === to ? [{ at, by: -1 }] : [];
  });
  changes.sort((a, b) => (a.at < b.at ? -1 : a.at > b.at ? 1 : a.by - b.by));
  let now = 0;
  return Math.max(...changes.map(({ by }) => (now += by)));
}
