import { existsSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { digestOf, FolderRecords, type FolderRecord } from '../../../src/features/folder-queue/api/folder-records.ts';
import { listFolder } from '../../../src/features/folder-queue/api/list-folder.ts';
import { tempDir } from '../../support/temp-dir.ts';

const story = (id: string, passes: boolean) => ({ id, title: `Story ${id}`, acceptanceCriteria: ['a'], passes });
const prd = (...done: boolean[]) =>
  JSON.stringify({ project: 'P', userStories: done.map((each, index) => story(`US-00${index + 1}`, each)) });

describe('the list of a folder', () => {
  it('has the PRDs in the order in which they run, with state, progress and run', async () => {
    const [home, folder] = [tempDir('halo-home'), tempDir('halo-prds')];
    const texts = {
      '1-running.json': prd(true, false),
      '2-failed.json': prd(false),
      '3-changed.json': prd(false),
      '10-waiting.json': prd(false, false, false),
      '11-done.json': prd(true),
      '12-broken.json': '{',
    };
    for (const [name, text] of Object.entries(texts)) writeFileSync(join(folder, name), text);
    for (const name of ['2-failed.json', '3-changed.json']) writeFileSync(join(folder, `${name}.failed.txt`), 'why');
    symlinkSync('1-running.json', join(folder, '13-link.json'));
    const records = new FolderRecords(home, folder);
    await records.open();
    const save = (name: string, more: Partial<FolderRecord>) =>
      records.save({ name, state: 'stopped', specHash: '', request: { key: 'k' }, content: '', ...more });
    await save('1-running.json', { state: 'running', runId: 'r1' });
    await save('2-failed.json', { digest: digestOf(texts['2-failed.json']), runId: 'r2' });
    await save('3-changed.json', { digest: digestOf('before'), runId: 'r3' });
    await save('10-waiting.json', { state: 'done', runId: 'r0' });
    expect(await listFolder(home, folder)).toEqual([
      { name: '1-running.json', state: 'running', done: 1, total: 2, runId: 'r1' },
      { name: '2-failed.json', state: 'failed', done: 0, total: 1, runId: 'r2' },
      { name: '3-changed.json', state: 'waiting', done: 0, total: 1, runId: 'r3' },
      { name: '10-waiting.json', state: 'waiting', done: 0, total: 3 },
      { name: '11-done.json', state: 'done', done: 1, total: 1 },
      {
        name: '12-broken.json',
        state: 'refused',
        done: 0,
        total: 0,
        reason: expect.stringContaining('JSON') as string,
      },
      { name: '13-link.json', state: 'refused', done: 0, total: 0, reason: 'it is a link' },
    ]);
  });

  it('writes nothing into a home without a queue', async () => {
    const home = join(tempDir('halo-home'), 'new');
    const folder = tempDir('halo-prds');
    mkdirSync(join(folder, 'done'));
    expect(await listFolder(home, folder)).toEqual([]);
    expect(existsSync(home)).toBe(false);
    await expect(listFolder(home, join(folder, 'none'))).rejects.toMatchObject({ code: 'PRD_UNREADABLE' });
  });
});
