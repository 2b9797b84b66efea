import { expect, describe, it, beforeEach } from 'vitest';
import { stringWidth } from '../../../src/lib/string-width.ts';
import { runCli } from '../../support/terminal/cli-world.ts';
import { openMemory, type MemoryOperations } from '../../support/memory-operations.ts';
import { created, passed } from '../../support/journal.ts';

let operations: MemoryOperations;

interface Made {
  source: string;
  user: string;
  project?: string;
}

function addRun(runId: string, { source, user, project = 'shop' }: Made): void {
  const first = created(runId, 2);
  if (first.type !== 'run.created') throw new Error('a run is created first');
  const repo = { ...first.repo, source };
  operations.addRun([{ ...first, repo, user, prd: { ...first.prd, project } }, { type: 'run.started' }]);
}

beforeEach(() => {
  operations = openMemory();
  addRun('1ng62b2sfav2p35', { source: '/home/me/many/repositories/in/folders/shop', user: 'bob' });
  addRun('1ng62b2vp6qf5q0', {
    source: '/home/me/many/repositories/in/folders/api',
    user: 'alice',
    project: 'An import',
  });
  const usage = { requests: 1, inputTokens: 1, cachedTokens: 0, outputTokens: 1, costUsd: 0.26 };
  for (const entry of passed('US-001'))
    operations.append('1ng62b2sfav2p35', entry.type === 'story.ended' ? { ...entry, usage } : entry);
  operations.append('1ng62b2sfav2p35', { type: 'run.ended', stopReason: 'SUCCESS', detail: '' });
});

const services = { userName: () => Promise.resolve('bob') };
const ls = async (...flags: string[]) => (await runCli(['ls', ...flags], { operations, services })).stdout;
const runsOf = (text: string) => text.match(/1ng62b2\w{8}/g) ?? [];

describe('halo ls', () => {
  it('has columns for user and cost, and for the project only if its name differs from its folder', async () => {
    const [heading, ...rows] = (await ls()).trimEnd().split('\n');
    expect(heading?.split(/ {2,}/)).toEqual([
      'RUN',
      'STATE',
      'STORIES',
      'TIME',
      'STARTED',
      'USER',
      'COST',
      'PROJECT',
      'REPOSITORY',
    ]);
    expect(rows[1]).toMatch(/ bob +\$0\.26 +shop +\/home\/me\/many/);
    expect((await ls('--user', 'bob')).split('\n')[0]).not.toContain('PROJECT');
  });

  it('lists failed runs, without those that succeeded or wait for a user', async () => {
    expect(runsOf(await ls('--state', 'failed'))).toEqual([]);
    operations.append('1ng62b2vp6qf5q0', { type: 'run.ended', stopReason: 'GATE_FAILED', detail: '' });
    expect(runsOf(await ls('--state', 'failed'))).toEqual(['1ng62b2vp6qf5q0']);
  });

  it.each([80, 60, 40])('fits a terminal of %i columns and keeps the end of paths', async (columns) => {
    const shown = await runCli(['ls'], { operations, services, columns, terminal: { shown: true } });
    const lines = shown.stdout.trimEnd().split('\n');
    for (const line of lines) expect(stringWidth(line)).toBeLessThan(columns);
    expect(lines[1]).toMatch(/….*\/api$/);
    expect(lines[2]).toMatch(/….*\/shop$/);
  });

  it.each([
    [['--user', 'bob'], ['1ng62b2sfav2p35']],
    [['--mine'], ['1ng62b2sfav2p35']],
    [['--state', 'success'], ['1ng62b2sfav2p35']],
    [['--status', 'running'], ['1ng62b2vp6qf5q0']],
    [['--repo', 'api'], ['1ng62b2vp6qf5q0']],
    [['--repo', '/home/me/many/repositories/in/folders/shop'], ['1ng62b2sfav2p35']],
    [['--limit', '1'], ['1ng62b2vp6qf5q0']],
    [['--find', 'BOB number'], ['1ng62b2sfav2p35']],
    [['--find', 'import', '--state', 'waiting'], ['1ng62b2vp6qf5q0']],
    [['--find', 'nothing'], []],
    [['--until', '2020-01-31'], []],
  ])('%j lists only matching runs', async (flags, expected) => {
    expect(runsOf(await ls(...flags))).toEqual(expected);
  });

  it('refuses an unknown state', async () => {
    const refused = await runCli(['ls', '--state', 'bogus'], { operations, services });
    expect(refused).toMatchObject({ code: 2, stdout: '' });
    expect(refused.stderr).toContain('It must be a stop reason or one of: queued, running, waiting,');
    expect(await ls('--state', 'waiting for approval')).toBe('');
  });

  it('reports that no run matches', async () => {
    const none = await runCli(['ls', '--user', 'eve'], { operations, services });
    expect(none).toMatchObject({ code: 0, stdout: '', stderr: 'No run matches.\n' });
  });
});

describe('halo status --watch', () => {
  it('draws the page of a run until the run has ended', async () => {
    const terminal = { drawable: true, shown: true };
    const shown = await runCli(['status', '1ng62b2sfav2p35', '--watch'], { operations, services, terminal });
    expect(shown).toMatchObject({ code: 0, stderr: '' });
    expect(shown.stdout).toContain('state    done');
    expect(await runCli(['status', '--watch'], { operations, services })).toMatchObject({ code: 2 });
  });
});

describe('halo ls with many runs', () => {
  const idOf = (index: number) => `1ng700${String(index).padStart(4, '0')}abcde`;
  beforeEach(() => {
    operations = openMemory();
    for (let index = 0; index < 300; index += 1)
      addRun(idOf(index), { source: '/home/me/shop', user: index % 10 === 0 ? 'bob' : 'alice' });
  });
  const idsOf = (text: string) => text.match(/1ng700\d{4}abcde/g) ?? [];

  it('asks only for the wanted rows', async () => {
    const queries: unknown[] = [];
    const listRuns = operations.listRuns.bind(operations);
    operations.listRuns = (query) => {
      queries.push(query);
      return listRuns(query);
    };
    expect(idsOf(await ls('--user', 'bob', '--limit', '3'))).toEqual([290, 280, 270].map(idOf));
    expect(queries).toEqual([{ user: 'bob', newest: 3 }]);
    expect(idsOf(await ls('--user', 'bob'))).toHaveLength(30);
  });

  it('lists a page of 100 and names the option for the next one', async () => {
    const first = await runCli(['ls'], { operations, services });
    expect(idsOf(first.stdout)).toEqual(Array.from({ length: 100 }, (_, index) => idOf(299 - index)));
    expect(first.stderr).toContain(`200 more: halo ls --before ${idOf(200)}`);
    expect(idsOf(await ls('--before', idOf(200), '--limit', '2'))).toEqual([idOf(199), idOf(198)]);
    const filtered = await runCli(['ls', '--user', 'alice'], { operations, services });
    expect(idsOf(filtered.stdout)).toHaveLength(100);
    const [, before = ''] = /add --before (\w+)/.exec(filtered.stderr) ?? [];
    expect(idsOf(await ls('--user', 'alice', '--before', before))[0]).toBe(idOf(Number(before.slice(6, 10)) - 1));
  });

  it('lists pages of the runs in a state that only open runs have', async () => {
    for (let index = 0; index < 300; index += 2)
      operations.append(idOf(index), { type: 'run.paused', by: 'bob', now: false });
    const first = await runCli(['ls', '--state', 'paused'], { operations, services });
    expect(idsOf(first.stdout)).toEqual(Array.from({ length: 100 }, (_, index) => idOf(298 - 2 * index)));
    expect(first.stderr).toBe(`There may be more: add --before ${idOf(100)}\n`);
    const next = await runCli(['ls', '--state', 'paused', '--before', idOf(100)], { operations, services });
    expect(idsOf(next.stdout)).toEqual(Array.from({ length: 50 }, (_, index) => idOf(98 - 2 * index)));
    expect(next.stderr).toBe('');
    expect(idsOf(await ls('--state', 'paused', '--limit', '120'))).toHaveLength(120);
    expect(JSON.parse(await ls('--state', 'paused', '--json'))).toHaveLength(150);
  });

  it('lists all of them as JSON', async () => {
    expect(JSON.parse(await ls('--json'))).toHaveLength(300);
    expect(JSON.parse(await ls('--json', '--user', 'bob'))).toHaveLength(30);
  });

  it('refuses times and ids that are none', async () => {
    expect(await runCli(['ls', '--since', 'soon'], { operations, services })).toMatchObject({ code: 2 });
    expect(await runCli(['ls', '--before', '../x'], { operations, services })).toMatchObject({ code: 2 });
  });
});
