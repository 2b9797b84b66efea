import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { JournalEvent } from '../../src/core/events.ts';
import { OK, prdOf, scripted } from '../support/halo.ts';
import { openHome, type HaloHome } from '../support/halo-process.ts';
import { makeRepository, type TestRepository } from '../support/repository.ts';

let home: HaloHome;
let repositories: TestRepository[];

beforeEach(() => {
  home = openHome();
  repositories = [];
});
afterEach(async () => {
  await home.close();
  for (const repository of repositories) repository.remove();
});

async function halo(...words: string[]): Promise<string> {
  const end = await home.halo(words, { cwd: home.dir });
  expect(end).toMatchObject({ code: 0 });
  return end.stdout.trimEnd();
}

test('three worker processes reach the limit of the fleet and never pass it, as the journals tell', async () => {
  writeFileSync(join(home.dir, 'config.toml'), '[fleet]\nmax = 2\n');
  const prd = join(home.dir, 'prd.json');
  writeFileSync(prd, prdOf([{ id: 'A' }, { id: 'B' }]).bytes);
  repositories = Array.from({ length: 4 }, () => makeRepository());
  const settings = scripted(`echo x >> log.txt; ${OK}`).flatMap((pair) => ['-c', pair]);
  const repos = repositories.flatMap(({ root }) => ['--repo', root]);
  const runIds = (await halo('submit', prd, ...repos, ...settings)).split('\n');
  for (const worker of Array.from({ length: 3 }, () => home.start(['worker'], { cwd: home.dir })))
    await worker.says('working on up to');
  const journals = await Promise.all(
    runIds.map(async (runId) => {
      const lines = (await halo('logs', runId, '-f', '--json')).split('\n');
      return lines.map((line) => JSON.parse(line) as JournalEvent);
    }),
  );
  expect(journals.map((events) => events.at(-1))).toMatchObject(runIds.map(() => ({ stopReason: 'SUCCESS' })));
  expect(mostAtOnce(journals.flat())).toBe(2);
});

/** How many stories were in progress at the same time, at most; one that ends makes room for one that starts. */
function mostAtOnce(events: JournalEvent[]): number {
  const changes = events.flatMap(({ type, at }) => {
    if (type === 'story.started') return [{ at, by: 1 }];
    return type === 'story.ended' ? [{ at, by: -1 }] : [];
  });
  changes.sort((a, b) => (a.at < b.at ? -1 : a.at > b.at ? 1 : a.by - b.by));
  let now = 0;
  return Math.max(...changes.map(({ by }) => (now += by)));
}
