import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { agentOf, entry, openWorkspace, type LeverWorkspace } from '../../support/contracts/lever.ts';
import { OK } from '../../support/halo/halo.ts';

// What the shell tests of lever check, as tests of halo.

const LONG = { timeout: 180_000 };

let work: LeverWorkspace;

beforeEach(() => void (work = openWorkspace()));

/** Commits a script that checks the work, and a pytest test that must not run beside it. */
function commitCheck(script: string): void {
  work.repository.write('tests/run.sh', `#!/bin/sh\n${script}\n`);
  work.repository.write('tests/test_never.py', 'raise SystemExit(99)\n');
  work.repository.git('add', '-A');
  work.repository.git('update-index', '--chmod=+x', 'tests/run.sh');
  work.repository.git('-c', 'user.name=Tess', '-c', 'user.email=t@example.com', 'commit', '-q', '-m', 'check');
  work.repository.git('checkout', '-q', '--', '.');
}

function readRunFile(task: string, name: string): string {
  const runs = join(work.root, '.ralph', 'runs', task);
  return readFileSync(join(runs, readdirSync(runs)[0]!, name), 'utf8');
}

describe('the task agent', () => {
  it('checks the work with tests/run.sh before pytest, and keeps its output in verify.log', LONG, async () => {
    commitCheck('echo "run.sh ok"; test -e A.txt');
    work.writeTasks({ tasks: [entry('A')] });
    const end = await work.call(
      ['task', '--tasks', 'prd.json', '--task-id', 'A', '--assignee', 'test-assignee'],
      agentOf(`echo made > A.txt; ${OK}`),
    );
    expect(end.code, end.stderr).toBe(0);
    expect(work.task('A').status).toBe('completed');
    expect(readRunFile('A', 'verify.log')).toContain('run.sh ok');
  });

  it('completes a task that needs no change, if its check passes, without a commit', LONG, async () => {
    commitCheck('true');
    work.writeTasks({ tasks: [entry('A')] });
    const before = work.repository.git('rev-parse', 'main');
    const end = await work.call(['task', '--task-id', 'A'], agentOf(OK));
    expect(end.code, end.stderr).toBe(0);
    expect(work.task('A').status).toBe('completed');
    expect(JSON.parse(readRunFile('A', 'result.json'))).toMatchObject({ outcome: 'completed', dod_met: true });
    expect(work.repository.git('rev-parse', 'main')).toBe(before);
  });

  it('completes a task that changed nothing and that nothing checks, with a warning', LONG, async () => {
    work.writeTasks({ tasks: [entry('A')] });
    const end = await work.call(
      ['task', '--tasks', 'prd.json', '--task-id', 'A', '--assignee', 'test-assignee'],
      agentOf(OK),
    );
    expect(end.code, end.stderr).toBe(0);
    expect(work.task('A')).toMatchObject({ status: 'completed', observability: { run_attempts: 1 } });
    expect(JSON.parse(readRunFile('A', 'result.json'))).toMatchObject({ outcome: 'completed', dod_met: true });
    expect(end.stderr).toContain('No gates are configured');
  });

  it('does not move a branch of its name that has other commits', LONG, async () => {
    commitCheck('true');
    work.repository.git('branch', 'ralph/A');
    work.repository.git('checkout', '-q', 'ralph/A');
    work.repository.write('other.txt', 'mine');
    const mine = work.repository.commit('mine');
    work.repository.git('checkout', '-q', 'main');
    work.writeTasks({ tasks: [entry('A')] });
    const end = await work.call(['task', '--task-id', 'A'], agentOf(`echo made > A.txt; ${OK}`));
    expect(end.code, end.stderr).toBe(0);
    expect(work.repository.git('rev-parse', 'ralph/A')).toBe(mine);
    expect(work.read('A.txt')).toBe('made\n');
  });

  it('works in the whole repository if the workspace is a folder in it', LONG, async () => {
    commitCheck('test -e A.txt');
    mkdirSync(join(work.root, 'packages/one'), { recursive: true });
    work.writeTasks({ tasks: [entry('A')] }, 'packages/one/prd.json');
    const words = ['task', '--workspace', join(work.root, 'packages/one'), '--task-id', 'A'];
    const end = await work.call(words, agentOf(`test -d tests && echo made > A.txt; ${OK}`));
    expect(end.code, end.stderr).toBe(0);
    expect(work.task('A', 'packages/one/prd.json').status).toBe('completed');
    expect(work.read('A.txt')).toBe('made\n');
  });
});

it.each([
  ['make ci', { Makefile: 'ci:\n\ttrue\n' }],
  ['ruff check .', { 'halo.toml': 'gates = ["true && true", "ruff check ."]\n' }],
])(
  'a check %s whose program the image lacks stops the loop with 5 before an agent or a run starts',
  LONG,
  async (command, files) => {
    for (const [path, text] of Object.entries(files)) work.repository.write(path, text);
    work.repository.commit('a check');
    work.writeTasks([entry('A'), entry('B')]);
    const before = work.task('A');
    const end = await work.run(['loop', '--delay', '0'], agentOf(`echo made > A.txt; ${OK}`));
    expect(end.code, end.stderr).toBe(5);
    expect(end.stderr).toContain(`has no \`${command.split(' ')[0]!}\`, which \`${command}\` needs`);
    expect(end.stderr).toContain('stopped: a dependency is missing');
    expect(work.task('A')).toEqual(before);
    expect(work.home.runIds()).toEqual([]);
  },
);

it(
  'a check whose missing program shows only when it runs stops the loop with 5, and does not count as a run',
  LONG,
  async () => {
    work.repository.write('halo.toml', 'gates = ["true && make ci"]\n');
    work.repository.commit('a check');
    work.writeTasks([entry('A'), entry('B')]);
    const agent = { ...agentOf(`echo made > A.txt; ${OK}`), HALO_TESTS_BASELINE: 'auto' };
    const end = await work.run(['loop', '--delay', '0'], agent);
    expect(end.code, end.stderr).toBe(5);
    expect(end.stderr).toContain('`make` was not found');
    expect(end.stderr).toContain('stopped: a dependency is missing');
    expect(work.task('A')).toMatchObject({ status: 'started', observability: { run_attempts: 0 } });
    expect(work.home.runIds()).toHaveLength(1);
  },
);
