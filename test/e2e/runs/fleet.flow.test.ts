import { expect } from 'vitest';
import { test } from '../../support/fixtures.ts';
import { OK, prdOf, scripted } from '../../support/halo/halo.ts';
import { HOLD, releaseUntil } from '../../support/halo/hold.ts';
import { newRepository } from '../../support/repository/new-repository.ts';

const options = (script: string) => ({ profile: undefined, set: scripted(script), allowDirty: false });
const prd = prdOf([{ id: 'A' }]);

test('a run starts after its dependency has landed, and builds on it in the same repository', async ({
  halo,
  repository,
}) => {
  const { root } = repository;
  const [first] = (await halo.operations.submit({ ...options(`echo 1 > first; ${OK}`), prd, repos: [root] })).runs;
  const script = `test -f first && echo 2 > second; ${OK}`;
  const after = [first!.runId];
  const [same] = (await halo.operations.submit({ ...options(script), prd, repos: [root], after })).runs;
  const elsewhere = { ...options(`echo 3 > third; ${OK}`), prd, repos: [newRepository().root], after };
  const [other] = (await halo.operations.submit(elsewhere)).runs;
  const ends = await Promise.all([first, same, other].map((run) => halo.untilEnd(run!.runId)));
  expect(ends.map(({ stopReason }) => stopReason)).toEqual(['SUCCESS', 'SUCCESS', 'SUCCESS']);
  expect(ends[1]!.repo.base).toBe(ends[0]!.tip);
  for (const later of ends.slice(1))
    expect(Date.parse(later.startedAt!)).toBeGreaterThanOrEqual(Date.parse(ends[0]!.endedAt!));
  const files = repository.git('ls-tree', '--name-only', `halo/${same!.runId}`).split('\n');
  expect(files).toEqual(['README.md', 'first', 'second']);
});

test('dependents of a failed repository of a batch are blocked, and the rest of the batch lands', async ({ halo }) => {
  const roots = { core: newRepository().root, api: newRepository({ bad: '' }).root, ui: newRepository().root };
  const members = [
    { name: 'ui', repo: roots.ui, deps: ['api'], prd },
    { name: 'api', repo: roots.api, deps: ['core'], prd },
    { name: 'core', repo: roots.core, deps: [], prd },
  ];
  const script = `test -f bad && exit 3; echo x > done; ${OK}`;
  const [core, api, ui] = (await halo.operations.submitBatch({ ...options(script), members })).runs;
  expect(await halo.untilEnd(core!.runId)).toMatchObject({ stopReason: 'SUCCESS' });
  expect(await halo.untilEnd(api!.runId)).toMatchObject({ stopReason: 'ENGINE_ERROR' });
  const needs = async () => (await halo.operations.getRun({ runId: ui!.runId })).state.needs;
  await expect.poll(needs).toEqual([{ run: api!.runId, now: 'failed', stopReason: 'ENGINE_ERROR' }]);
  expect((await halo.operations.getRun({ runId: ui!.runId })).state.status).toBe('queued');
});

test('a blocked run starts automatically when its dependency is retried and succeeds', async ({ halo }) => {
  const api = newRepository().root;
  const slow = options(`${HOLD}; echo x > done; ${OK}`);
  const [needed] = (await halo.operations.submit({ ...slow, prd, repos: [api] })).runs;
  const after = [needed!.runId];
  const [waiting] = (await halo.operations.submit({ ...options(`echo y > y; ${OK}`), prd, repos: [api], after })).runs;
  await halo.operations.cancel({ runId: needed!.runId });
  const stateOf = async () => (await halo.operations.getRun({ runId: waiting!.runId })).state;
  await expect
    .poll(async () => (await stateOf()).needs)
    .toEqual([{ run: needed!.runId, now: 'failed', stopReason: 'USER_ABORT' }]);
  const says = expect.stringContaining(`${needed!.runId} ended with USER_ABORT`) as string;
  expect(await halo.operations.retry({ runId: waiting!.runId })).toMatchObject({ changed: false, says });
  await halo.operations.pause({ runId: waiting!.runId, now: false });
  expect(await halo.operations.resume({ runId: waiting!.runId })).toMatchObject({ changed: true, says });
  await halo.operations.retry({ runId: needed!.runId });
  await releaseUntil(
    () => [needed!.runId],
    async () => expect((await halo.operations.getRun({ runId: needed!.runId })).state.stopReason).toBe('SUCCESS'),
  );
  const end = await halo.untilEnd(waiting!.runId);
  expect(end).toMatchObject({ stopReason: 'SUCCESS', needs: [{ run: needed!.runId, now: 'met' }] });
  expect(end.repo.base).toBe((await halo.operations.getRun({ runId: needed!.runId })).state.tip);
});
