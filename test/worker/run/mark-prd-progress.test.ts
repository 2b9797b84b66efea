import { chmodSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pino } from 'pino';
import { beforeEach, describe, expect, test } from 'vitest';
import type { Config } from '../../../src/config/config.ts';
import { transcribe } from '../../../src/core/transcript/transcript.ts';
import { paintPlain } from '../../../src/tui/paint.ts';
import { summaryLines } from '../../../src/tui/summary.ts';
import { parsePrd } from '../../../src/prd/parse-prd.ts';
import { openStore, type Store } from '../../../src/store/store.ts';
import { replaceFile } from '../../../src/worker/repository/replace-file.ts';
import { markPrdProgress } from '../../../src/worker/run/mark-prd-progress.ts';
import { toBytes } from '../../support/prd/prd-writers.ts';
import { created, passed } from '../../support/journal.ts';
import { tempDir } from '../../support/temp-dir.ts';

let folder: string;
let path: string;
let store: Store;
let logged: string[];

const TEXT = `{
\t"userStories": [
\t\t{ "id": "US-1", "title": "Cart", "acceptanceCriteria": ["\\u003c 1 s"], "passes": false },
\t\t{ "id": "US-2", "title": "Till", "acceptanceCriteria": ["it adds up"], "passes": false, "inProgress": true }
\t]
}`;

beforeEach(() => {
  folder = tempDir('halo write back ä ');
  path = join(folder, 'prd.json');
  writeFileSync(path, TEXT, { mode: 0o640 });
  chmodSync(path, 0o640);
  store = openStore(join(folder, 'home'), { transcribe });
  logged = [];
});

/** A run of the PRD, of which these stories have passed so far. */
async function runOf(landed: string[], prdPath = path, source = '/src/shop'): Promise<string> {
  const base = created();
  const entry = { ...base, repo: { ...base.repo, source } };
  const prd = parsePrd(toBytes(TEXT), path);
  const { runId } = entry;
  const origin = { haloVersion: '0', agent: { name: 'command' }, args: [], config: {} };
  await store.createRun({ ...entry, prd, prdPath }, origin);
  for (const story of landed) await store.append(runId, passed(story));
  return runId;
}

function writeBack(runId: string, writeBack = true): Promise<void> {
  const log = pino({}, { write: (line: string) => void logged.push(line) });
  const config = { prd: { writeBack } } as Config;
  return markPrdProgress({ home: join(folder, 'home'), store, log }, { runId, config });
}

const read = () => readFileSync(path, 'utf8');

describe('progress of a run', () => {
  test('is written to the PRD file story by story, without other changes', async () => {
    await writeBack(await runOf([]));
    expect(read()).toBe(TEXT);
    await writeBack(await runOf(['US-1']));
    const first = TEXT.replace('"passes": false }', '"passes": true }');
    expect(read()).toBe(first);
    await writeBack(await runOf(['US-1', 'US-2']));
    expect(read()).toBe(first.replace('"passes": false, "inProgress": true', '"passes": true, "inProgress": false'));
    expect(statSync(path).mode & 0o777).toBe(0o640);
    expect(readdirSync(folder).sort()).toEqual(['home', 'prd.json']);
    expect(logged).toEqual([]);
  });

  test('is completed after the death of a worker, and a second time changes nothing', async () => {
    const runId = await runOf(['US-1', 'US-2']);
    await writeBack(runId);
    const before = statSync(path);
    await writeBack(runId);
    expect(statSync(path)).toMatchObject({ ino: before.ino, mtimeMs: before.mtimeMs });
    expect(parsePrd(readFileSync(path), path).stories.every(({ status }) => status === 'done')).toBe(true);
  });

  test('is not written to the file if it is switched off', async () => {
    await writeBack(await runOf(['US-1']), false);
    expect(read()).toBe(TEXT);
  });

  test('is written to the file behind a link, which remains a link', async () => {
    const link = join(folder, 'link.json');
    symlinkSync('prd.json', link);
    await writeBack(await runOf(['US-1'], link));
    expect(read()).toContain('"passes": true');
    expect(readFileSync(link, 'utf8')).toBe(read());
  });

  test('does not follow a file of the repository that has become a link out of it', async () => {
    const repository = join(folder, 'shop');
    mkdirSync(repository);
    const link = join(repository, 'prd.json');
    symlinkSync('../prd.json', link);
    const runId = await runOf(['US-1'], link, repository);
    await writeBack(runId);
    expect(read()).toBe(TEXT);
    expect((await store.readState(runId)).unmarked?.reason).toContain('now a link that leads out of the repository');
    rmSync(link);
    writeFileSync(link, TEXT);
    await writeBack(runId);
    expect(readFileSync(link, 'utf8')).toContain('"passes": true');
  });

  test('is written while other runs of the same PRD change the file, without undoing their changes', async () => {
    const runs = [await runOf(['US-1']), await runOf(['US-2'])];
    await Promise.all(runs.map((runId) => writeBack(runId)));
    expect(parsePrd(readFileSync(path), path).stories.every(({ status }) => status === 'done')).toBe(true);
  });
});

describe('a problem with the file is a warning of the run, not an error', () => {
  test.each([
    ['it is gone', () => rmSync(path), 'the file is no longer there'],
    ['it is broken', () => writeFileSync(path, '{"userStories": ['), 'prd.json:1:18: The text is not valid JSON'],
    ['the story is gone', () => writeFileSync(path, '{"userStories": []}'), 'no longer contains them'],
  ])('%s', async (_what, change, reason) => {
    const runId = await runOf(['US-1']);
    change();
    const before = readdirSync(folder).includes('prd.json') ? read() : undefined;
    await writeBack(runId);
    await writeBack(runId);
    if (before !== undefined) expect(read()).toBe(before);
    expect(readdirSync(folder).filter((name) => name.endsWith('.tmp'))).toEqual([]);
    const said = (await store.readJournal(runId)).filter(({ type }) => type.startsWith('marks.'));
    expect(said).toMatchObject([
      { type: 'marks.failed', stories: ['US-1'], reason: expect.stringContaining(reason) as string },
    ]);
    expect(await store.readRecord(runId)).toMatchObject({ progress: { unmarked: { stories: ['US-1'] } } });
    const transcript = readFileSync(join(store.runFolder(runId), 'agent.log'), 'utf8');
    expect(transcript).toContain('NOT MARKED  US-1 passed, but the PRD file could not be marked: ');
    const state = await store.readState(runId);
    const ended = { state: { ...state, stopReason: 'SUCCESS' as const }, width: 100, paint: paintPlain, dir: '/r' };
    expect(summaryLines(ended).join(' ').replace(/\s+/g, ' ')).toContain('otherwise the next run does them again.');
  });

  test('disappears when the file contains the marks again', async () => {
    const runId = await runOf(['US-1']);
    writeFileSync(path, '{');
    await writeBack(runId);
    writeFileSync(path, TEXT);
    await writeBack(runId);
    await writeBack(runId);
    expect(read()).toContain('"passes": true');
    expect((await store.readJournal(runId)).slice(-2).map(({ type }) => type)).toEqual([
      'marks.failed',
      'marks.caught_up',
    ]);
    expect((await store.readState(runId)).unmarked).toBeUndefined();
  });

  test('includes a path that is not absolute', async () => {
    await writeBack(await runOf(['US-1'], '-'));
    expect(logged).toEqual([]);
  });
});

test('never overwrites a change that is saved at the same time', async () => {
  const file = join(folder, 'notes.txt');
  writeFileSync(file, 'one');
  let asked = 0;
  await replaceFile(file, (bytes) => {
    if (++asked === 1) writeFileSync(file, 'one and two');
    return Buffer.concat([bytes, Buffer.from(' and three')]);
  });
  expect(readFileSync(file, 'utf8')).toBe('one and two and three');
});
