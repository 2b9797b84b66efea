import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { JournalEntry } from '../../../src/core/journal/events.ts';
import { readSamples } from '../../../src/api/runs/read-samples.ts';
import { estimateTool } from '../../../src/mcp/tools/prd-tools.ts';
import type { PrdEstimate } from '../../../src/core/report/estimate.ts';
import { openScriptedHome, type ScriptedHome } from '../../support/halo/scripted-home.ts';
import { created, journalOf, passed } from '../../support/journal.ts';
import { makeRepository, type TestRepository } from '../../support/repository/repository.ts';
import { runCli } from '../../support/terminal/cli-world.ts';

const END: JournalEntry = { type: 'run.ended', stopReason: 'SUCCESS', detail: '' };

let home: ScriptedHome;
let repository: TestRepository;
let number = 0;

beforeEach(() => {
  home = openScriptedHome();
  repository = makeRepository();
  const stories = ['A', 'B', 'C'].map((id) => ({ id, title: id, acceptanceCriteria: ['x'], passes: id === 'C' }));
  writeFileSync(join(repository.root, 'prd.json'), JSON.stringify({ userStories: stories }));
});
afterEach(async () => {
  repository.remove();
  await home.remove();
});

/** Adds a run with a story for each cost; `change` changes its first event, and only events of `types` are added. */
async function addRun(
  costs: readonly number[],
  change: Partial<JournalEntry & { type: 'run.created' }> = {},
  types?: readonly JournalEntry['type'][],
) {
  const first = created(`0tbq${String((number += 1)).padStart(3, '0')}aaaaaaaa`, costs.length);
  const repo = { ...first.repo, source: repository.root };
  const stories = costs.flatMap((costUsd, index) =>
    passed(`US-00${index + 1}`).map((entry) =>
      entry.type === 'story.ended' ? { ...entry, usage: { ...entry.usage, costUsd } } : entry,
    ),
  );
  const events = stories.filter(({ type }) => types?.includes(type) ?? true);
  return home.addRun([{ ...first, repo, agent: 'codex', ...change }, { type: 'run.started' }, ...events, END]);
}

/** On the machine of the home, whose settings name the agent and its model. */
function halo(...words: string[]) {
  const submit = () =>
    Promise.resolve({ runs: [{ runId: 'new-1', repo: repository.root, warnings: [], parallel: 1 }] });
  writeFileSync(join(home.host.home, 'config.toml'), 'agent = "codex"\nmodel.name = "large"\n');
  const services = { readHost: () => Promise.resolve(home.host) };
  return runCli(words, { operations: { ...home.operations, submit }, services, cwd: repository.root });
}

function estimate(...words: string[]) {
  return halo('estimate', 'prd.json', ...words);
}

it('halo estimate prints cost and time of the open stories, from the ended runs of the repository', async () => {
  await addRun([1, 2, 3]);
  await addRun([3, 3]);
  await addRun([1000], { repo: created().repo });
  await addRun([1000], { dry: true });
  const { code, stdout, stderr } = await estimate();
  expect(code).toBe(0);
  const lines = stdout.split('\n').map((line) => line.split(/ {2,}/));
  expect(lines.map(([first]) => first)).toEqual([
    expect.stringMatching(/^2 open stories, estimated from 5 stories of 2 runs with codex; 5 of them passed$/),
    ...['', '', 'cost of all', 'cost of one', 'time of all', 'time of one', ''],
  ]);
  expect(lines[4]).toEqual(['cost of one', '$1.40', '$3.00', '$3.00']);
  expect(lines[6]).toEqual(['time of one', '12.0s', '12.0s', '12.0s']);
  expect(stderr).toMatch(
    /^! Fewer than 5 stories were run with large, so those of all models count\.\n! Rough estimate: only 5 earlier stories\.\n$/,
  );
});

it('halo estimate --json prints the numbers', async () => {
  await addRun([2, 2, 2]);
  const { stdout } = await estimate('--json');
  expect(JSON.parse(stdout) as PrdEstimate).toMatchObject({
    stories: 2,
    basis: { stories: 3, landed: 3, runs: 1 },
    costUsd: { story: { low: 2, median: 2, high: 2 }, sum: { low: 4, median: 4, high: 4 } },
    unreadable: [],
  });
});

it('halo estimate reads at most the newest 50 runs of the repository', async () => {
  await addRun([1000]);
  for (let index = 0; index < 50; index += 1) await addRun([1], {}, ['story.started', 'story.ended']);
  expect(JSON.parse((await estimate('--json')).stdout)).toMatchObject({
    basis: { runs: 50 },
    costUsd: { story: { high: 1 } },
  });
});

it('halo estimate leaves out runs that replay cassettes', async () => {
  await addRun([2, 2, 2]);
  const path = join(home.host.home, 'runs', await addRun([0, 0, 0]), 'run.json');
  const record = JSON.parse(readFileSync(path, 'utf8')) as { config: { model: object } };
  record.config.model = { ...record.config.model, mode: 'replay' };
  writeFileSync(path, JSON.stringify(record));
  expect(JSON.parse((await estimate('--json')).stdout)).toMatchObject({ basis: { stories: 3, runs: 1 } });
});

it('halo estimate begins to read at most the newest 300 runs', async () => {
  const read: string[] = [];
  const store = {
    runIds: () => Promise.resolve(Array.from({ length: 400 }, (_, index) => `run${index}`)),
    readRecord: () => Promise.resolve({}),
    // oxlint-disable-next-line typescript/require-await
    async *follow(runId: string) {
      read.push(runId);
      yield* journalOf([created(runId)]);
    },
  };
  expect(await readSamples(store, repository.root)).toEqual({ entries: [], unreadable: [] });
  expect([read.length, read[0], read.at(-1)]).toEqual([300, 'run0', 'run299']);
});

it('halo estimate says so if too few stories are known, and names a run that it cannot read', async () => {
  const runId = await addRun([1]);
  expect(await estimate()).toMatchObject({
    code: 0,
    stdout: '2 open stories, no estimate\n',
    stderr: '! An estimate needs at least 3 stories of ended runs of this repository; there is 1.\n',
  });
  writeFileSync(join(home.host.home, 'runs', runId, 'journal.jsonl'), '{"damaged\n');
  expect((await estimate()).stderr).toContain(`${runId} is missing here: `);
});

describe('the estimate before a run', () => {
  const LINE = /^Estimate: \$4\.00 \(\$4\.00 to \$4\.00\), 24\.0s \(24\.0s to 24\.0s\), from 3 earlier stories$/m;

  it('is one line of halo prd validate and of a dry run, and in their JSON', async () => {
    await addRun([2, 2, 2]);
    expect((await halo('prd', 'validate', 'prd.json')).stdout).toMatch(LINE);
    const { stdout, stderr } = await halo('submit', 'prd.json', '--dry-run');
    expect(stderr).toMatch(LINE);
    expect(stdout).toBe('new-1\n');
    const [run] = JSON.parse((await halo('submit', 'prd.json', '--dry-run', '--json')).stdout) as [object];
    const prd = JSON.parse((await halo('prd', 'validate', 'prd.json', '--json')).stdout) as object;
    for (const document of [run, prd])
      expect(document).toMatchObject({ estimate: { stories: 2, costUsd: { sum: { median: 4 } } } });
  });

  it('is absent if too little is known, and for a part of the stories', async () => {
    await addRun([1]);
    for (const words of [
      ['prd', 'validate', 'prd.json'],
      ['submit', 'prd.json', '--dry-run'],
    ]) {
      const { stdout, stderr } = await halo(...words);
      expect(stdout + stderr).not.toContain('Estimate');
    }
    await addRun([2, 2, 2]);
    expect((await halo('submit', 'prd.json', '--dry-run', '--story', 'A')).stderr).not.toContain('Estimate');
    expect((await halo('submit', 'prd.json')).stderr).not.toContain('Estimate');
  });

  it('is a tool of MCP', async () => {
    await addRun([2, 2, 2]);
    const prd = readFileSync(join(repository.root, 'prd.json'), 'utf8');
    const input = { prd, repo: repository.root, agent: undefined, model: undefined };
    const result = await estimateTool.run(home.operations, input as never, new AbortController().signal);
    expect(estimateTool.output.parse(result)).toMatchObject({ stories: 2, costUsd: { sum: { median: 4 } } });
  });
});
