import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { readPrdSource } from '../../../src/prd/prd-source.ts';
import { openHalo, OK, scripted, type TestHalo } from '../../support/halo/halo.ts';
import { backlogTask } from '../../support/prd/task-folder.ts';
import type { TestRepository } from '../../support/repository/repository.ts';
import { newRepository } from '../../support/repository/new-repository.ts';

let halo: TestHalo;
let repository: TestRepository;

const FOLDER = 'backlog/tasks';
const TASKS = {
  [`${FOLDER}/task-1 - One.md`]: backlogTask(1, { status: 'Done' }),
  [`${FOLDER}/task-2 - Two.md`]: backlogTask(2, { needs: 'task-1' }),
  [`${FOLDER}/task-10 - Ten.md`]: backlogTask(10, { needs: 'task-2', priority: 'high' }),
  [`${FOLDER}/README.md`]: '# Tasks\n',
};

beforeAll(async () => {
  halo = await openHalo();
  repository = newRepository(TASKS);
});
afterAll(async () => {
  await halo.close();
});

async function run(script: string) {
  const prd = await readPrdSource(join(repository.root, FOLDER));
  const set = scripted(`${script}\necho more >> log.txt; ${OK}`);
  const options = { profile: undefined, allowDirty: false };
  const [submitted] = (await halo.operations.submit({ prd, repos: [repository.root], set, ...options })).runs;
  return halo.untilEnd(submitted!.runId);
}

const textOf = (name: string) => readFileSync(join(repository.root, FOLDER, name), 'utf8');

/** As the instructions of Backlog.md want it: an agent sets the status of its own task. */
const MARK = `id=$(grep -o 'task-[0-9]*' | head -1)
sed -i 's/^status: To Do/status: Done/' "${FOLDER}/$id "*`;

it('runs a folder of tasks in the order of their dependencies and marks each in its own file', async () => {
  // An edit of a task, which is not committed, is part of the run.
  const edited = TASKS[`${FOLDER}/task-10 - Ten.md`].replace('Do 10.', 'Do ten.');
  writeFileSync(join(repository.root, FOLDER, 'task-10 - Ten.md'), edited);
  const { stopReason, stories, unmarked } = await run('');
  expect([stopReason, unmarked]).toEqual(['SUCCESS', undefined]);
  expect(stories.map(({ id, progress }) => [id, progress])).toEqual([
    ['task-1', 'done'],
    ['task-2', 'passed'],
    ['task-10', 'passed'],
  ]);
  expect(textOf('task-2 - Two.md')).toBe(TASKS[`${FOLDER}/task-2 - Two.md`].replace('To Do', 'Done'));
  expect(textOf('task-10 - Ten.md')).toBe(edited.replace('To Do', 'Done'));
  expect(repository.git('diff', '--name-only').split('\n').sort()).toEqual([
    `${FOLDER}/task-10 - Ten.md`,
    `${FOLDER}/task-2 - Two.md`,
  ]);
});

it('lands stories that mark their own task, although halo has marked it in the checkout; an added task needs approval', async () => {
  repository.git('checkout', '-q', '--', '.');
  for (const [runId] of (await halo.operations.listRuns()).runs.map((each) => [each.runId]))
    repository.git('branch', '-D', `halo/${runId}`);
  const { runId, stopReason } = await run(MARK);
  expect(stopReason).toBe('SUCCESS');
  await halo.operations.land({ runId });
  expect(repository.git('status', '--porcelain')).toBe('');
  expect(textOf('task-10 - Ten.md')).toContain('status: Done');
  writeFileSync(join(repository.root, FOLDER, 'task-11 - Eleven.md'), backlogTask(11));
  const added = await run(`cp "${FOLDER}/task-2 - Two.md" "${FOLDER}/task-12 - Twelve.md"`);
  expect(added.stopReason).toBe('NEEDS_HUMAN');
});
