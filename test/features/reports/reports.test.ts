import { utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { JournalEntry } from '../../../src/core/journal/events.ts';
import { COST_GROUPS } from '../../../src/features/reports/core/cost-report.ts';
import { openScriptedHome, type ScriptedHome } from '../../support/halo/scripted-home.ts';
import { runCli } from '../../support/terminal/cli-world.ts';
import { attempted, created, failed, failing, passed, succeeded } from '../../support/journal.ts';

const RETRIED = { story: 'US-001', attempt: 1 };
const LATER = '2031-01-01T00:00:00.000Z';
const OLD = '0tbq1aaaaaaaaaaa';
const NEW = '0tbq2bbbbbbbbbbb';
const OTHER = '0tbq4zz9zz9zz9z';

let home: ScriptedHome;
beforeEach(() => {
  home = openScriptedHome();
});
afterEach(() => home.remove());

const halo = (...words: string[]) => runCli(words, { operations: home.operations, columns: 160 });
const json = async (...words: string[]) =>
  JSON.parse((await halo(...words, '--json')).stdout) as { entries: { runId: string; type: string }[] };
const journalPath = (runId: string) => join(home.host.home, 'runs', runId, 'journal.jsonl');

async function addRun(entries: readonly JournalEntry[], day: number): Promise<string> {
  const runId = await home.addRun(entries);
  const changed = new Date(Date.UTC(2030, 0, day));
  utimesSync(journalPath(runId), changed, changed);
  return runId;
}

describe('halo cost', () => {
  it('shows what each run used, the most expensive first, and the sum', async () => {
    await addRun(succeeded(OLD), 2);
    await addRun([created(NEW, 1), ...failed('US-001'), ...failed('US-001', 2)], 3);
    const { stdout } = await halo('cost', '--by', 'run');
    expect(stdout.split('\n').map((line) => line.replace(/ +/g, ' '))).toEqual([
      'RUN LAST DAY (UTC) RUNS ATTEMPTS REQUESTS INPUT CACHED OUTPUT COST',
      `${NEW} 2030-01-01 1 2 6 24.7k 8.0k 1.4k -`,
      `${OLD} 2030-01-01 1 1 3 12.3k 4.0k 678 -`,
      'total 2030-01-01 2 3 9 37.0k 12.0k 2.0k -',
      '',
    ]);
  });

  it('shows the newest 20 runs with project, user and day, and the sum of all', async () => {
    const ids = Array.from({ length: 22 }, (_, index) => `0tbq${String(index).padStart(12, '0')}`);
    for (const runId of ids) await addRun(succeeded(runId), 2);
    const { stdout, stderr } = await halo('cost');
    const lines = stdout.trimEnd().split('\n');
    expect(lines[0]?.split(/ {2,}/).slice(0, 4)).toEqual(['RUN', 'PROJECT', 'USER', 'LAST DAY (UTC)']);
    expect(lines).toHaveLength(22);
    expect(lines[1]).toMatch(new RegExp(`^${ids[21]} +shop +me +2030-01-01 `));
    expect(lines.at(-1)).toMatch(/^total .* 22 +22 /);
    expect(stderr).toBe('2 older runs are in the total: halo cost --by run lists all, --by day sums them by day\n');
  });

  it('has a column for each of several groups', async () => {
    await addRun(succeeded(OLD), 2);
    await addRun([created(NEW, 1), ...failed('US-001')], 3);
    const { stdout } = await halo('cost', '--by', 'day,run');
    const lines = stdout.split('\n').map((line) => line.trim().split(/ {2,}/));
    expect(lines[0]?.slice(0, 3)).toEqual(['DAY (UTC)', 'RUN', 'RUNS']);
    expect(lines.slice(1, 3).map(([day, run]) => [day, run])).toEqual([
      ['2030-01-01', OLD],
      ['2030-01-01', NEW],
    ]);
    expect(await halo('cost', '--by', 'day,day')).toMatchObject({ code: 2, stdout: '' });
  });

  it('completes the groups', async () => {
    const { stdout } = await halo('__complete', 'cost', '--by', '');
    expect(stdout.split('\n').map((line) => line.trim())).toEqual([...COST_GROUPS, '']);
  });

  it('says so when nothing was used, and refuses groups that it does not know', async () => {
    expect(await halo('cost')).toMatchObject({ code: 0, stderr: 'No attempt has used a model.\n' });
    expect(await halo('cost', '--by', 'colour')).toMatchObject({ code: 2, stdout: '' });
    expect(await halo('cost', '--run', 'nothing-like-this')).toMatchObject({ code: 2 });
    expect(await halo('cost', '--since', 'yesterday-ish')).toMatchObject({ code: 2 });
  });

  it('names a run whose journal is damaged, and reports the others', async () => {
    await addRun(succeeded(OLD), 2);
    await addRun(succeeded(NEW), 3);
    writeFileSync(journalPath(OLD), '{"damaged\n');
    const { stdout, stderr, code } = await halo('cost');
    expect(code).toBe(0);
    expect(stdout).toContain(NEW);
    expect(stderr).toContain(`${OLD} is missing here: Could not read`);
  });
});

describe('halo errors', () => {
  it('groups the failures of all runs', async () => {
    await addRun([created(OLD, 1), ...failed('US-001')], 2);
    await addRun([created(NEW, 1), ...failed('US-001')], 3);
    const { stdout } = await halo('errors');
    expect(stdout.split('\n')[1]).toMatch(new RegExp(`^2 +2 +gate .* ${NEW} US-001 +npm test exited with 1$`));
    expect(await halo('errors', '--run', OLD)).toMatchObject({ stdout: expect.stringMatching(/\n1 +1 /) as string });
  });

  it('lists the failures of one class', async () => {
    const failure = {
      class: 'gate',
      rule: 'hint',
      sign: { error: 'e', changed: true, denied: false, kind: 'gate' },
    } as const;
    const events = failing(failed('US-001'), { failure });
    await addRun([created(OLD, 1), ...events], 2);
    expect(await halo('errors', '--class', 'gate')).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^1 +1 +gate /m) as string,
    });
    const none = { code: 0, stdout: '', stderr: 'No attempt has failed with the class provider.\n' };
    expect(await halo('errors', '--class', 'provider')).toMatchObject(none);
    expect(await halo('errors', '--class', 'rate_limit')).toMatchObject({ code: 2 });
  });

  it('says so when nothing has failed', async () => {
    await addRun(succeeded(OLD), 2);
    expect(await halo('errors')).toMatchObject({ code: 0, stdout: '', stderr: 'No attempt has failed.\n' });
  });
});

describe('halo audit', () => {
  it('lists the events of all runs, the latest first', async () => {
    await addRun(succeeded(OLD), 2);
    await addRun(succeeded(NEW), 3);
    const { entries } = await json('audit');
    expect(entries.map(({ runId, type }) => [runId, type])).toEqual([
      [NEW, 'run.ended'],
      [NEW, 'story.ended'],
      [NEW, 'story.started'],
      [NEW, 'run.started'],
      [NEW, 'run.created'],
      [OLD, 'run.ended'],
      [OLD, 'story.ended'],
      [OLD, 'story.started'],
      [OLD, 'run.started'],
      [OLD, 'run.created'],
    ]);
    const started = (await json('audit', '--type', 'run.started')).entries;
    expect(started).toMatchObject([{ runId: NEW, text: 'STARTED' }, { runId: OLD }]);
  });

  it.each<JournalEntry>([
    {
      type: 'retry.scheduled',
      ...RETRIED,
      class: 'gate',
      rule: 'hint',
      nth: 1,
      of: 2,
      notBefore: LATER,
      why: 'a gate failed',
    },
    { type: 'breaker.held', ...RETRIED, key: 'provider:api.example.com', why: 'a breaker is open', notBefore: LATER },
    {
      type: 'story.postponed',
      ...RETRIED,
      model: 'gpt',
      by: 'provider',
      why: 'no request is allowed',
      notBefore: LATER,
    },
    { type: 'model.paused', ...RETRIED, model: 'gpt', why: 'provider', until: LATER },
    { type: 'breaker.changed', ...RETRIED, key: 'provider:api.example.com', status: 'open', why: 'it fails' },
    { type: 'issue.reported', ...RETRIED, status: 'closed' },
  ])('lists what halo does by itself: $type', async (entry) => {
    await addRun([created(OLD, 1), { type: 'run.started' }, ...attempted('US-001'), entry], 2);
    const { entries } = await json('audit', '--type', entry.type);
    expect(entries).toEqual([
      expect.objectContaining({ type: entry.type, story: 'US-001', text: expect.stringMatching(/\w/) as string }),
    ]);
  });

  it('stops at its limit, and takes only events of one type, user or time', async () => {
    await addRun([{ ...created(OLD, 1), user: 'ada' }, ...passed('US-001')], 2);
    await addRun([{ ...created(NEW, 1), user: 'grace' }, ...passed('US-001')], 3);
    const runs = async (...words: string[]) => (await json('audit', ...words)).entries.map(({ runId }) => runId);
    expect(await runs('--limit', '1')).toEqual([NEW]);
    expect(await runs('--type', 'story.ended')).toEqual([NEW, OLD]);
    expect(await runs('--by', 'ada')).toEqual([OLD]);
    await addRun(
      [
        { ...created(OTHER, 1), user: 'bob' },
        { type: 'run.paused', by: 'ada@desk by MCP', now: false },
      ],
      4,
    );
    expect(await runs('--by', 'ada')).toEqual([OTHER, OLD]);
    expect(await runs('--by', 'ada@desk by MCP')).toEqual([OTHER]);
    expect(await runs('--by', 'ad')).toEqual([]);
    expect(await runs('--since', '2030-01-02T12:00:00Z')).toEqual([]);
    expect(await halo('audit', '--type', 'agent.activity')).toMatchObject({ code: 2, stdout: '' });
  });
});
