import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { OK } from '../../support/halo/halo.ts';
import { HOLD, releaseUntil } from '../../support/halo/hold.ts';
import { startModelServer } from '../../support/model/model-server.ts';
import { agentOf, entry, openWorkspace, type LeverWorkspace } from '../../support/contracts/lever.ts';
import { skipFor } from '../../support/skip.ts';
import { belowFull, casesAtLevel } from '../../support/suite/level.ts';
import { PATIENCE } from '../../support/patience.ts';

const LONG = { timeout: 180_000 };
const CI = { 'scripts/ci.sh': '#!/bin/sh\ntest -e A.txt || test -e B.txt\n' };

let work: LeverWorkspace;

beforeEach(() => void (work = openWorkspace()));

/** Commits files that may be executed. */
function commitPrograms(files: Record<string, string>): void {
  for (const [path, content] of Object.entries(files)) work.repository.write(path, content);
  work.repository.git('add', '-A');
  work.repository.git('update-index', '--chmod=+x', ...Object.keys(files));
  work.repository.git('-c', 'user.name=Tess', '-c', 'user.email=t@example.com', 'commit', '-q', '-m', 'programs');
  work.repository.git('checkout', '-q', '--', '.');
}

/** Writes the file that is named after the task, which the prompt contains. */
const WRITES = `id=$(grep -o '"task_id": "[A-Z]*"' | head -1 | cut -d'"' -f4); echo made > $id.txt; ${OK}`;

/** The folder of the only run of a task. */
function runFolder(task: string): string {
  const runs = join(work.root, '.ralph', 'runs', task);
  const [run, ...others] = readdirSync(runs);
  expect(others).toEqual([]);
  return join(runs, run!);
}

const inRun = (task: string, name: string) => readFileSync(join(runFolder(task), name), 'utf8');

it('lever task refuses a second process in the same workspace, which would run the same task again', LONG, async () => {
  commitPrograms(CI);
  work.writeTasks([entry('A'), entry('B')]);
  const slow = agentOf(`test -e A.txt || { ${HOLD}; }; ${WRITES}`);
  const first = work.run(['task'], slow);
  await vi.waitFor(() => expect(work.task('A').status).toBe('started'), PATIENCE);
  const second = await work.call(['task'], slow);
  expect(second.stderr).toMatch(/error\[TASK_NOT_NEXT\]: Another process \(.+:\d+\) runs a task of /);
  expect(second.code).toBe(6);
  const ended = { is: false };
  void first.finally(() => (ended.is = true));
  await releaseUntil(
    () => work.home.runIds(),
    () => expect(ended.is).toBe(true),
  );
  expect(await first).toMatchObject({ code: 0 });
  expect(work.task('A')).toMatchObject({ status: 'completed', observability: { run_attempts: 1 } });
  expect(work.home.runIds()).toHaveLength(1);
});

describe('lever task that completes', () => {
  it(
    'lands the commit on ralph/<task_id> and on the current branch, writes progress, and keeps the run',
    LONG,
    async () => {
      commitPrograms(CI);
      const before = work.repository.git('rev-parse', 'HEAD');
      work.writeTasks({ note: 'mine', tasks: [entry('A', { extra: 1 }), entry('B')] });
      const untouched = work.task('B');
      const end = await work.call(['task', '--next'], agentOf(WRITES));
      expect(end.code, end.stderr).toBe(0);
      expect(end.stdout + end.stderr).toContain('1 of 1 stories passed');
      expect(end.stdout + end.stderr).not.toContain('halo land ');

      // Branches: a fast-forward, and the checkout follows.
      expect(work.repository.git('symbolic-ref', '--short', 'HEAD')).toBe('main');
      expect(work.repository.git('rev-parse', 'main')).toBe(work.repository.git('rev-parse', 'ralph/A'));
      expect(work.repository.git('rev-parse', 'main~1')).toBe(before);
      expect(work.repository.git('show', '--name-only', '--format=%s', 'main').split('\n')).toEqual([
        'feat: [A] - Title of A',
        '',
        'A.txt',
      ]);
      expect(work.read('A.txt')).toBe('made\n');
      expect(work.repository.git('status', '--porcelain')).toBe('?? prd.json');

      // Progress: in place, and nothing else.
      const { status, observability, ...rest } = work.task('A');
      expect(status).toBe('completed');
      expect(rest).toEqual(entry('A', { extra: 1 }));
      const runId = observability?.['last_run_id'] as string;
      expect(observability).toEqual({
        last_run_id: runId,
        last_update_utc: expect.stringMatching(/Z$/) as string,
        run_attempts: 1,
        last_note: 'Did it.',
      });
      expect(work.task('B')).toEqual(untouched);

      // The run's own files.
      expect(runFolder('A').endsWith(runId)).toBe(true);
      expect(JSON.parse(inRun('A', 'task.json'))).toEqual(entry('A', { extra: 1 }));
      const prompt = inRun('A', 'prompt.md');
      for (const text of [
        'You are an engineer of old.',
        'Title of A',
        '- A is there',
        '- A is tested',
        'The way to A',
        '"extra": 1',
        'Progress in prd.json is kept for you: do not change that file.',
      ])
        expect(prompt).toContain(text);
      expect(inRun('A', 'codex.jsonl')).toContain('"status":"ok"');
      expect(JSON.parse(inRun('A', 'result.json'))).toEqual({
        task_id: 'A',
        outcome: 'completed',
        dod_met: true,
        summary: 'Did it.',
        tests: { ran: true, commands: ['./scripts/ci.sh'], passed: true },
        notes: 'Did it.',
        blockers: [],
      });
      expect(end.stderr).toMatch(/passed: \.\/scripts\/ci\.sh \(log: \/.*\.log\)/);
      expect(inRun('A', 'verify.log')).toBe('$ ./scripts/ci.sh\n');
      expect(JSON.parse(work.read('.ralph/rate_limit.json'))).toEqual({ requests: [] });
    },
  );

  it('stashes uncommitted changes, restores them, and hides them from the agent', LONG, async () => {
    commitPrograms(CI);
    work.writeTasks([entry('A')]);
    work.repository.write('README.md', 'My own change.\n');
    work.repository.write('scratch.txt', 'mine\n');
    const end = await work.call(['task'], agentOf(`cat README.md > seen.txt; ls >> seen.txt; ${WRITES}`));
    expect(end.code, end.stderr).toBe(0);
    expect(end.stderr).toContain('uncommitted changes are put aside');
    expect(work.read('README.md')).toBe('My own change.\n');
    expect(work.read('scratch.txt')).toBe('mine\n');
    expect(work.repository.git('stash', 'list')).toBe('');
    expect(work.read('seen.txt')).not.toMatch(/My own change|scratch/);
    expect(work.repository.git('status', '--porcelain').split('\n')).toEqual([
      'M README.md',
      '?? prd.json',
      '?? scratch.txt',
    ]);
  });

  it(
    'stops the loop with 6 if uncommitted changes conflict with what has landed, and leaves no markers',
    LONG,
    async () => {
      commitPrograms(CI);
      work.writeTasks([entry('A'), entry('B')]);
      work.repository.write('README.md', 'My own change.\n');
      const end = await work.run(['loop', '--delay', '0'], agentOf(`echo theirs > README.md; ${WRITES}`));
      expect(end.code, end.stderr).toBe(6);
      expect(work.read('README.md')).toBe('theirs\n');
      expect(work.repository.git('status', '--porcelain')).toBe('?? prd.json');
      const [stash] = work.repository.git('stash', 'list', '--format=%h').split('\n');
      expect(work.repository.git('show', `${stash}:README.md`)).toBe('My own change.');
      expect(end.stderr).toMatch(
        /error\[DIRTY_WORKTREE\]: Your uncommitted changes of .* conflict with its commit in README\.md\./,
      );
      expect(end.stderr).toContain(`git stash apply ${stash}`);
      expect([work.task('A').status, work.task('B').status]).toEqual(['completed', undefined]);
      expect(work.home.runIds()).toHaveLength(1);
    },
  );

  it('is refused with 6 before an agent runs while the checkout has unresolved conflicts', LONG, async () => {
    work.writeTasks([entry('A')]);
    work.repository.write('README.md', 'mine\n');
    work.repository.git('stash', '--quiet');
    work.repository.write('README.md', 'theirs\n');
    work.repository.git('-c', 'user.name=T', '-c', 'user.email=t@example.com', 'commit', '--quiet', '-am', 'theirs');
    expect(() => work.repository.git('stash', 'apply')).toThrow();
    const end = await work.call(['task'], agentOf(WRITES));
    expect(end.code, end.stderr).toBe(6);
    expect(end.stderr).toContain('is in the middle of the resolution of conflicts (README.md)');
    expect(work.home.runIds()).toEqual([]);
  });

  it('lands a change that is flagged only if --confirm names its flags', LONG, async () => {
    commitPrograms(CI);
    const agent = agentOf(`printf 'a\\0\\377%s' "$(date +%N)" > A.bin; ${WRITES}`);
    const cases = casesAtLevel([{ flags: 'binary', code: 0 }], [{ flags: 'secret,tests', code: 6 }]);
    for (const { flags, code } of cases) {
      work.writeTasks([entry('A')]);
      const before = work.repository.git('rev-parse', 'main');
      const end = await work.call(['task', '--confirm', flags], agent);
      expect(end.code, end.stderr).toBe(code);
      if (code === 6) expect(end.stderr).toContain('--confirm binary');
      expect(work.repository.git('rev-parse', 'main') === before).toBe(code === 6);
    }
  });
});

describe('lever task that does not complete', () => {
  it('keeps started with 12, then is blocked with 11 by the third run; nothing lands', LONG, async () => {
    commitPrograms(CI);
    const before = work.repository.git('rev-parse', 'HEAD');
    work.writeTasks([entry('A', { observability: { run_attempts: 1, own: true } })]);
    const useless = agentOf(`echo x > other.txt; ${OK}`);
    const first = await work.call(['task'], useless);
    expect(first.code, first.stderr).toBe(12);
    expect(work.task('A')).toMatchObject({ status: 'started', observability: { run_attempts: 2, own: true } });
    expect(JSON.parse(inRun('A', 'result.json'))).toMatchObject({
      outcome: 'started',
      dod_met: false,
      tests: { ran: true, commands: ['./scripts/ci.sh'], passed: false },
    });
    expect(first.stderr).toMatch(/failed: \.\/scripts\/ci\.sh \(log: \/.*\.log\)/);
    expect((await work.call(['task'], useless)).code).toBe(11);
    expect(work.task('A')).toMatchObject({ status: 'blocked', observability: { run_attempts: 3 } });
    expect(work.repository.git('rev-parse', 'main')).toBe(before);
    expect(work.repository.git('branch', '--list', 'ralph/*')).toBe('');
  });

  it('is blocked with 10 when the agent gives no result; the run uses the model of the task', LONG, async () => {
    const server = await startModelServer({ turns: [{ say: 'No.', usage: { input: 30, output: 12 } }] });
    work.writeTasks([entry('A', { model: 'gpt-5.2-codex' })]);
    const body = JSON.stringify({ model: 'gpt-5.2-codex', input: 'Hello', max_output_tokens: 99 });
    const ask = `fetch(process.env.HALO_MODEL_URL + "/responses", {
        method: "POST",
        headers: { authorization: "Bearer " + process.env.HALO_MODEL_KEY, "content-type": "application/json" },
        body: ${JSON.stringify(body)},
      }).then((answer) => answer.text()).then(console.log)`;
    const env = {
      ...agentOf(`cat > /tmp/ask.js <<'END'\n${ask}\nEND\nnode /tmp/ask.js`),
      HALO_AGENTS_COMMAND_MODEL: 'openai',
      HALO_MODEL_BASE_URL: server.url,
      OPENAI_API_KEY: 'not-a-key',
    };
    // oxlint-disable-next-line typescript/no-misused-promises -- `finally` waits for the promise
    const end = await work.call(['task'], env).finally(() => server.close());
    const requests = [{ ts: expect.any(Number) as number, model: 'gpt-5.2-codex', tokens: 42 }];
    expect(JSON.parse(work.read('.ralph/rate_limit.json'))).toEqual({ requests });
    expect(server.requests.map((request) => JSON.parse(request.body) as object)).toMatchObject([
      { model: 'gpt-5.2-codex' },
    ]);
    expect(end.code, end.stderr).toBe(10);
    const { status, observability } = work.task('A');
    expect(status).toBe('blocked');
    expect(observability).toMatchObject({ run_attempts: 1 });
    expect(readdirSync(runFolder('A'))).not.toContain('result.json');
    const runId = observability?.['last_run_id'] as string;
    const record = JSON.parse(readFileSync(join(work.home.dir, 'runs', runId, 'run.json'), 'utf8')) as object;
    expect(record).toMatchObject({ config: { model: { name: 'gpt-5.2-codex' } } });
  });

  it('is blocked with 4 when the agent needs a person; --reset-task restarts it', LONG, async () => {
    work.writeTasks([entry('A', { status: 'blocked', observability: { run_attempts: 3, last_run_id: 'old' } })]);
    const asks = agentOf(`echo '{"status":"needs_human","summary":"Which color?"}'`);
    work.repository.write('own.md', 'Think twice.\n');
    const end = await work.call(['task', '--task-id', 'A', '--reset-task', '--prompt', 'own.md'], asks);
    expect(end.code, end.stderr).toBe(4);
    const { status, observability } = work.task('A');
    expect(status).toBe('blocked');
    expect(observability).toMatchObject({ run_attempts: 1, last_note: 'Which color?' });
    expect(observability?.['last_run_id']).not.toBe('old');
    const prompt = inRun('A', 'prompt.md');
    expect(prompt).toContain('Think twice.');
    expect(prompt).not.toContain('blocked');
    const snapshot = { status: 'unstarted', observability: { run_attempts: 0, last_run_id: 'old' } };
    expect(JSON.parse(inRun('A', 'task.json'))).toMatchObject(snapshot);
  });

  it('ends with 6 and stays started when its result cannot land; the result is on ralph/<task_id>', LONG, async () => {
    commitPrograms(CI);
    const before = work.repository.git('rev-parse', 'HEAD');
    work.writeTasks([entry('A')]);
    work.repository.write('A.txt', 'mine\n');
    const end = await work.call(['task'], agentOf(WRITES));
    expect(end.code, end.stderr).toBe(6);
    expect(end.stderr).toContain('would be overwritten: A.txt');
    expect(end.stderr).toMatch(
      /A is proven, but not on main: once `halo land \w+` .* status to "completed" in \/.*\/prd\.json/,
    );
    const { status, observability } = work.task('A');
    expect(status).toBe('started');
    expect(observability?.['last_note']).toContain('completed, but not landed: ');
    expect(work.read('A.txt')).toBe('mine\n');
    expect(work.repository.git('rev-parse', 'main')).toBe(before);
    expect(work.repository.git('show', 'ralph/A:A.txt')).toBe('made');
  });

  it('waits for a person with 4 when the agent has changed the command that verifies its work', LONG, async () => {
    commitPrograms({ 'scripts/ci.sh': '#!/bin/sh\nexit 1\n' });
    const before = work.repository.git('rev-parse', 'HEAD');
    work.writeTasks([entry('A')]);
    const end = await work.call(['task'], agentOf(`printf '#!/bin/sh\\n' > scripts/ci.sh; ${OK}`));
    expect(end.code, end.stderr).toBe(4);
    expect(end.stderr).toContain('passed: ./scripts/ci.sh');
    expect(end.stderr).toMatch(/A is proven, but not on main: once `halo land \w+`/);
    const { status, observability } = work.task('A');
    expect(status).toBe('blocked');
    expect(observability?.['last_note']).toContain('it changes protected paths: scripts/ci.sh');
    expect(work.repository.git('rev-parse', 'main')).toBe(before);
  });

  it('continues only as a new run of halo task, because only that updates the tasks file', LONG, async () => {
    commitPrograms({ 'scripts/ci.sh': '#!/bin/sh\ntest -e A.txt\n' });
    work.writeTasks([entry('A')]);
    const end = await work.call(['task'], agentOf(`echo x > other.txt; ${OK}`));
    expect(end.code, end.stderr).toBe(12);
    const runId = work.task('A').observability?.['last_run_id'] as string;
    const env = agentOf(WRITES);
    for (const words of [
      ['run', '--resume', runId],
      ['retry', runId],
    ]) {
      const refused = await work.call(words, env);
      expect(refused.code, words.join(' ')).toBe(6);
      expect(refused.stderr).toContain(`Run ${runId} is of a task in ${join(work.root, 'prd.json')}`);
      expect(refused.stderr).toContain('Run `halo task` to start the task again.');
    }
    const status = await work.call(['status', runId]);
    expect(status.stdout).toContain('halo task');
    expect(status.stdout).not.toMatch(/halo retry|--resume/);
    expect(work.task('A')).toMatchObject({ status: 'started', observability: { run_attempts: 1 } });
    const again = await work.call(['task'], env);
    expect(again.code, again.stderr).toBe(0);
    expect(work.task('A').status).toBe('completed');
  });

  it('ends with 130 when it is interrupted, and stays started', LONG, async () => {
    work.writeTasks([entry('A')]);
    const task = work.start(['task'], agentOf('echo begun; sleep 600'));
    await task.says('begun');
    task.process.kill('SIGINT');
    expect((await task.ended).code).toBe(130);
    expect(work.task('A')).toMatchObject({
      status: 'started',
      observability: { last_note: expect.stringMatching(/interrupted|cancelled/) as string },
    });
  });
});

// The loop is in loop.flow.test.ts.
describe('lever task', skipFor(belowFull()), () => {
  it('is repeated by lever loop until all tasks are completed, each built on the one before', LONG, async () => {
    commitPrograms(CI);
    work.writeTasks({ tasks: [entry('A'), entry('B')] }, 'tasks.json');
    const end = await work.run(['loop'], agentOf(WRITES));
    expect(end.code, end.stderr).toBe(0);
    expect(end.stderr).toContain('stopped: no runnable task');
    expect(work.repository.git('log', '--format=%s', '-2').split('\n')).toEqual([
      'feat: [B] - Title of B',
      'feat: [A] - Title of A',
    ]);
    expect([work.task('A', 'tasks.json').status, work.task('B', 'tasks.json').status]).toEqual([
      'completed',
      'completed',
    ]);
  });
});
