import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { pino } from 'pino';
import type { RunState } from '../../../src/core/run/state.ts';
import { transcribe } from '../../../src/core/transcript/transcript.ts';
import { updateMirror } from '../../../src/git/mirror/mirror.ts';
import { openStore } from '../../../src/store/store.ts';
import { markPrdProgress } from '../../../src/worker/run/mark-prd-progress.ts';
import { readRun } from '../../../src/worker/run/read-run.ts';
import { openHalo, OK, scripted, type TestHalo } from '../../support/halo/halo.ts';
import { openScriptedHome, type ScriptedHome } from '../../support/halo/scripted-home.ts';
import type { TestRepository } from '../../support/repository/repository.ts';
import { newRepository } from '../../support/repository/new-repository.ts';

let halo: TestHalo;
/** A HALO_HOME without a worker, in which runs have ended that nothing executed. */
let past: ScriptedHome;

beforeAll(async () => {
  halo = await openHalo();
  past = openScriptedHome();
});
afterAll(async () => {
  await past.remove();
  await halo.close();
});

const story = (id: string) => ({ id, title: `Story ${id}`, acceptanceCriteria: ['It works'], passes: false });

function repositoryWithPrd(ids: string[], others: Record<string, string> = {}, operations = halo.operations) {
  const prd = JSON.stringify({ project: 'Shop', userStories: ids.map(story) }, undefined, 2);
  const repository = newRepository({ 'prd.json': prd, ...others });
  const path = join(repository.root, 'prd.json');
  const submit = async (
    agent: string,
    options: { fromHead?: boolean; settings?: string[]; path?: string; stories?: string[] } = {},
  ) => {
    const file = options.path ?? path;
    const [submitted] = (
      await operations.submit({
        prd: { path: file, bytes: new Uint8Array(readFileSync(file)) },
        repos: [repository.root],
        set: scripted(agent, ['true'], options.settings),
        profile: undefined,
        allowDirty: false,
        fromHead: options.fromHead,
        stories: options.stories,
      })
    ).runs;
    if (submitted === undefined) throw new Error('no run was made');
    return submitted;
  };
  const run = async (...how: Parameters<typeof submit>): Promise<RunState> =>
    halo.untilEnd((await submit(...how)).runId);
  const files = (branch: string) => repository.git('ls-tree', '--name-only', branch).split('\n');
  return { repository, path, submit, run, files };
}

/** The same with runs that have ended, as their journals, branches and marks say; no agent works. */
function repositoryWithPast(ids: string[]) {
  const { repository, submit, path } = repositoryWithPrd(ids, {}, past.operations);
  const store = openStore(past.host.home, { transcribe });
  const keeper = { home: past.host.home, store, log: pino({ level: 'silent' }) };

  /** A run that has landed the first `landed` of its stories, and ended. */
  const ended = async (landed: number, options: Parameters<typeof submit>[1] = {}): Promise<RunState> => {
    const { runId } = await submit('true', options);
    const { repo, stories } = (await past.operations.getRun({ runId })).state;
    const gitDir = join(repository.root, '.git');
    await past.append(runId, { type: 'run.started' });
    let tip = repo.base;
    for (const { id, key } of stories.filter(({ progress }) => progress === 'pending').slice(0, landed)) {
      const message = `${id}: Story ${id}\n\nHalo-Run: ${runId}\nHalo-Story-Key: ${key}`;
      tip = commitOn(repository, { base: tip, file: `${key}-${runId}.txt`, message });
      const of = { story: id, attempt: 1 };
      const usage = { requests: 0, inputTokens: 0, cachedTokens: 0, outputTokens: 0 };
      const outcome = { verdict: 'passed', stopReason: 'SUCCESS', summary: 'Did it.', usage, commit: tip } as const;
      await past.append(
        runId,
        { type: 'story.started', ...of, epoch: 1, base: repo.base },
        { type: 'story.ended', ...of, ...outcome },
      );
    }
    repository.git('update-ref', `refs/heads/halo/${runId}`, tip);
    await updateMirror({ home: past.host.home, name: repo.mirror, from: gitDir, commit: tip });
    await past.append(runId, { type: 'run.ended', stopReason: 'SUCCESS', detail: 'It ended.' });
    await markPrdProgress(keeper, await readRun(keeper, runId));
    return (await past.operations.getRun({ runId })).state;
  };
  /** Only what was submitted: the run is cancelled before it begins. */
  const plan = async (options: Parameters<typeof submit>[1] = {}) => {
    const { runId, warnings } = await submit('true', options);
    await past.operations.cancel({ runId });
    const { state } = await past.operations.getRun({ runId });
    return { warnings, base: state.repo.base };
  };
  return { repository, path, ended, plan, submit: (options = {}) => submit('true', options) };
}

/** A commit that adds a file to another one, without touching the checkout. */
function commitOn(
  repository: TestRepository,
  { base, file, message }: { base: string; file: string; message: string },
): string {
  const { root } = repository;
  const git = (...words: string[]) => repository.git(...words);
  const blob = git('hash-object', '-w', join(root, 'README.md'));
  const tree = `${git('ls-tree', base)}\n100644 blob ${blob}\t${file}\n`;
  const made = execFileSync('git', ['-C', root, 'mktree'], { input: tree, encoding: 'utf8' }).trim();
  return git('-c', 'user.name=halo', '-c', 'user.email=halo@localhost', 'commit-tree', made, '-p', base, '-m', message);
}

/** Writes a file for each story, and gives up on the stories that are named. */
const work = (failing = 'none') =>
  `p=$(cat); id=$(printf %s "$p" | grep -o 'Story S-[0-9]' | head -n 1 | cut -c7-); case "$id" in ${failing}) exit 1;; esac; echo "$id" > "$id.txt"; ${OK}`;

describe('a run of selected stories', () => {
  it('lands only them, marks only them, and leaves the others to a later run', async () => {
    const { path, run, files } = repositoryWithPrd(['S-1', 'S-2']);
    const first = await run(work(), { stories: ['S-2'] });
    expect(first).toMatchObject({ stopReason: 'SUCCESS', detail: '1 of 1 stories passed', selected: ['S-2'] });
    expect(files(`halo/${first.runId}`)).toContain('S-2.txt');
    expect(files(`halo/${first.runId}`)).not.toContain('S-1.txt');
    const marked = JSON.parse(readFileSync(path, 'utf8')) as { userStories: { passes: boolean }[] };
    expect(marked.userStories.map(({ passes }) => passes)).toEqual([false, true]);
    const second = await run(work());
    expect(second.stories.map(({ progress }) => progress)).toEqual(['passed', 'done']);
  });
});

describe('a second run of a PRD', () => {
  it('contains every story that the PRD marks as done after a failure, reports it, and can be landed', async () => {
    const { repository, submit, run, files } = repositoryWithPrd(['S-1', 'S-2', 'S-3']);
    const first = await run(work('S-2'), { settings: ['retry.attempts=1'] });
    expect(first.stories.map(({ progress }) => progress)).toEqual(['passed', 'failed', 'pending']);
    const submitted = await submit(work());
    expect(submitted.warnings.join()).toContain(
      `S-1 is done in ${repository.root}/prd.json, but only on halo/${first.runId}`,
    );
    const second = await halo.untilEnd(submitted.runId);
    expect(second).toMatchObject({ stopReason: 'SUCCESS', repo: { base: first.tip } });
    expect(files(`halo/${second.runId}`)).toEqual(expect.arrayContaining(['S-1.txt', 'S-2.txt', 'S-3.txt']));
    await halo.operations.land({ runId: second.runId });
    expect(files('main')).toEqual(expect.arrayContaining(['S-1.txt', 'S-2.txt', 'S-3.txt']));
    // The first run has landed with it.
    const landed = { branch: 'main', to: second.tip };
    for (const { runId } of [first, second])
      expect((await halo.operations.getRun({ runId })).state).toMatchObject({ landed });
  });

  it('a second run after an unlanded success is refused if nothing is left, until the first one is landed', async () => {
    const { submit, ended, plan, repository, path } = repositoryWithPast(['S-1']);
    const first = await ended(1);
    await expect(submit()).rejects.toMatchObject({
      code: 'UNLANDED',
      hint: `Run \`halo land ${first.runId}\`, or merge halo/${first.runId} if your branch has moved.`,
    });
    // It would report as done what the commit does not have.
    await expect(submit({ fromHead: true })).rejects.toMatchObject({
      code: 'UNLANDED',
      hint: expect.stringMatching(/^To do them again, remove their marks from /) as string,
    });
    await past.operations.land({ runId: first.runId });
    expect((await plan()).base).toBe(first.tip);
    const prd = JSON.parse(readFileSync(path, 'utf8')) as { userStories: object[] };
    writeFileSync(path, JSON.stringify({ ...prd, userStories: [...prd.userStories, story('S-2')] }));
    expect((await plan()).base).toBe(repository.git('rev-parse', 'main'));
  });

  it('is refused if the branches diverged, but not after a squash merge or with --from-head', async () => {
    const { repository, submit, ended, plan } = repositoryWithPast(['S-1', 'S-2']);
    const first = await ended(1);
    repository.write('other.txt', 'other');
    repository.commit('moves on');
    await expect(submit()).rejects.toMatchObject({
      code: 'UNLANDED',
      message: expect.stringContaining('which cannot be continued from this commit') as string,
      hint: expect.stringMatching(/^Merge it \(`git merge halo\/.*--resume .*--from-head/) as string,
    });
    const fresh = await plan({ fromHead: true });
    expect(fresh.base).toBe(repository.git('rev-parse', 'main'));
    repository.git('merge', '--quiet', '--squash', `halo/${first.runId}`);
    repository.git('commit', '--quiet', '-m', 'squashed');
    expect((await plan()).warnings).toEqual([]);
  });

  it('is not refused for the branch of an abandoned run if another run has landed its stories', async () => {
    const { repository, ended, plan } = repositoryWithPast(['S-1', 'S-2']);
    const abandoned = await ended(1);
    repository.git('checkout', '--quiet', 'prd.json');
    const second = await ended(1);
    await past.operations.land({ runId: second.runId });
    expect(await plan()).toEqual({ warnings: [], base: second.tip });
    expect(repository.git('branch', '--list', `halo/${abandoned.runId}`)).not.toBe('');
  });

  it.each([
    ['a run of another home', 'S-1: Story S-1', true],
    ['a run of another home, of a story with the same id', 'S-1: Another', false],
  ])('counts what %s has landed only if it is the story', async (_what, subject, isLanded) => {
    const { repository, ended, submit, plan } = repositoryWithPast(['S-1', 'S-2']);
    const abandoned = await ended(1);
    const { key } = abandoned.stories[0]!;
    repository.write('theirs.txt', 'theirs\n');
    repository.commit(`${subject}\n\nHalo-Run: 20260101000000-abcdefgh\nHalo-Story-Key: ${key}`);
    if (isLanded) expect((await plan()).warnings).toEqual([]);
    else await expect(submit()).rejects.toMatchObject({ code: 'UNLANDED' });
  });

  it('starts again from the work of a run that repeated a story which had landed before', async () => {
    const { repository, ended, plan } = repositoryWithPast(['S-1', 'S-2']);
    const first = await ended(1);
    await past.operations.land({ runId: first.runId });
    repository.git('checkout', '--quiet', 'prd.json');
    const again = await ended(1);
    expect((await plan()).base).toBe(again.tip);
  });

  it('starts from the landed result if the PRD was converted into another file, and is refused if it was moved', async () => {
    const { repository, ended, plan, path, submit } = repositoryWithPast(['S-1', 'S-2']);
    const first = await ended(1);
    const marked = JSON.parse(readFileSync(path, 'utf8')) as { userStories: object[] };
    repository.write('tasks.json', JSON.stringify({ tasks: marked.userStories }));
    const tasks = join(repository.root, 'tasks.json');
    const converted = await plan({ path: tasks });
    expect(converted.warnings.join('\n')).toContain(`S-1 is done in ${tasks}, but only on halo/${first.runId}`);
    expect(converted.base).toBe(first.tip);
    repository.git('mv', 'prd.json', 'plan.json');
    repository.commit('moves the PRD');
    await expect(submit({ path: join(repository.root, 'plan.json') })).rejects.toMatchObject({
      code: 'UNLANDED',
    });
  });

  it('a run of another PRD with the same ids does not start from what the first one landed', async () => {
    const { repository, ended, plan } = repositoryWithPast(['S-1', 'S-2']);
    await ended(1);
    const userStories = [{ ...story('S-1'), title: 'Another', passes: true }, story('S-3')];
    repository.write('other.json', JSON.stringify({ userStories }));
    const other = await plan({ path: join(repository.root, 'other.json') });
    expect(other.warnings.join('\n')).not.toContain('only on');
  });

  it('finds the passed stories without ids after they were reordered', async () => {
    const { repository, ended, plan } = repositoryWithPast(['S-1']);
    const path = join(repository.root, 'list.json');
    const item = (id: string) => ({ description: `Story ${id}`, steps: ['It works'], passes: false });
    repository.write('list.json', JSON.stringify([item('S-1'), item('S-2')]));
    const first = await ended(1, { path });
    const [done, open] = JSON.parse(readFileSync(path, 'utf8')) as object[];
    repository.write('list.json', JSON.stringify([item('S-3'), done, open]));
    expect((await plan({ path })).base).toBe(first.tip);
  });

  it('reports which passed story is missing if the PRD no longer contains it unchanged', async () => {
    const { repository, ended, plan } = repositoryWithPast(['S-1']);
    const path = join(repository.root, 'tasks.md');
    repository.write('tasks.md', '- [ ] Story S-1\n- [ ] Story S-2\n');
    const first = await ended(1, { path });
    repository.write('tasks.md', '- [x] The first story\n- [ ] Story S-2\n');
    const next = await plan({ path });
    expect(next.warnings.join('\n')).toContain(`story-s-1 is only on halo/${first.runId}, and ${path} no longer`);
  });

  it('is not built on a rejected result', async () => {
    const { submit, ended } = repositoryWithPast(['S-1', 'S-2']);
    const first = await ended(1, { settings: ['approval.mode=run'] });
    await past.operations.reject({ runId: first.runId, reason: 'not like this' });
    await expect(submit()).rejects.toMatchObject({
      code: 'UNLANDED',
      message: expect.stringContaining('which is not approved') as string,
    });
  });
});

it('a run of tests first is warned of stories whose only test file exists already', async () => {
  const { repository, plan } = repositoryWithPast(['S-1', 'S-2']);
  repository.write('tests/test_S-1.py', 'def test_a(): pass\n');
  repository.commit('tests of an earlier PRD');
  const tests = (files: string) => [
    'tests.first="on"',
    'tests.command="pytest {files}"',
    'tests.reports=["report.xml"]',
    `tests.files=${files}`,
  ];
  const { warnings } = await plan({ settings: tests('["tests/test_{id}.py"]') });
  expect(warnings.join('\n')).toContain('for the tests of S-1 (tests/test_S-1.py). Tests first');
  const more = await plan({ settings: tests('["tests/test_{id}.py", "tests/test_{id}_*.py"]') });
  expect(more.warnings.join('\n')).not.toContain('tests.files');
});

it('progress marks of halo in one PRD do not prevent another from running, nor do untracked files', async () => {
  const other = JSON.stringify({ userStories: [story('T-1')] });
  const { repository, run, submit } = repositoryWithPrd(['S-1'], { 'other.json': other, 'notes.md': '- [ ] Do it\n' });
  await run(work());
  expect(repository.git('status', '--porcelain')).toBe('M prd.json');
  repository.write('scratch.txt', 'untracked');
  const path = join(repository.root, 'other.json');
  const submitted = await submit(work(), { path });
  expect(submitted.warnings).toEqual(['Untracked files are not part of the run: scratch.txt.']);
  expect((await halo.untilEnd(submitted.runId)).stopReason).toBe('SUCCESS');
  repository.write('notes.md', '- [x] Do it\n\nAnd this.\n');
  await expect(submit(work(), { path })).rejects.toMatchObject({
    code: 'DIRTY_WORKTREE',
    message: `${repository.root} has uncommitted changes: notes.md.`,
  });
});

describe('a PRD whose stories another repository has', () => {
  it('is submitted with a warning that names them, the run that marked them, and how to run them here', async () => {
    const { repository, path, submit, run } = repositoryWithPrd(['S-1', 'S-2', 'S-3']);
    const first = await run(OK, { settings: ['land.unchanged="trust"'], stories: ['S-1', 'S-2'] });
    expect(first.stopReason).toBe('SUCCESS');
    const other = newRepository();
    const request = { repos: [other.root], set: scripted(OK), profile: undefined, allowDirty: false };
    const submitTo = async (stories?: string[]) =>
      (await halo.operations.submit({ ...request, stories, prd: { path, bytes: new Uint8Array(readFileSync(path)) } }))
        .runs[0]!;
    const source = repository.root;
    const { runId, warnings } = await submitTo();
    expect(warnings).toContain(
      `S-1, S-2 will not run: ${path} marks them as done since run ${first.runId}, in another repository (${source}). To run them here as well, submit a copy of the PRD without their marks.`,
    );
    expect((await halo.untilEnd(runId)).stories.map(({ progress }) => progress)).toEqual(['done', 'done', 'passed']);
    expect((await submitTo(['S-1'])).warnings.join('\n')).toContain('S-1 will not run');
    expect((await submit(OK)).warnings.join('\n'), 'in the first one').not.toContain('S-1');
  });
});
