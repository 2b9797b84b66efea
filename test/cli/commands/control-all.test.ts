import { beforeEach, describe, expect, it } from 'vitest';
import { HaloError } from '../../../src/core/failure/errors.ts';
import type { JournalEntry } from '../../../src/core/journal/events.ts';
import { created, succeeded } from '../../support/journal.ts';
import { openMemory, type MemoryOperations } from '../../support/memory-operations.ts';
import { runCli, type CliOptions } from '../../support/terminal/cli-world.ts';

let operations: MemoryOperations;

const services = { userName: () => Promise.resolve('ann') };
const halo = (words: string[], more: Partial<CliOptions> = {}) => runCli(words, { operations, services, ...more });

function addRun(id: string, { user = 'ann', source = '/repos/shop' } = {}, ...then: JournalEntry[]) {
  const first = created(id, 1);
  operations.addRun([{ ...first, user, repo: { ...first.repo, source } }, { type: 'run.started' }, ...then]);
}

/** The runs that have ended, in the order of their ids. */
async function ended(): Promise<string[]> {
  const runs = (await operations.listRuns()).runs;
  return runs
    .filter(({ status, stopReason }) => status === 'ended' && stopReason === 'USER_ABORT')
    .map(({ runId }) => runId)
    .sort();
}

beforeEach(() => {
  operations = openMemory();
  addRun('a1');
  addRun('a2', { source: '/repos/site' });
  addRun('b1', { user: 'bob' });
  operations.addRun(succeeded('old'));
});

describe('halo cancel --all', () => {
  it('cancels the user’s own runs that have not ended, and no others', async () => {
    const { code, stdout } = await halo(['cancel', '--all', '--yes']);
    expect({ code, lines: stdout.trim().split('\n').sort() }).toEqual({
      code: 0,
      lines: ['cancelled  a1  Done.', 'cancelled  a2  Done.'],
    });
    expect(await ended()).toEqual(['a1', 'a2']);
  });

  it.each([
    ['of one repository', ['--repo', 'site'], ['a2']],
    ['of another user', ['--user', 'bob'], ['b1']],
    ['of all users', ['--all-users'], ['a1', 'a2', 'b1']],
  ])('cancels the runs %s with an option', async (_whose, more, runs) => {
    expect((await halo(['cancel', '--all', '--yes', ...more])).code).toBe(0);
    expect(await ended()).toEqual(runs);
  });

  it('asks at a terminal, shows the runs, and changes nothing without a yes', async () => {
    const questions: string[] = [];
    const answering = (answer: string) => (question: string) => {
      questions.push(question);
      return Promise.resolve(answer);
    };
    const refused = await halo(['cancel', '--all'], { ask: answering('') });
    expect(refused).toMatchObject({ code: 2, stdout: '' });
    expect(refused.stderr).toMatch(/a1 .*\/repos\/shop/);
    expect(refused.stderr).toContain('Nothing was changed');
    expect(await ended()).toEqual([]);
    expect((await halo(['cancel', '--all'], { ask: answering('yes') })).code).toBe(0);
    expect(await ended()).toEqual(['a1', 'a2']);
    expect(questions).toEqual(Array(2).fill('Cancel 2 runs? [y]es, anything else: no  '));
  });

  it('needs --yes without a terminal', async () => {
    expect(await halo(['cancel', '--all'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('--yes') as string,
    });
    expect(await ended()).toEqual([]);
  });

  it('cancels the others if one run cannot be cancelled, and has the exit code of its error', async () => {
    operations.answerNext('cancel', new HaloError('CONTROL_REFUSED', 'The run has just ended.'));
    const { code, stdout, stderr } = await halo(['cancel', '--all', '--yes']);
    expect({ code, lines: stdout.trim().split('\n').length }).toEqual({ code: 6, lines: 1 });
    expect(stderr).toContain('The run has just ended.');
    expect(await ended()).toHaveLength(1);
    operations.answerNext('cancel', new HaloError('CONTROL_REFUSED', 'No.'));
    expect(JSON.parse((await halo(['cancel', '--all', '--yes', '--json'])).stdout)).toMatchObject([
      { error: { code: 'CONTROL_REFUSED', message: 'No.' } },
    ]);
  });

  it('says that there is nothing to cancel, and whose runs there are', async () => {
    await halo(['cancel', '--all', '--yes']);
    const { code, stdout, stderr } = await halo(['cancel', '--all']);
    expect({ code, stdout }).toEqual({ code: 0, stdout: '' });
    expect(stderr).toBe(
      'There is no run to cancel. 1 run of other users or repositories: see `halo ls`, --all-users.\n',
    );
    expect((await halo(['cancel', '--all', '--json'])).stdout).toBe('[]\n');
  });

  it.each([
    [['a1', '--all'], '--all cannot be combined with a run.'],
    [['--all', '--story', 'US-001'], '--all cannot be combined with --story.'],
    [['a1', '--user', 'bob'], '--user is only for several runs.'],
    [['a1', '--yes'], '--yes is only for several runs.'],
    [['--all', '--user', 'bob', '--all-users'], '--user cannot be combined with --all-users.'],
  ])('is refused as %j', async (words, says) => {
    expect(await halo(['cancel', ...words])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(says) as string,
    });
    expect(await ended()).toEqual([]);
  });
});

describe('halo pause --all', () => {
  const paused = async () =>
    (await operations.listRuns()).runs
      .flatMap(({ runId, paused }) => (paused === undefined ? [] : [`${runId}:${paused.now}`]))
      .sort();

  it('pauses the user’s own runs that are not paused; with --now, those that are only pausing as well', async () => {
    addRun('a3', {}, { type: 'run.paused', by: 'ann', now: false });
    const first = await halo(['pause', '--all', '--yes']);
    expect(first.stdout.trim().split('\n').sort()).toEqual(['paused  a1  Done.', 'paused  a2  Done.']);
    expect(await paused()).toEqual(['a1:false', 'a2:false', 'a3:false']);
    await halo(['pause', '--all', '--now', '--yes']);
    expect(await paused()).toEqual(['a1:true', 'a2:true', 'a3:true']);
    expect((await halo(['pause', '--all', '--now'])).stderr).toContain('There is no run to pause.');
  });
});

describe('halo resume --all', () => {
  it('resumes the user’s own runs that are paused', async () => {
    const paused = { type: 'run.paused', by: 'ann', now: false } as const;
    addRun('a3', {}, paused);
    addRun('b2', { user: 'bob' }, paused);
    const { code, stdout } = await halo(['resume', '--all', '--yes']);
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'resumed  a3  Done.\n' });
    const left = (await operations.listRuns()).runs.filter((run) => run.paused !== undefined);
    expect(left.map(({ runId }) => runId)).toEqual(['b2']);
    expect((await halo(['resume', '--all'])).stderr).toContain('There is no run to resume.');
  });

  it.each([
    [['a1', '--all'], '--all cannot be combined with a run.'],
    [['--all', '--replan'], '--all cannot be combined with --replan.'],
    [['--all', '-c', 'limits.wall=1h'], '--all cannot be combined with --config.'],
    [['--all-users'], '--all-users is only for several runs.'],
  ])('is refused as %j', async (words, says) => {
    expect(await halo(['resume', ...words])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(says) as string,
    });
  });
});

describe('halo retry --all', () => {
  const endedWith = (stopReason: 'INFRASTRUCTURE' | 'GATE_FAILED' | 'NEEDS_HUMAN') =>
    ({ type: 'run.ended', stopReason, detail: 'x' }) as const;
  const running = async () =>
    (await operations.listRuns()).runs
      .filter(({ status }) => status !== 'ended')
      .map(({ runId }) => runId)
      .sort();

  beforeEach(async () => {
    await halo(['cancel', '--all', '--all-users', '--yes']);
    addRun('c1', {}, endedWith('INFRASTRUCTURE'));
    addRun('c2', {}, endedWith('GATE_FAILED'));
    addRun('c3', { user: 'bob' }, endedWith('INFRASTRUCTURE'));
    addRun('c4', {}, endedWith('NEEDS_HUMAN'));
  });

  it.each([
    ['that failed', [], ['c1', 'c2']],
    ['with one stop reason', ['--state', 'INFRASTRUCTURE'], ['c1']],
    ['of all users', ['--state', 'INFRASTRUCTURE', '--all-users'], ['c1', 'c3']],
    ['that were cancelled, if it is asked for them', ['--state', 'USER_ABORT'], ['a1', 'a2']],
  ])('retries the runs %s', async (_which, more, runs) => {
    const { code, stderr } = await halo(['retry', '--all', '--since', '2029-12-31', '--yes', ...more]);
    expect({ code, running: await running() }).toEqual({ code: 0, running: runs });
    expect(stderr).toContain('no worker is running: start one with `halo worker`');
  });

  it('retries none that ended earlier, and passes settings on', async () => {
    const later = await halo(['retry', '--all', '--since', '2030-01-02', '--yes']);
    expect(later).toMatchObject({ code: 0, stderr: expect.stringContaining('There is no run to retry.') as string });
    await halo(['retry', '--all', '--since', '2029-12-31', '--yes', '-c', 'limits.wall=90m']);
    expect(operations.amended).toEqual([
      { set: ['limits.wall=90m'], yes: true },
      { set: ['limits.wall=90m'], yes: true },
    ]);
  });

  it.each([
    [['--all', '--yes'], 'halo retry --all needs --since.'],
    [['a1', '--since', '2h'], '--since is only for several runs.'],
    [['a1', '--state', 'failed'], '--state is only for several runs.'],
    [['--all', '--since', '2h', '--story', 'US-001'], '--all cannot be combined with --story.'],
  ])('is refused as %j', async (words, says) => {
    expect(await halo(['retry', ...words])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(says) as string,
    });
    expect(await running()).toEqual([]);
  });
});
