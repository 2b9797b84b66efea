import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openHalo, OK, scripted, type TestHalo } from '../../support/halo/halo.ts';
import type { TestRepository } from '../../support/repository/repository.ts';
import { newRepository } from '../../support/repository/new-repository.ts';

let halo: TestHalo;
let repository: TestRepository;
let path: string;

const TEXT = `{
  "project": "Shop", "branchName": "ralph/shop",
  "userStories": [
    {
      "id": "US-001", "title": "Base", "acceptanceCriteria": ["It works"],
      "priority": 1, "passes": true, "notes": "" },
    {
      "id": "US-002", "title": "Cart", "acceptanceCriteria": ["\\u003c 1 s"],
      "priority": 2, "passes": false, "notes": "" },
    {
      "id": "US-003", "title": "Till", "acceptanceCriteria": ["It adds up"],
      "priority": 3, "passes": false, "notes": "" }
  ]
}`;

const ONE = ['US-002'];

beforeAll(async () => {
  halo = await openHalo();
  repository = newRepository({ 'scripts/ralph/prd.json': TEXT });
  path = join(repository.root, 'scripts/ralph/prd.json');
});
afterAll(async () => {
  await halo.close();
});

async function run(repos: string[], settings: string[], stories?: string[]): Promise<string[]> {
  const prd = { path, bytes: new Uint8Array(readFileSync(path)) };
  const options = { profile: undefined, allowDirty: false, ...(stories && { stories }) };
  const submitted = (await halo.operations.submit({ prd, repos, set: settings, ...options })).runs;
  const states = await Promise.all(submitted.map(({ runId }) => halo.untilEnd(runId)));
  return states.map(({ stopReason }) => stopReason ?? 'none');
}

it('finishes a half-done PRD and marks its stories in place: git diff shows only those lines', async () => {
  const script = `echo more >> log.txt; ${OK}`;
  expect(await run([repository.root], scripted(script))).toEqual(['SUCCESS']);
  const changed = repository.git('diff', '-U0', '--', 'scripts/ralph/prd.json').split('\n');
  expect(changed.filter((line) => /^[-+] /.test(line))).toEqual([
    '-      "priority": 2, "passes": false, "notes": "" },',
    '+      "priority": 2, "passes": true, "notes": "" },',
    '-      "priority": 3, "passes": false, "notes": "" }',
    '+      "priority": 3, "passes": true, "notes": "" }',
  ]);
  expect(repository.git('status', '--porcelain')).toBe('M scripts/ralph/prd.json');
});

it('the PRD file stays unchanged if configured, if a story fails, and with several repositories', async () => {
  writeFileSync(path, TEXT);
  const work = `echo more >> log.txt; ${OK}`;
  expect(await run([repository.root], scripted(work, ['true'], ['prd.write_back=false']), ONE)).toEqual(['SUCCESS']);
  expect(await run([repository.root], scripted(work, ['false']), ONE)).toEqual(['GATE_FAILED']);
  const other = newRepository();
  expect(await run([repository.root, other.root], scripted(work), ONE)).toEqual(['SUCCESS', 'SUCCESS']);
  expect(readFileSync(path, 'utf8')).toBe(TEXT);
});

/** What loops tell their agents to do: the story's own flag and notes, by its line in the file. */
const MARK = `id=$(grep -o 'US-00[0-9]' | head -1)
sed -i "/$id/,/passes/ s/\\"passes\\": false, \\"notes\\": \\"\\"/\\"passes\\": true, \\"notes\\": \\"did $id\\"/" scripts/ralph/prd.json
echo more >> log.txt; ${OK}`;

it('lets a story mark itself, and lands it although halo has marked the file of the checkout as well', async () => {
  writeFileSync(path, TEXT);
  expect(await run([repository.root], scripted(MARK))).toEqual(['SUCCESS']);
  const [last] = (await halo.operations.listRuns()).runs;
  expect(readFileSync(path, 'utf8')).not.toContain('did US-003');
  await halo.operations.land({ runId: last!.runId });
  const marked = TEXT.replaceAll('false', 'true').replace(/(US-002[^]*?"notes": ")/, '$1did US-002');
  expect(readFileSync(path, 'utf8')).toBe(marked.replace(/(US-003[^]*?"notes": ")/, '$1did US-003'));
  expect(repository.git('status', '--porcelain')).toBe('');
  expect(repository.git('log', '--format=%s', '-2')).toContain('US-003');
});
