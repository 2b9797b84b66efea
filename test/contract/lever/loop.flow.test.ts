import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { entry, openWorkspace, type LeverWorkspace } from '../../support/contracts/lever.ts';

let work: LeverWorkspace;

beforeEach(() => void (work = openWorkspace()));

const TWO = [entry('A'), entry('B')];

/** A task agent that notes its flags, completes the given task, and exits with the next of these codes. */
function agent(...codes: number[]): void {
  const list = codes.join(' ');
  work.program(
    'agent.sh',
    `echo "$@" >> calls
while [ $# -gt 0 ]; do
  case "$1" in --task-id) id=$2 ;; --tasks) tasks=$2 ;; esac
  shift
done
set -- ${list}
n=$(wc -l < calls)
while [ "$n" -gt 1 ] && [ $# -gt 1 ]; do shift; n=$((n - 1)); done
code=$1
[ "$code" = 0 ] && sed -i "/\\"task_id\\": \\"$id\\"/a \\"status\\": \\"completed\\"," "$tasks"
exit "$code"`,
  );
}

const calls = () => (work.has('calls') ? work.read('calls').trim().split('\n') : []);
const AGENT = ['--task-agent', './agent.sh'];

describe('lever loop', () => {
  it('runs all tasks in the order of the file, and exits with 0', async () => {
    work.writeTasks({ tasks: TWO });
    agent(0);
    const end = await work.call(['loop', ...AGENT]);
    expect(end.stderr).toContain('stopped: no runnable task');
    expect(end.code).toBe(0);
    expect(calls().map((line) => /--task-id (\S+)/.exec(line)?.[1])).toEqual(['A', 'B']);
  });

  it('passes tasks, task id, workspace, prompt and assignee on, resolved', async () => {
    work.writeTasks(TWO, 'other.json');
    work.repository.write('own.md', 'Be kind.\n');
    agent(3);
    const flags = ['--tasks', 'other.json', '--prompt', 'own.md', '--assignee', 'tess'];
    const end = await work.call(['loop', '--workspace', work.root, ...flags, ...AGENT]);
    expect(end.stderr).toContain('[tess]');
    const at = (name: string) => join(work.root, name);
    expect(end.stderr).toContain(`tasks ${at('other.json')}, prompt ${at('own.md')}`);
    expect(calls()).toEqual([
      `--tasks ${at('other.json')} --task-id A --workspace ${work.root} --prompt ${at('own.md')} --assignee tess`,
    ]);
  });

  it('gives the usual prompt and the assignee ralph-loop when no flag says otherwise', async () => {
    work.writeTasks(TWO);
    agent(3);
    const end = await work.call(['loop', ...AGENT]);
    expect(end.stderr).toContain('[ralph-loop]');
    const prompt = join(work.userHome, '.prompts', 'autonomous-senior-engineer.prompt.md');
    expect(calls()[0]).toContain(`--prompt ${prompt} --assignee ralph-loop`);
  });

  it('starts in the folder of --workspace, and resolves tasks, prompt and task agent there', async () => {
    work.writeTasks(TWO);
    work.repository.write('own.md', 'Be kind.\n');
    agent(3);
    const words = ['loop', '--workspace', work.root, '--tasks', 'prd.json', '--prompt', 'own.md', ...AGENT];
    const end = await work.call(words, {}, work.home.dir);
    expect(end.stderr).toContain('no runnable task');
    expect(calls()).toHaveLength(1);
  });

  it('invokes the task agent at most --loop times with any exit code, and reports it', async () => {
    work.writeTasks([...TWO, entry('C')]);
    agent(12, 0);
    const end = await work.call(['loop', '--loop', '2', ...AGENT]);
    expect(end.stderr).toContain('the limit of 2 cycles is reached');
    expect(end.code).toBe(0);
    expect(calls()).toHaveLength(2);
    expect(calls().join()).not.toContain('--loop');
  });

  it.each([[['--loop', '0']], [['--loop']], [[]]])('is continuous with %j', async (flags) => {
    work.writeTasks(TWO);
    agent(12, 0);
    const end = await work.call(['loop', ...AGENT, ...flags]);
    expect(end.stderr).toContain('stopped: no runnable task');
    expect(calls()).toHaveLength(3);
  });

  it.each([
    [3, 0, 'no runnable task'],
    [4, 4, 'human input required'],
    [5, 5, 'a dependency is missing'],
    [6, 6, 'the task cannot start'],
    [10, 10, 'blocked: the task gave no result'],
    [11, 11, 'blocked: the task was tried as often as it may be'],
    [130, 130, 'interrupted'],
    [1, 1, 'the task agent failed with 1'],
    [9, 9, 'the task agent failed with 9'],
  ])('stops when the task agent exits with %i', async (code, exit, says) => {
    work.writeTasks(TWO);
    agent(code);
    const end = await work.call(['loop', ...AGENT]);
    expect(end.stderr).toContain(`stopped: ${says}`);
    expect(end.code).toBe(exit);
    expect(calls()).toHaveLength(1);
  });

  it('logs an exit code above 11 and continues', async () => {
    work.writeTasks(TWO);
    agent(12, 77, 0);
    const end = await work.call(['loop', ...AGENT]);
    expect(end.stderr).toMatch(/ended with 12: [^]*ended with 77: /);
    expect(end.code).toBe(0);
    expect(calls()).toHaveLength(4);
  });

  it('stops with 4 at a task that needs a person, without calling the task agent', async () => {
    work.writeTasks([entry('A', { status: 'completed' }), entry('B', { model: 'human' }), entry('C')]);
    agent(0);
    const end = await work.call(['loop', ...AGENT]);
    expect(end.stderr).toContain('human input required, B is for a person');
    expect(end.code).toBe(4);
    expect(calls()).toEqual([]);
  });

  it('waits --delay seconds between cycles, but not after the last', async () => {
    work.writeTasks(TWO);
    work.program(
      'agent.sh',
      `date +%s%N >> calls; sed -i 's/"task_id": "A"/&, "status": "completed"/' prd.json; exit $(wc -l < calls | sed 's/1/0/; s/2/10/')`,
    );
    const end = await work.call(['loop', '--delay', '1.5', ...AGENT]);
    expect(end.code).toBe(10);
    const [first, second] = calls().map((line) => Number(BigInt(line) / 1_000_000n));
    expect(second! - first!).toBeGreaterThanOrEqual(1500);
  });

  it.each([
    ['after the last task', 0, [entry('A')], 'stopped: no runnable task'],
    ['before a task for a person', 0, [entry('A'), entry('B', { model: 'human' })], 'stopped: human input required'],
    ['when there is a reason to stop', 10, [entry('A')], 'stopped: blocked'],
    ['when the limit is reached', 12, [entry('A')], 'stopped: the limit of 1 cycle is reached'],
  ])('does not sleep %s', async (_when, code, tasks, says) => {
    work.writeTasks(tasks);
    agent(code);
    // An hour would outlast the test.
    const end = await work.call(['loop', '--delay', '3600', ...(code === 12 ? ['--loop', '1'] : []), ...AGENT]);
    expect(end.stderr).toContain(says);
  });

  it('passes a signal on to the task agent, and ends with 130', async () => {
    work.writeTasks(TWO);
    work.program('agent.sh', `trap 'echo told >> calls; exit 7' INT; echo begun; while :; do sleep 0.1; done`);
    const loop = work.start(['loop', ...AGENT]);
    await loop.says('begun');
    loop.process.kill('SIGINT');
    const end = await loop.ended;
    expect(end.code).toBe(130);
    expect(end.stderr).toMatch(/waiting for the task agent to end\n.*stopped: interrupted/);
    expect(calls()).toEqual(['told']);
  });

  it('uses the task agent of TASK_AGENT_BIN if there is no flag, by the same rules', async () => {
    work.writeTasks(TWO);
    agent(3);
    expect((await work.call(['loop'], { TASK_AGENT_BIN: './agent.sh' })).code).toBe(0);
    expect(calls()).toHaveLength(1);
    expect((await work.call(['loop'], { TASK_AGENT_BIN: 'no-such-agent' })).code).toBe(5);
  });

  it('looks up a task agent without a slash in the PATH', async () => {
    work.writeTasks(TWO);
    agent(3);
    const path = `${work.root}:${process.env['PATH'] ?? ''}`;
    const end = await work.call(['loop', '--task-agent', 'agent.sh'], { PATH: path });
    expect(end.code).toBe(0);
    expect(calls()).toHaveLength(1);
  });

  it.each([
    ['./nowhere.sh', 'is not an executable file'],
    ['./README.md', 'is not an executable file'],
    ['no-such-agent', 'is not on the PATH'],
    ['./', 'is not an executable file'],
    ['./no-interpreter', 'cannot be started (ENOENT)'],
  ])('refuses the task agent %s', async (name, says) => {
    work.writeTasks(TWO);
    work.program('no-interpreter', '');
    work.repository.write('no-interpreter', '#!/no/such/program\n');
    const end = await work.call(['loop', '--task-agent', name]);
    expect(end.stderr).toContain(says);
    expect(end.code).toBe(5);
  });

  it('runs its own halo task when --task-agent is not given', async () => {
    work.writeTasks([entry('A', { title: undefined }), entry('B')]);
    const end = await work.run(['loop', '--assignee', 'tess']);
    expect(end.stderr).toContain('The task "A" lacks title');
    expect(end.stderr).toContain('stopped: the task cannot start');
    expect(end.code).toBe(6);
  });

  it.each([
    ['--loop', '-1'],
    ['--loop', '1.5'],
    ['--delay', 'soon'],
    ['--delay', '-1'],
  ])('refuses %s %s', async (flag, value) => {
    work.writeTasks(TWO);
    const end = await work.call(['loop', `${flag}=${value}`]);
    expect(end.code).toBe(2);
    expect(end.stderr).toContain(flag);
  });

  it('never writes the assignee into the tasks file', async () => {
    work.writeTasks(TWO);
    work.writeTasks([entry('A', { observability: { run_attempts: 3 } })]);
    const end = await work.run(['loop', '--assignee', 'somebody-special']);
    expect(end.stderr).toMatch(/\[somebody-special\] A: blocked/);
    expect(work.task('A').status).toBe('blocked');
    expect(work.read('prd.json')).not.toContain('somebody-special');
  });
});
