import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, realpathSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pino } from 'pino';
import { beforeEach, describe, expect, it } from 'vitest';
import { findGuarded } from '../../../src/api/submit/guarded-paths.ts';
import { resolvePrdOwnership } from '../../../src/api/submit/prd-ownership.ts';
import type { Config } from '../../../src/config/config.ts';
import { resolveConfig } from '../../../src/config/resolve.ts';
import { transcribe } from '../../../src/core/transcript/transcript.ts';
import { readFolderText } from '../../../src/prd/folder/folder-text.ts';
import { parsePrd } from '../../../src/prd/parse-prd.ts';
import { readPrdSource } from '../../../src/prd/prd-source.ts';
import { openStore } from '../../../src/store/store.ts';
import { markPrdProgress } from '../../../src/worker/run/mark-prd-progress.ts';
import { created, passed } from '../../support/journal.ts';
import { toBytes } from '../../support/prd/prd-writers.ts';
import { backlogTask, filesIn, folderOf } from '../../support/prd/task-folder.ts';
import { makeRepo } from '../../support/repository/git-fixture.ts';
import { tempDir } from '../../support/temp-dir.ts';

let home: string;
let repository: string;
let folder: string;
let elsewhere: string;

beforeEach(() => {
  home = realpathSync(tempDir('halo-task-folder'));
  repository = join(home, 'shop');
  folder = join(repository, 'tasks');
  elsewhere = join(home, 'elsewhere');
  mkdirSync(folder, { recursive: true });
  mkdirSync(elsewhere);
  writeFileSync(join(folder, 'task-1.md'), backlogTask(1));
  writeFileSync(join(elsewhere, 'task-2.md'), backlogTask(2));
});

const leftOut = async () => readFolderText((await readPrdSource(folder)).bytes, folder).left;

describe('incident task-folder: a folder of tasks with hostile entries', () => {
  it('is read without following links, opening pipes, entering folders or accepting hidden characters in names', async () => {
    symlinkSync(join(elsewhere, 'task-2.md'), join(folder, 'task-2.md'));
    symlinkSync('missing', join(folder, 'task-3.md'));
    execFileSync('mkfifo', [join(folder, 'task-4.md')]);
    mkdirSync(join(folder, 'task-5.md'));
    writeFileSync(join(folder, 'task-6\u202e.md'), backlogTask(6));
    writeFileSync(join(folder, 'task-7\n.md'), backlogTask(7));
    writeFileSync(join(folder, '.task-8.md'), backlogTask(8));
    expect(await filesIn(folder)).toEqual(['task-1.md']);
    expect(new Map((await leftOut()).map(({ name, why }) => [name, why]))).toEqual(
      new Map([
        ['task-2.md', 'it is a link'],
        ['task-3.md', 'it is a link'],
        ['task-4.md', 'it is not a regular file'],
        ['task-5.md', 'it is a folder'],
        ['task-6\u202e.md', 'its name has hidden or invalid characters'],
        ['task-7\n.md', 'its name has hidden or invalid characters'],
      ]),
    );
  });

  it('is refused with more entries or more bytes than a folder of tasks has', async () => {
    writeFileSync(join(folder, 'a.md'), 'x'.repeat(3_000_000));
    writeFileSync(join(folder, 'b.md'), 'x'.repeat(3_000_000));
    await expect(readPrdSource(folder)).rejects.toThrow('has more than 4194304 bytes (4 MiB) of Markdown');
    writeFileSync(join(folder, 'b.md'), '\n'.repeat(1_000_000));
    await expect(readPrdSource(folder)).rejects.toThrow('has more than 4194304 bytes (4 MiB) of Markdown');
    execFileSync('bash', ['-c', 'for ((i = 0; i <= 10000; i++)); do : > "x$i"; done'], { cwd: folder });
    await expect(readPrdSource(folder)).rejects.toThrow('has more than 10000 entries');
  });

  it('is not read in part if a task cannot be read', async () => {
    writeFileSync(join(folder, 'task-2.md'), Buffer.from([0x2d, 0xff]));
    await expect(readPrdSource(folder)).rejects.toThrow(
      `${folder}/task-2.md:1: The text is not UTF-8: byte 0xff at offset 1.`,
    );
  });
});

describe('incident task-folder: a folder of BMAD with links', () => {
  it('does not have what a link leads to: neither epics nor states, nor folders of them', async () => {
    const states = 'development_status:\n  1-1-a: done\n';
    const epics = '### Story 1.1: A\n\n**Acceptance Criteria:**\n\n- a\n';
    mkdirSync(join(elsewhere, 'epics'));
    writeFileSync(join(elsewhere, 'sprint-status.yaml'), states);
    writeFileSync(join(elsewhere, 'epics/1.md'), epics);
    symlinkSync(join(elsewhere, 'sprint-status.yaml'), join(folder, 'sprint-status.yaml'));
    symlinkSync(elsewhere, join(folder, 'stories'));
    writeFileSync(join(folder, 'epics.md'), epics);
    expect(await filesIn(folder)).toEqual(['epics.md', 'task-1.md']);
    mkdirSync(join(folder, 'sprint-artifacts'));
    writeFileSync(join(folder, 'sprint-artifacts/sprint-status.yaml'), states);
    expect(await filesIn(folder)).toEqual(['epics.md', 'sprint-artifacts/sprint-status.yaml']);
    rmSync(join(folder, 'epics.md'));
    symlinkSync(join(elsewhere, 'epics/1.md'), join(folder, 'epics.md'));
    symlinkSync(join(elsewhere, 'epics'), join(folder, 'epics'));
    expect(await filesIn(folder)).toEqual(['task-1.md']);
  });
});

describe('incident folder-text: the text of a folder from a client, or in a file', () => {
  it.each(['../secret.md', '/etc/x.md', 'a/../../x.md', 'a//b.md', './a.md', '.git/x.md', '', 'a\nb.md', 'a\u202e.md'])(
    'may not have the file %j',
    (name) => {
      const text = folderOf({ [name]: backlogTask(1) });
      expect(() => parsePrd(text, folder)).toThrow('cannot be the name of a file in it');
    },
  );

  it.each([
    '{"halo-folder": [{"name": "a.md"}]}',
    '{"halo-folder": [null]}',
    '{"halo-folder": {}}',
    '{"halo-folder": [',
    '{"halo-folder": [{"name": "a.md", "text": "a"}, {"name": "a.md", "text": "b"}]}',
  ])('is refused in one sentence if it is broken: %s', (text) => {
    expect(() => parsePrd(toBytes(text), folder)).toThrow(expect.objectContaining({ code: 'PRD_INVALID' }));
  });

  it('is not read from a file, into which no mark could be written', async () => {
    const file = join(home, 'prd.json');
    writeFileSync(file, folderOf({ 'task-1.md': backlogTask(1) }));
    await expect(readPrdSource(file)).rejects.toThrow('The file has the text of a folder');
  });

  it('belongs to a run only if it is what the folder of the submitted repository has', async () => {
    const remote = { root: repository, remote: true };
    const own = await readPrdSource(folder);
    expect(await resolvePrdOwnership(own, remote)).toMatchObject({ isHere: true, mayMark: true });
    const others = [
      { ...own, bytes: folderOf({ 'task-1.md': backlogTask(2) }) },
      await readPrdSource(elsewhere),
      { path: join(folder, 'task-1.md'), bytes: own.bytes },
    ];
    for (const prd of others)
      expect(await resolvePrdOwnership(prd, remote)).toMatchObject({ isHere: false, mayMark: false });
    renameSync(folder, join(repository, 'real'));
    symlinkSync(elsewhere, folder);
    const linked = { path: folder, bytes: (await readPrdSource(elsewhere)).bytes };
    expect(await resolvePrdOwnership(linked, remote)).toMatchObject({ isHere: false, mayMark: false });
  });
});

describe('incident folder-marks: a folder of tasks that changes while its stories are marked', () => {
  async function markAll(): Promise<string | undefined> {
    const store = openStore(join(home, 'home'), { transcribe });
    const base = created();
    const prd = parsePrd(folderOf({ 'task-1.md': backlogTask(1), 'task-2.md': backlogTask(2) }), folder);
    const origin = { haloVersion: '0', agent: { name: 'command' }, args: [], config: {} };
    const entry = { ...base, repo: { ...base.repo, source: repository }, prd, prdPath: folder };
    await store.createRun(entry, origin);
    for (const story of ['task-1', 'task-2']) await store.append(entry.runId, passed(story));
    const keeper = { home: join(home, 'home'), store, log: pino({ level: 'silent' }) };
    await markPrdProgress(keeper, { runId: entry.runId, config: { prd: { writeBack: true } } as Config });
    return (await store.readState(entry.runId)).unmarked?.reason;
  }
  const marked = (id: number) => backlogTask(id).replace('To Do', 'Done');

  it('is marked file by file', async () => {
    writeFileSync(join(folder, 'task-2 - b.md'), backlogTask(2));
    expect(await markAll()).toBeUndefined();
    expect(readFileSync(join(folder, 'task-1.md'), 'utf8')).toBe(marked(1));
    expect(readFileSync(join(folder, 'task-2 - b.md'), 'utf8')).toBe(marked(2));
  });

  it('is not marked through a link that has replaced a task, and the others are', async () => {
    symlinkSync(join(elsewhere, 'task-2.md'), join(folder, 'task-2.md'));
    expect(await markAll()).toContain('no longer contains them');
    expect(readFileSync(join(elsewhere, 'task-2.md'), 'utf8')).toBe(backlogTask(2));
    expect(readFileSync(join(folder, 'task-1.md'), 'utf8')).toBe(marked(1));
  });

  it('is not marked through a link out of the repository that has replaced the folder', async () => {
    rmSync(folder, { recursive: true });
    symlinkSync(elsewhere, folder);
    expect(await markAll()).toContain('a link that leads out of the repository');
    expect(readFileSync(join(elsewhere, 'task-2.md'), 'utf8')).toBe(backlogTask(2));
  });

  it('is marked as a file, if a file has replaced it', async () => {
    rmSync(folder, { recursive: true });
    const text = JSON.stringify({
      tasks: ['task-1', 'task-2', 'task-3'].map((id) => ({ id, title: id, done: false })),
    });
    writeFileSync(folder, text);
    expect(await markAll()).toBeUndefined();
    expect(readFileSync(folder, 'utf8')).toBe(text.replace('false', 'true').replace('false', 'true'));
  });
});

describe('incident added-task: a story that adds a task to the folder of its PRD', () => {
  it('needs approval: the folder is guarded as a whole; at the top of a repository, and of BMAD, its files are', async () => {
    const root = join(home, 'other');
    const commit = makeRepo(root, { 'tasks/a.md': backlogTask(1), 'b.md': backlogTask(2), 'README.md': '# A\n' });
    const { config } = resolveConfig({ cwd: root });
    const at = { root, gitDir: join(root, '.git'), commit, config, remote: false };
    const guarded = async (path: string, away = false) =>
      (await findGuarded({ ...at, prd: { ...(await readPrdSource(path)), ...(away && { path: '-' }) } })).map(
        (each) => each.path,
      );
    expect(await guarded(join(root, 'tasks'))).toEqual(['tasks']);
    expect(await guarded(root)).toEqual(['b.md']);
    mkdirSync(join(root, 'docs'));
    writeFileSync(join(root, 'docs/sprint-status.yaml'), 'development_status:\n  1-1-a: backlog\n');
    writeFileSync(join(root, 'docs/epics.md'), '### Story 1.1: A\n\n**Acceptance Criteria:**\n\n- a\n');
    expect(await guarded(join(root, 'docs'))).toEqual(['docs/epics.md', 'docs/sprint-status.yaml']);
    expect(await guarded(join(root, 'tasks'), true)).toEqual(['tasks/a.md']);
  });
});
