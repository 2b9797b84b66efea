import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { beforeEach, describe, expect, it } from 'vitest';
import { discoverPrd } from '../../../src/api/repository/discover-prd.ts';
import { openImport } from '../../../src/api/repository/import-document.ts';
import { resolvePlaces } from '../../../src/features/lever/api/task-paths.ts';
import { openRunFolder } from '../../../src/features/lever/api/run-folder.ts';
import { resolveTasksFile, readTasks } from '../../../src/features/lever/api/tasks-file.ts';
import { isFileHere } from '../../../src/api/submit/prd-ownership.ts';
import { readBatch } from '../../../src/api/submit/batch-file.ts';
import { initConfig } from '../../../src/api/repository/init-config.ts';
import type { Operations } from '../../../src/api/operations.ts';
import { listPrdNames, readPrd } from '../../../src/cli/options/read-prd.ts';
import { findRepoConfig } from '../../../src/config/load/config-file.ts';
import { readCassette } from '../../../src/gateway/cassette/cassette.ts';
import { readRegularFile } from '../../../src/lib/fs.ts';
import { replaceFile } from '../../../src/worker/repository/replace-file.ts';
import { runCli } from '../../support/terminal/cli-world.ts';
import type { TestRepository } from '../../support/repository/repository.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { hostOf } from '../../support/halo/host.ts';
import { newRepository } from '../../support/repository/new-repository.ts';

/** Something other than a file, or a link to somewhere else, in the place of a file that halo reads or writes. */

let repository: TestRepository;
let root: string;
let elsewhere: string;
let pipe: string;

beforeEach(() => {
  repository = newRepository();
  root = repository.root;
  elsewhere = tempDir('halo-elsewhere');
  pipe = join(elsewhere, 'pipe');
  execFileSync('mkfifo', [pipe]);
});

/** Endless, waiting for ever, or as large as a disk. */
function hostile(): string[] {
  const large = join(elsewhere, 'large');
  execFileSync('truncate', ['-s', '10G', large]);
  return ['/dev/zero', '/dev/ptmx', pipe, large];
}

describe('incident endless-file: a device, a pipe or a huge file in place of one that halo reads', () => {
  it('is refused as the PRD of a request at any path', async () => {
    for (const path of hostile()) expect(await isFileHere({ path, bytes: new Uint8Array(4) })).toBe(false);
    const path = join(root, 'prd.json');
    writeFileSync(path, '{}');
    expect(await isFileHere({ path, bytes: Buffer.from('{}') })).toBe(true);
    expect(await isFileHere({ path, bytes: Buffer.from('{} ') })).toBe(false);
  });

  it('is not accepted as configuration, PRD, batch, task list or cassette', async () => {
    for (const path of hostile()) {
      rmSync(join(root, 'halo.toml'), { force: true });
      symlinkSync(path, join(root, 'halo.toml'));
      await expect(findRepoConfig(root)).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
      await expect(readBatch(path)).rejects.toMatchObject({ code: 'USAGE' });
      await expect(readTasks(path)).rejects.toMatchObject({ code: 'PRD_UNREADABLE' });
      await expect(readCassette(path)).rejects.toMatchObject({ code: 'CASSETTE_MISSING' });
      await expect(replaceFile(path, () => undefined)).rejects.toThrow(/it is (not a regular file|larger than)/);
      if (path === pipe) continue;
      const { code, stderr } = await runCli(['run', path], { operations: {} as Operations, cwd: root });
      expect([code, stderr]).toEqual([
        6,
        expect.stringMatching(/it is (?:not a regular file|larger than)|The file has \d+ bytes; the limit is/),
      ]);
    }
  });

  it('is not accepted as a PRD that is read twice: the content of a pipe is read once', async () => {
    const writing = writeFile(pipe, '{"a": 1}');
    const file = await readPrd(pipe, { stdin: process.stdin, cwd: root });
    await writing;
    expect(file).toEqual({ path: '-', bytes: new Uint8Array(Buffer.from('{"a": 1}')) });
    const endless = Readable.from([Buffer.alloc(9 * 1024 * 1024)]);
    await expect(readPrd('-', { stdin: endless, cwd: root })).rejects.toMatchObject({ code: 'PRD_UNREADABLE' });
  });

  it('is distinguished from a file that grows while it is read', async () => {
    await expect(readRegularFile('/proc/self/maps', 100)).rejects.toThrow('larger than 100 bytes');
    expect((await readRegularFile('/proc/self/maps', 1_000_000)).length).toBeGreaterThan(100);
  });
});

describe('incident linked-file: a link of a repository that leads out of it', () => {
  it('is not accepted as configuration, and not found as a PRD', async () => {
    writeFileSync(join(elsewhere, 'x.toml'), 'env.A = "secret"');
    symlinkSync(join(elsewhere, 'x.toml'), join(root, 'halo.toml'));
    symlinkSync(join(elsewhere, 'x.toml'), join(root, 'prd.json'));
    await expect(findRepoConfig(root)).rejects.toMatchObject({
      message: expect.stringContaining('is a link that leads out of the repository') as string,
    });
    await expect(discoverPrd({ repo: root, hint: '' })).rejects.toMatchObject({ code: 'PRD_UNREADABLE' });
    rmSync(join(root, 'halo.toml'));
    mkdirSync(join(root, '.halo'));
    writeFileSync(join(root, 'inside.toml'), 'agent = "codex"');
    symlinkSync('../inside.toml', join(root, '.halo', 'config.toml'));
    expect(await findRepoConfig(root)).toMatchObject({ table: { agent: 'codex' } });
  });

  it('is not written through by halo init', async () => {
    const host = hostOf(elsewhere);
    const init = (force: boolean) =>
      initConfig({ host, folder: root, force, versionsIn: () => Promise.resolve(new Map()) });
    const target = join(elsewhere, 'config.toml');
    symlinkSync(target, join(root, 'halo.toml'));
    for (const force of [false, true]) await expect(init(force)).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
    expect(existsSync(target)).toBe(false);
    rmSync(join(root, 'halo.toml'));
    writeFileSync(join(root, 'x'), 'agent = "codex"');
    symlinkSync('x', join(root, 'halo.toml'));
    await expect(init(true)).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
    expect(readFileSync(join(root, 'x'), 'utf8')).toBe('agent = "codex"');
  });

  it('is not accepted as a named PRD, tasks file, prompt or configuration of an import, and nothing is written through it', async () => {
    const outside = join(elsewhere, 'tasks.json');
    const tasks = '[{"task_id":"T-1","status":"unstarted"}]';
    writeFileSync(outside, tasks);
    mkdirSync(join(root, '.halo', 'prds', 'x'), { recursive: true });
    for (const link of ['tasks.json', 'prd.json', 'prompt.md', '.halo/prds/x/prd.json'])
      symlinkSync(outside, join(root, link));
    const refused = expect.stringContaining('link that leads out of') as string;
    const inRepository = { operations: {} as Operations, cwd: root };
    for (const words of [
      ['prd', 'validate', 'x'],
      ['run', 'x'],
    ])
      expect(await runCli(words, inRepository)).toMatchObject({ code: 2, stdout: '', stderr: refused });
    expect(await listPrdNames(root)).toEqual([]);
    for (const named of [undefined, 'tasks.json'])
      await expect(resolveTasksFile(root, named)).rejects.toMatchObject({ code: 'PRD_UNREADABLE', message: refused });
    // A person may name a file that is elsewhere.
    expect(await resolveTasksFile(root, outside)).toBe(outside);
    const where = { cwd: root, userHome: elsewhere, tasks: outside, prompt: 'prompt.md' };
    await expect(resolvePlaces(where)).rejects.toMatchObject({ code: 'PROMPT_MISSING', message: refused });
    const document = { path: 'idea.md', bytes: Buffer.from('idea'), folder: root, profile: undefined, set: [] };
    const open = (out: string) => openImport(elsewhere, { ...document, out: join(root, out) });
    await expect(open('prd.json')).rejects.toMatchObject({ code: 'PRD_UNREADABLE', message: refused });
    symlinkSync(outside, join(root, 'halo.toml'));
    await expect(open('new.json')).rejects.toMatchObject({ code: 'PRD_UNREADABLE', message: refused });
    expect(readFileSync(outside, 'utf8')).toBe(tasks);
  });

  it('is not followed by halo prd new, halo prd edit and halo task', async () => {
    mkdirSync(join(root, '.halo'));
    symlinkSync(elsewhere, join(root, '.halo', 'prds'));
    const inRepository = { operations: {} as Operations, cwd: root };
    const before = readdirSync(elsewhere);
    expect(await runCli(['prd', 'new', 'x'], inRepository)).toMatchObject({ code: 2, stdout: '' });
    expect(readdirSync(elsewhere)).toEqual(before);
    mkdirSync(join(elsewhere, 'x'));
    writeFileSync(join(elsewhere, 'x', 'prd.json'), '{}');
    const edited = await runCli(['prd', 'edit', 'x'], {
      ...inRepository,
      services: { editFile: () => Promise.reject(new Error('not asked for')) },
    });
    expect(edited).toMatchObject({ code: 2, stderr: expect.stringContaining('a link that leads out of') as string });
    symlinkSync(elsewhere, join(root, '.ralph'));
    const run = openRunFolder(root, { taskId: 'T', runId: 'r', task: {} });
    await expect(run).rejects.toMatchObject({ code: 'DISK_FAILED' });
    expect(readdirSync(elsewhere).sort()).toEqual([...before, 'x'].sort());
  });
});
