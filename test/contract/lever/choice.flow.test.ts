import { execFile } from 'node:child_process';
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeEach, describe, expect, it } from 'vitest';
import { agentOf, entry, linkLever, openWorkspace, type LeverWorkspace } from '../../support/contracts/lever.ts';

let work: LeverWorkspace;

beforeEach(() => void (work = openWorkspace()));

const DONE = { status: 'completed' };

async function expectStop(words: string[], code: number, ...says: string[]): Promise<void> {
  const end = await work.call(words, agentOf('true'));
  for (const text of says) expect(end.stderr).toContain(text);
  expect(end.code, end.stderr).toBe(code);
}

describe('the tasks file', () => {
  it('is prd.json before tasks.json', async () => {
    work.writeTasks([entry('A', DONE)]);
    work.writeTasks([entry('A', { model: 'human' })], 'tasks.json');
    await expectStop(['task'], 3, join(work.root, 'prd.json'));
    await expectStop(['loop'], 0, 'no runnable task');
  });

  it('is tasks.json if there is no prd.json', async () => {
    work.writeTasks([entry('A', DONE)], 'tasks.json');
    await expectStop(['task'], 3, join(work.root, 'tasks.json'));
    await expectStop(['loop'], 0, 'no runnable task');
  });

  it('must exist', async () => {
    await expectStop(['task'], 6, `There is neither prd.json nor tasks.json in ${work.root}`);
    await expectStop(['loop'], 6, 'There is neither prd.json nor tasks.json');
    await expectStop(['task', '--tasks', 'mine.json'], 6, join(work.root, 'mine.json'));
  });

  it('is the file that --tasks names, relative to the workspace', async () => {
    work.writeTasks([entry('A')]);
    work.repository.write('plans/mine.json', JSON.stringify([entry('B', DONE)]));
    await expectStop(['task', '--tasks', 'plans/mine.json'], 3, join(work.root, 'plans', 'mine.json'));
    const words = ['task', '--workspace', work.root, '--tasks', 'plans/mine.json'];
    expect((await work.call(words, {}, work.home.dir)).code).toBe(3);
  });

  it.each([
    ['a bare list', [entry('A', DONE)]],
    ['an object with tasks', { project: 'P', tasks: [entry('A', DONE)] }],
  ])('may be %s', async (_what, content) => {
    work.writeTasks(content);
    await expectStop(['task'], 3, 'no runnable task');
  });

  it.each([
    ['{"stories": []}', 'neither a list of tasks nor an object with `tasks`'],
    ['[{"title": "x"}]', 'The task_id of task 1 is missing'],
    ['[{"task_id": "A"}, {"task_id": 2}]', 'The task_id of task 2 is missing or not a text'],
    ['[{"task_id": "A"}, {"task_id": "a\\u0007"}]', 'The task_id of task 2 contains a control or hidden character'],
    ['[{"task_id": "A"}, {"task_id": "A"}]', 'two tasks have the task_id "A"'],
    ['[{"task_id": "A",}]', 'not valid JSON'],
  ])('is refused when it is %s', async (text, says) => {
    work.repository.write('prd.json', text);
    await expectStop(['task'], 6, says);
  });
});

describe('the prompt file', () => {
  it('must exist before a task starts', async () => {
    work.writeTasks([entry('A')]);
    await expectStop(['task', '--prompt', 'nowhere.md'], 5, join(work.root, 'nowhere.md'));
    await expectStop(['loop', '--prompt', 'nowhere.md'], 5, join(work.root, 'nowhere.md'));
    rmSync(join(work.userHome, '.prompts'), { recursive: true });
    const usual = join(work.userHome, '.prompts', 'autonomous-senior-engineer.prompt.md');
    await expectStop(['task'], 5, usual);
    await expectStop(['loop'], 5, usual);
    work.repository.write('prompts/own.md', 'Be kind.\n');
    await expectStop(['task', '--prompt', 'prompts'], 5, `${join(work.root, 'prompts')} is a folder`);
    await expectStop(['loop', '--prompt', 'prompts'], 5, `${join(work.root, 'prompts')} is a folder`);
  });
});

describe('lever task', () => {
  it('ends with 3 when all tasks are completed', async () => {
    work.writeTasks([entry('A', DONE), entry('B', DONE)]);
    await expectStop(['task', '--next'], 3, 'no runnable task', '[task-agent]');
  });

  it('exits with 4 if the first task that is not completed needs a person', async () => {
    work.writeTasks([entry('A', DONE), entry('B', { model: 'human' }), entry('C')]);
    await expectStop(['task'], 4, 'human input required: B', `set its status to "completed" in ${work.root}`);
    await expectStop(['task', '--task-id', 'B'], 4, 'human input required: B');
    await expectStop(['task', '--reset-task'], 4, 'human input required: B');
  });

  it('counts a missing status, and any other than completed, as not completed', async () => {
    for (const status of [undefined, 'unstarted', 'started', 'blocked', 'done']) {
      work.writeTasks([entry('A', { status, model: 'human' })]);
      await expectStop(['task'], 4, 'human input required: A');
    }
  });

  it('ends with 6 for a task that is not the first, and names the one before it', async () => {
    work.writeTasks([entry('A', DONE), entry('B', { status: 'blocked' }), entry('C')]);
    await expectStop(['task', '--task-id', 'C'], 6, 'The task "C" has to wait for B, which is blocked');
    work.writeTasks([entry('B', { model: 'human' }), entry('C')]);
    await expectStop(['task', '--task-id', 'C'], 6, 'The task "C" has to wait for B, which is for a person');
  });

  it('exits with 6 for a task that is completed or missing', async () => {
    work.writeTasks([entry('A', DONE), entry('B')]);
    await expectStop(['task', '--task-id', 'A'], 6, 'The task "A" is completed already');
    await expectStop(['task', '--task-id', 'X'], 6, 'There is no task "X"', 'Its tasks: A, B.');
    work.writeTasks([]);
    await expectStop(['task', '--task-id', 'X'], 6, 'There is no task "X"', 'Add a task to the file.');
  });

  it('refuses --next together with --task-id', async () => {
    work.writeTasks([entry('A')]);
    await expectStop(['task', '--next', '--task-id', 'A'], 2, '--next and --task-id exclude each other');
  });

  it('has no option --loop', async () => {
    work.writeTasks([entry('A')]);
    await expectStop(['task', '--loop', '1'], 2, "Unknown option '--loop'");
  });

  it('names --assignee in its log, and not in the tasks file', async () => {
    work.writeTasks([entry('A', { observability: { run_attempts: 3 } })]);
    await expectStop(['task', '--assignee', 'tess'], 11, '[tess]');
    expect(work.task('A').status).toBe('blocked');
    expect(work.read('prd.json')).not.toContain('tess');
  });

  it.each([
    ['title', { title: '' }],
    ['definition_of_done', { definition_of_done: [] }],
    ['definition_of_done', { definition_of_done: 'all' }],
    ['recommended.approach', { recommended: {} }],
    [
      'a valid model (one of gpt-5.1-codex-mini, gpt-5.1-codex, gpt-5.2-codex, or human; it is "gpt-4")',
      { model: 'gpt-4' },
    ],
    ['model (one of gpt-5.1-codex-mini, gpt-5.1-codex, gpt-5.2-codex, or human)', { model: undefined }],
  ])('refuses a task without a valid %s', async (says, more) => {
    work.writeTasks([entry('A', more)]);
    const before = work.read('prd.json');
    await expectStop(['task'], 6, `The task "A" lacks ${says}`);
    await expectStop(['task', '--reset-task'], 6, `The task "A" lacks ${says}`);
    expect(work.read('prd.json')).toBe(before);
  });

  it('works in the repository of --workspace, from any directory', async () => {
    work.writeTasks([entry('A', { title: '' })]);
    const words = ['task', '--workspace', work.root, '--prompt', 'README.md'];
    const end = await work.call(words, {}, work.home.dir);
    expect(end.stderr).toContain('The task "A" lacks title');
  });

  it('requires git and the image of the agent', async () => {
    work.writeTasks([entry('A')]);
    const before = work.read('prd.json');
    const without = await work.run(['task'], { PATH: join(work.root, 'no-programs') });
    expect(without.stderr).toContain('git');
    expect(without.code, without.stderr).toBe(5);
    const imageless = await work.call(['task'], { HALO_IMAGE: 'halo-test-no-such-image' });
    expect(imageless.stderr).toContain('halo-test-no-such-image');
    expect(imageless.code, imageless.stderr).toBe(5);
    expect(work.read('prd.json')).toBe(before);
  });

  it('refuses a checkout without a branch, because it could not be moved to the result', async () => {
    work.writeTasks([entry('A')]);
    work.repository.git('checkout', '-q', '--detach');
    await expectStop(['task'], 6, 'no branch checked out', 'git switch');
    expect(work.task('A').status).toBeUndefined();
  });

  it('waits for the rest of a minute in which its model reached its rate limit', async () => {
    work.writeTasks([entry('A')]);
    const requests = [{ ts: Date.now() / 1000, model: 'gpt-5.1-codex', tokens: 500_000 }];
    work.repository.write('.ralph/rate_limit.json', JSON.stringify({ requests }));
    const task = work.start(['task'], { HALO_IMAGE: 'halo-test-no-such-image' });
    await task.says('gpt-5.1-codex is at its limit of 500 requests or 500000 tokens a minute: waiting');
    task.process.kill('SIGINT');
    await task.ended;
    expect(task.process.signalCode).toBe('SIGINT');
    expect(task.stderr()).toMatch(/waiting \d+ s\n$/);
  });

  it('leaves no run if the folder of its run cannot be created', async () => {
    work.writeTasks([entry('A')]);
    work.repository.write('.ralph/runs', 'a file\n');
    await expectStop(['task'], 1, `${join(work.root, '.ralph', 'runs', 'A')}`, 'cannot be written (ENOTDIR)');
    expect(work.task('A').status).toBeUndefined();
    const [run, ...others] = work.home.runIds();
    expect(others).toEqual([]);
    expect(readFileSync(join(work.home.dir, 'runs', run!, 'run.json'), 'utf8')).toContain('"USER_ABORT"');
  });

  it('refuses a workspace that is not a git repository, and a missing one', async () => {
    work.writeTasks([entry('A')]);
    rmSync(join(work.root, '.git'), { recursive: true });
    await expectStop(['task'], 6, 'not a git repository');
    await expectStop(['task', '--workspace', 'nowhere'], 6, 'There is no workspace');
  });

  it('blocks a task that was run three times, and exits with 11', async () => {
    work.writeTasks([
      entry('A', { status: 'started', observability: { run_attempts: 3, last_run_id: 'r', last_note: 'why' } }),
    ]);
    await expectStop(['task'], 11, 'blocked after 3 runs');
    await expectStop(['task'], 11, 'blocked after 3 runs');
    const { status, observability } = work.task('A');
    expect(status).toBe('blocked');
    const last_note = 'Attempt limit reached (3); last run: why';
    expect(observability).toMatchObject({ run_attempts: 3, last_run_id: 'r', last_note });
    expect(observability?.['last_update_utc']).toMatch(/^\d{4}-\d\d-\d\dT.*Z$/);
  });

  it('changes only status and observability in a file of any form', async () => {
    const own = JSON.stringify({ title: 'T', definition_of_done: ['d'], recommended: { approach: 'a' } }).slice(1, -1);
    const text = (status: string, update: string) =>
      `\uFEFF{ "note" : "mine",\r\n\t"tasks":[\r\n\t{"z":1.50, "task_id":"A",   "status" : "${status}", ${own},"model":"gpt-5.1-codex",\r\n\t\t"observability":{"run_attempts":3,"mine":"\\u00e9"${update}}},\r\n\t{"task_id":"B"}]}`;
    work.repository.write('prd.json', text('started', ''));
    await expectStop(['task'], 11);
    const after = work
      .read('prd.json')
      .replace(/,"last_update_utc":"[^"]*Z","last_note":"Attempt limit reached \(3\)"/, ',UPDATE');
    expect(after).toBe(text('blocked', ',UPDATE'));
  });
});

describe('halo under the name lever', () => {
  it('has the same commands', async () => {
    work.writeTasks([entry('A', DONE)]);
    const lever = linkLever(join(work.root, '..'));
    const run = (...words: string[]) =>
      promisify(execFile)(lever, words, { cwd: work.root, env: { ...process.env, HOME: work.userHome } }).then(
        ({ stderr }) => ({ code: 0, stderr }),
        ({ code, stderr }: { code: number; stderr: string }) => ({ code, stderr }),
      );
    expect(await run('loop')).toMatchObject({ code: 0, stderr: expect.stringContaining('no runnable task') as string });
    expect(await run('task')).toMatchObject({ code: 3 });
  });

  it('runs the command task if it is called as the task agent', async () => {
    work.writeTasks([entry('A', { title: '' })]);
    linkLever(join(work.root, '..'));
    const end = await work.run(['loop', '--task-agent', '../lever']);
    expect(end.stderr).toContain('The task "A" lacks title');
    expect(end.code, end.stderr).toBe(6);
  });
});
