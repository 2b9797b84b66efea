import { execFileSync } from 'node:child_process';
import {
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { runFolderQueue, type FolderRequest } from '../../../src/features/folder-queue/api/run-folder-queue.ts';
import { HaloError } from '../../../src/core/failure/errors.ts';
import { sleep } from '../../../src/lib/async.ts';
import { PATIENCE } from '../../support/patience.ts';
import { newRepository } from '../../support/repository/new-repository.ts';
import { FakeRuns } from './fake-runs.ts';
import { tempDir } from '../../support/temp-dir.ts';

let home: string;
let repo: string;
let folder: string;
let runs: FakeRuns;
let said: string[];

beforeEach(() => {
  home = tempDir('halo-home');
  repo = newRepository().root;
  folder = join(realpathSync(repo), 'prds');
  mkdirSync(folder);
  runs = new FakeRuns();
  said = [];
});

const prd = (title: string, about: object = {}) =>
  JSON.stringify({
    project: 'P',
    userStories: [{ id: 'US-001', title, acceptanceCriteria: ['a'], passes: false, ...about }],
  });
const put = (name: string, text: string) => writeFileSync(join(folder, name), text);
const there = () => readdirSync(folder).sort();
const mark = (path: string) =>
  existsSync(path) && writeFileSync(path, readFileSync(path, 'utf8').replace('"passes":false', '"passes":true'));
const titles = () =>
  runs.submitted.map(({ prd: { bytes } }) => /"title":"(\w+)"/.exec(Buffer.from(bytes).toString())?.[1]);

function work(more: Partial<FolderRequest> = {}) {
  return runFolderQueue(home, {
    operations: runs.operations,
    folder,
    repo,
    options: { profile: undefined, set: [], allowDirty: false },
    skip: false,
    watch: false,
    signal: new AbortController().signal,
    say: (text) => {
      said.push(text);
      return Promise.resolve();
    },
    pollMs: 20,
    ...more,
  });
}

describe('the queue of a folder', () => {
  it('runs PRDs in the order of their names, each on the result of the one before, and moves them to done', async () => {
    for (const [name, title] of [
      ['10-c.json', 'third'],
      ['2-b.json', 'second'],
      ['1-a.json', 'first'],
    ] as const)
      put(name, prd(title));
    runs.onEnd = mark;
    expect(await work()).toEqual({ done: 3, failed: 0 });
    expect(titles()).toEqual(['first', 'second', 'third']);
    expect(runs.submitted.map(({ after }) => after)).toEqual([undefined, ['run1'], ['run2']]);
    expect(runs.submitted.every(({ queueFolder }) => queueFolder === folder)).toBe(true);
    expect(there()).toEqual(['done']);
    expect(readdirSync(join(folder, 'done')).sort()).toEqual(['1-a.json', '10-c.json', '2-b.json']);
    expect(readFileSync(join(folder, 'done/1-a.json'), 'utf8')).toContain('"passes":true');
  });

  it('starts from the checked-out commit if the result before has landed', async () => {
    put('1.json', prd('first'));
    await work();
    runs.ends.get('run1')!.landed = { branch: 'main', to: 'x' };
    put('2.json', prd('second'));
    await work();
    expect(runs.submitted.map(({ after }) => after)).toEqual([undefined, undefined]);
  });

  it('leaves a PRD that failed with a note, and stops or skips it', async () => {
    put('1.json', prd('first'));
    put('2.json', prd('second'));
    runs.outcomes.set('1.json', 'GATE_FAILED');
    expect(await work()).toEqual({ done: 0, failed: 1 });
    expect(there()).toEqual(['1.json', '1.json.failed.txt', '2.json']);
    expect(readFileSync(join(folder, '1.json.failed.txt'), 'utf8')).toMatch(
      /Run run1 ended with GATE_FAILED: why\n.*halo retry run1/s,
    );
    expect(await work({ skip: true })).toEqual({ done: 1, failed: 0 });
    expect(titles()).toEqual(['first', 'second']);
    expect(there()).toEqual(['1.json', '1.json.failed.txt', 'done']);
  });

  it.each([false, true])('stops again at a PRD that failed before (watch: %s)', async (watch) => {
    put('1.json', prd('first'));
    put('2.json', prd('second'));
    runs.outcomes.set('1.json', 'GATE_FAILED');
    await work();
    const stop = AbortSignal.timeout(PATIENCE.timeout);
    expect(await work({ watch, signal: stop })).toEqual({ done: 0, failed: 1 });
    expect(stop.aborted).toBe(false);
    expect(titles()).toEqual(['first']);
    expect(said.at(-1)).toBe(
      '1.json failed before (1.json.failed.txt): continue its run with `halo retry run1`, change the file or remove the note to run it again, or pass `--on-failure skip` to run the PRDs after it.',
    );
  });

  it('stops at a PRD that cannot be read as one, and again at the next start', async () => {
    put('1.json', '{"userStories": [{"id": 1');
    put('2.json', prd('second'));
    expect(await work()).toEqual({ done: 0, failed: 1 });
    expect(await work()).toEqual({ done: 0, failed: 1 });
    expect(titles()).toEqual([]);
    expect(said.at(-1)).toContain('1.json failed before (1.json.failed.txt): change the file');
    put('1.json', prd('first'));
    expect(await work()).toEqual({ done: 2, failed: 0 });
  });

  it.each([
    ['its note is removed', () => rmSync(join(folder, '1.json.failed.txt'))],
    ['it is changed', () => put('1.json', prd('changed'))],
  ])('runs a PRD that failed again if %s', async (_what, change) => {
    put('1.json', prd('first'));
    runs.outcomes.set('1.json', 'GATE_FAILED');
    await work();
    await work();
    expect(runs.submitted).toHaveLength(1);
    runs.outcomes.clear();
    change();
    expect(await work()).toEqual({ done: 1, failed: 0 });
    expect(runs.submitted).toHaveLength(2);
    expect(there()).toEqual(['done']);
  });

  it('archives a PRD that failed when its run was retried with success', async () => {
    put('1.json', prd('first'));
    runs.outcomes.set('1.json', 'GATE_FAILED');
    await work();
    runs.ends.get('run1')!.stopReason = 'SUCCESS';
    expect(await work()).toEqual({ done: 1, failed: 0 });
    expect(runs.submitted).toHaveLength(1);
    expect(there()).toEqual(['done']);
  });

  it('notes why a PRD is refused, and ends with the error of a submit that concerns all of them', async () => {
    put('1.json', '{"userStories": [{"id": 1');
    put('2.json', prd('second'));
    runs.outcomes.set('2.json', 'PRD_INVALID');
    expect(await work({ skip: true })).toEqual({ done: 0, failed: 2 });
    expect(readFileSync(join(folder, '1.json.failed.txt'), 'utf8')).toContain('1.json');
    expect(readFileSync(join(folder, '2.json.failed.txt'), 'utf8')).toContain('2.json is refused.');
    put('3.json', prd('third'));
    const operations = { ...runs.operations, submit: () => Promise.reject(new HaloError('DIRTY_WORKTREE', 'Dirty.')) };
    await expect(work({ operations, skip: true })).rejects.toMatchObject({ code: 'DIRTY_WORKTREE' });
    expect(await work({ skip: true })).toEqual({ done: 1, failed: 0 });
  });

  it('takes no temporary files, links, folders, other files or twins, and says so once', async () => {
    const elsewhere = join(tempDir('halo-elsewhere'), 'x.json');
    writeFileSync(elsewhere, prd('foreign'));
    symlinkSync(elsewhere, join(folder, '0-link.json'));
    for (const name of ['.1.json.swp', '#1.json#', '1.json~', '.#1.json', '1.json.part', 'notes.txt', '.hidden.json'])
      put(name, prd('temporary'));
    mkdirSync(join(folder, 'sub.json'));
    runs.outcomes.set('1.json', 'GATE_FAILED');
    put('1.json', prd('first'));
    put('2.json', prd('first'));
    const stop = new AbortController();
    const working = work({ skip: true, watch: true, signal: stop.signal });
    await vi.waitFor(() => expect(said.join()).toContain('2.json'), PATIENCE);
    // It reads the folder several times more.
    await sleep(400);
    stop.abort();
    await working;
    expect(titles()).toEqual(['first']);
    expect(said.filter((text) => text.includes('2.json'))).toEqual([
      '2.json is not taken: it has the same stories as 1.json.',
    ]);
    expect(said.filter((text) => text.includes('link'))).toEqual(['0-link.json is not taken: it is a link.']);
  });

  it('takes files with each ending that PRDs have', async () => {
    for (const [name, title] of [
      ['1.json', 'first'],
      ['2.md', 'second'],
      ['3.markdown', 'third'],
    ] as const)
      put(name, name === '1.json' ? prd(title) : `- [ ] **US-001: ${title}**\n`);
    await work();
    expect(readdirSync(join(folder, 'done')).sort()).toEqual(['1.json', '2.md', '3.markdown']);
  });

  it('does not run the same PRD again while it is in done', async () => {
    put('1.json', prd('first'));
    await work();
    put('copy.json', prd('first'));
    expect(await work()).toEqual({ done: 0, failed: 0 });
    expect(said.at(-1)).toBe('copy.json is not taken: it was done as done/1.json. Remove that file to run it again.');
    rmSync(join(folder, 'done/1.json'));
    expect(await work()).toEqual({ done: 1, failed: 0 });
  });

  it('never replaces a file in done', async () => {
    put('1.json', prd('first'));
    await work();
    put('1.json', prd('other'));
    await work();
    expect(readFileSync(join(folder, 'done/1.json'), 'utf8')).toContain('first');
    expect(readFileSync(join(folder, 'done/1.2.json'), 'utf8')).toContain('other');
  });

  it('moves a PRD without open stories to done, and queues one again that was edited during its run', async () => {
    put('1.json', prd('first', { passes: true }));
    put('2.json', prd('second'));
    runs.onEnd = (path) => {
      if (path.endsWith('2.json') && runs.submitted.length === 1) put('2.json', prd('edited'));
    };
    expect(await work()).toEqual({ done: 2, failed: 0 });
    expect(titles()).toEqual(['second', 'edited']);
  });

  it('waits for a file that is still being written', async () => {
    put('1.json', '{"project": "P", "userStories": [');
    const stop = new AbortController();
    const working = work({ watch: true, signal: stop.signal, pollMs: 150 });
    for (let n = 0; n < 6; n++) {
      await new Promise((resolve) => setTimeout(resolve, 50));
      put('1.json', `{"project": "P", "userStories": [${' '.repeat(n)}`);
    }
    put('1.json', prd('complete'));
    while (!existsSync(join(folder, 'done/1.json'))) await new Promise((resolve) => setTimeout(resolve, 20));
    stop.abort();
    expect(await working).toEqual({ done: 1, failed: 0 });
    expect(titles()).toEqual(['complete']);
  });

  it('keeps the order of names if the first file is still being written', async () => {
    put('2.json', prd('second'));
    const stop = new AbortController();
    const working = work({ watch: true, signal: stop.signal, pollMs: 150 });
    for (let n = 0; n < 6; n++) {
      put('1.json', `{"project": "P", "userStories": [${' '.repeat(n)}`);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    put('1.json', prd('first'));
    while (!existsSync(join(folder, 'done/2.json'))) await new Promise((resolve) => setTimeout(resolve, 20));
    stop.abort();
    await working;
    expect(titles()).toEqual(['first', 'second']);
  });

  it('is run by one process at a time', async () => {
    const stop = new AbortController();
    const first = work({ watch: true, signal: stop.signal });
    const locks = () => readdirSync(join(home, 'folders')).filter((name) => name.endsWith('.lock'));
    await vi.waitFor(() => expect(locks()).toHaveLength(1), PATIENCE);
    await expect(work()).rejects.toMatchObject({
      code: 'USAGE',
      message: expect.stringContaining('runs the PRDs in') as string,
    });
    stop.abort();
    await first;
  });
});

describe('the queue of a folder, after it was killed', () => {
  class Killed extends Error {}
  const kill = () => Promise.reject(new Killed());

  it('submits nothing twice if it died before it received the run, even if the run has marked the PRD', async () => {
    put('1.json', prd('first'));
    const submit: FolderRequest['operations']['submit'] = async (request) => {
      await runs.operations.submit(request);
      return kill();
    };
    await expect(work({ operations: { ...runs.operations, submit } })).rejects.toThrow(Killed);
    mark(join(folder, '1.json'));
    expect(await work({ options: { profile: 'other', set: ['a=1'], allowDirty: true } })).toEqual({
      done: 1,
      failed: 0,
    });
    expect(runs.submitted).toHaveLength(1);
  });

  it('continues on the result of a run if it died while it recorded that run', async () => {
    await work();
    const last = join(home, 'folders', readdirSync(join(home, 'folders'))[0]!, 'last.json');
    put('1.json', prd('first'));
    put('2.json', prd('second'));
    runs.onEnd = mark;
    const submit: FolderRequest['operations']['submit'] = (request) => {
      mkdirSync(last); // No file can replace a folder: the queue dies while it writes this record.
      return runs.operations.submit(request);
    };
    await expect(work({ operations: { ...runs.operations, submit } })).rejects.toThrow(/last\.json/);
    rmSync(last, { recursive: true });
    expect(await work()).toEqual({ done: 2, failed: 0 });
    expect(runs.submitted.map(({ after }) => after)).toEqual([undefined, ['run1']]);
  });

  it('does not continue on the result of a run that began with another commit than the checked-out one', async () => {
    put('1.json', prd('first'));
    put('2.json', prd('second'));
    runs.onEnd = mark;
    const submit: FolderRequest['operations']['submit'] = async (request) => {
      await runs.operations.submit(request);
      return kill();
    };
    await expect(work({ operations: { ...runs.operations, submit } })).rejects.toThrow(Killed);
    execFileSync('git', ['commit', '-q', '--allow-empty', '-m', 'the user continues'], { cwd: repo });
    expect(await work()).toEqual({ done: 2, failed: 0 });
    expect(runs.submitted.map(({ after }) => after)).toEqual([undefined, undefined]);
  });

  it('waits for the same run if it died while the run was executed', async () => {
    put('1.json', prd('first'));
    await expect(work({ operations: { ...runs.operations, getRun: kill } })).rejects.toThrow(Killed);
    mark(join(folder, '1.json'));
    said = [];
    expect(await work()).toEqual({ done: 1, failed: 0 });
    expect(said).toEqual(['1.json: run run1 continues', '1.json is done: moved to done/1.json']);
    expect(runs.submitted).toHaveLength(1);
  });

  it.each(['done', 'archived', 'moved'])('loses no file if it died around the move (%s)', async (at) => {
    put('1.json', prd('first'));
    await work();
    // The record as it was before the move was finished.
    const dir = join(
      home,
      'folders',
      readdirSync(join(home, 'folders')).find((name) => !name.endsWith('.lock'))!,
    );
    const file = readdirSync(dir).find((name) => name !== 'last.json')!;
    const record = JSON.parse(readFileSync(join(dir, file), 'utf8')) as object;
    writeFileSync(join(dir, file), JSON.stringify({ ...record, state: 'archiving' }));
    const text = readFileSync(join(folder, 'done/1.json'));
    if (at === 'done') {
      rmSync(join(folder, 'done/1.json'));
      writeFileSync(join(folder, '1.json'), text);
    } else if (at === 'archived') {
      linkSync(join(folder, 'done/1.json'), join(folder, '1.json'));
    }
    await work();
    expect(there()).toEqual(['done']);
    expect(readFileSync(join(folder, 'done/1.json'))).toEqual(text);
    expect(runs.submitted).toHaveLength(1);
  });
});
