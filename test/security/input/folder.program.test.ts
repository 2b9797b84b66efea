import { execFileSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { runFolderQueue } from '../../../src/features/folder-queue/api/run-folder-queue.ts';
import type { RunView } from '../../../src/api/operations/runs.ts';
import type { SubmitRequest } from '../../../src/api/operations/schemas.ts';
import { newRepository } from '../../support/repository/new-repository.ts';
import { tempDir } from '../../support/temp-dir.ts';

const PRD = '{"tasks": [{"id": "a", "title": "A"}]}';

let folder: string;
let elsewhere: string;
let submitted: SubmitRequest[];
let said: string[];

beforeEach(() => {
  folder = join(realpathSync(newRepository().root), 'prds');
  mkdirSync(folder);
  elsewhere = tempDir('halo-elsewhere');
  submitted = [];
  said = [];
});

function work() {
  return runFolderQueue(tempDir('halo-home'), {
    operations: {
      submit: (request) => {
        submitted.push(request);
        return Promise.resolve({ runs: [{ runId: 'r1', repo: '', parallel: 1, warnings: [] }] });
      },
      getRun: () => Promise.resolve({ state: { runId: 'r1', status: 'ended', stopReason: 'SUCCESS' } } as RunView),
    },
    folder,
    repo: join(folder, '..'),
    options: { profile: undefined, set: [], allowDirty: false },
    skip: true,
    watch: false,
    signal: new AbortController().signal,
    say: (text) => Promise.resolve(void said.push(text)),
    pollMs: 20,
  });
}

describe('incident watched-folder: a folder of PRDs with hostile entries', () => {
  it('is read without following links, opening pipes or accepting hidden characters in names', async () => {
    writeFileSync(join(elsewhere, 'x.json'), PRD);
    symlinkSync(join(elsewhere, 'x.json'), join(folder, '1.json'));
    symlinkSync('missing', join(folder, '2.json'));
    execFileSync('mkfifo', [join(folder, '3.json')]);
    writeFileSync(join(folder, '4\u202e.json'), PRD);
    symlinkSync(elsewhere, join(folder, '5.md'));
    expect(await work()).toEqual({ done: 0, failed: 0 });
    expect(submitted).toEqual([]);
    expect(said).toHaveLength(5);
    expect(readdirSync(elsewhere)).toEqual(['x.json']);
  });

  it('is archived through no link, and the PRD stays', async () => {
    symlinkSync(elsewhere, join(folder, 'done'));
    writeFileSync(join(folder, '1.json'), PRD);
    await expect(work()).rejects.toMatchObject({ code: 'USAGE' });
    expect(readdirSync(elsewhere)).toEqual([]);
    expect(readFileSync(join(folder, '1.json'), 'utf8')).toBe(PRD);
    rmSync(join(folder, 'done'));
    symlinkSync('missing', join(folder, 'done'));
    await expect(work()).rejects.toMatchObject({ code: 'USAGE' });
  });

  it('gets its notes without a link being followed', async () => {
    const target = join(elsewhere, 'target');
    writeFileSync(target, 'mine');
    symlinkSync(target, join(folder, '1.json.failed.txt'));
    writeFileSync(join(folder, '1.json'), '{');
    expect(await work()).toEqual({ done: 0, failed: 1 });
    expect(readFileSync(target, 'utf8')).toBe('mine');
    expect(existsSync(join(folder, '1.json.failed.txt'))).toBe(true);
  });
});
