import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { openLocal, type LocalOperations } from '../../../src/api/local.ts';
import type { BatchRequest, SubmitRequest } from '../../../src/api/operations/schemas.ts';
import { readBatch } from '../../../src/api/submit/batch-file.ts';
import { OK, prdOf, scripted } from '../../support/halo/halo.ts';
import { openRedisServer, type RedisServer } from '../../support/redis/redis-server.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { hostOf } from '../../support/halo/host.ts';
import { newRepository } from '../../support/repository/new-repository.ts';

let redis: RedisServer;
let home: string;
let operations: LocalOperations;

beforeAll(async () => {
  redis = await openRedisServer();
});
afterAll(() => redis.close());
beforeEach(() => {
  home = tempDir('halo-home');
  operations = openLocal({ host: hostOf(home, redis.url) });
});
afterEach(async () => {
  await operations.close();
});

const OPTIONS = { profile: undefined, set: scripted(OK), allowDirty: false };

function request(more: Partial<SubmitRequest> = {}): SubmitRequest {
  return { ...OPTIONS, prd: prdOf([{ id: 'A' }]), repos: [newRepository().root], ...more };
}

function batch(members: [name: string, deps: string[]][], more: Partial<BatchRequest> = {}): BatchRequest {
  const prd = prdOf([{ id: 'A' }]);
  return {
    ...OPTIONS,
    members: members.map(([name, deps]) => ({ name, deps, prd, repo: newRepository().root })),
    ...more,
  };
}

function runFolders(): string[] {
  try {
    return readdirSync(join(home, 'runs'));
  } catch {
    return [];
  }
}

test('a repository with a branch named halo is refused before a run is created', async () => {
  const repository = newRepository();
  repository.git('branch', 'halo');
  const message = expect.stringContaining('has a branch named halo') as string;
  const submitting = operations.submit(request({ repos: [repository.root] })).then(({ runs }) => runs);
  await expect(submitting).rejects.toMatchObject({ code: 'LAND_REFUSED', message });
  expect(runFolders()).toEqual([]);
});

test('a run that asks for a label is created only if an engine has it', async () => {
  const set = [...OPTIONS.set, 'engine.labels=["gpu"]'];
  await expect(operations.submit(request({ set }))).rejects.toMatchObject({
    code: 'CONFIG_INVALID',
    message: expect.stringContaining('asks for an engine with the label "gpu", and none is configured') as string,
  });
  expect(runFolders()).toEqual([]);
  writeFileSync(join(home, 'config.toml'), '[[engines]]\nname = "a"\naddress = "unix:///a"\nlabels = ["gpu"]\n');
  const [run] = (await operations.submit(request({ set }))).runs;
  const runId = run?.runId ?? '';
  expect(await operations.getRun({ runId })).toMatchObject({
    state: { engineLabels: ['gpu'] },
    engines: ['a'],
    workers: 0,
  });
  // A process that would execute it has only the engine of the environment.
  expect(await operations.claim(runId)).toEqual({});
});

test('what sandboxes cannot access is reported before the run is created', async () => {
  const repository = newRepository({
    'assets/.gitattributes': '*.bin filter=lfs diff=lfs merge=lfs -text\n',
    'assets/a.bin': `version https://git-lfs.github.com/spec/v1\noid sha256:${'0'.repeat(64)}\nsize 3\n`,
    'README.md': 'About version https://git-lfs.github.com/spec/v1 of pointers.\n',
  });
  mkdirSync(join(repository.root, 'vendor/lib'), { recursive: true });
  repository.git('update-index', '--add', '--cacheinfo', `160000,${'1'.repeat(40)},vendor/lib`);
  repository.git('-c', 'user.name=T', '-c', 'user.email=t@example.com', 'commit', '-qm', 'submodule');
  const set = [...OPTIONS.set, 'setup=["npm ci"]'];
  const [submitted] = (await operations.submit(request({ repos: [repository.root], set }))).runs;
  expect(submitted?.warnings).toEqual([
    'Setup downloads packages (npm), but nothing is reachable from setup; allow it with [network] registries = ["npm"].',
    expect.stringContaining('Submodules are not fetched (vendor/lib)') as string,
    expect.stringContaining('Files in Git LFS are not fetched (assets/a.bin)') as string,
  ]);
});

test('a run records who submitted it, its priority and its dependencies', async () => {
  const [first] = (await operations.submit(request())).runs;
  const after = [first!.runId.slice(0, 12)];
  const [second] = (await operations.submit(request({ priority: -10, user: 'ann', after }))).runs;
  expect((await operations.getRun({ runId: first!.runId })).state).toMatchObject({ priority: 0, needs: [] });
  const { state, record } = await operations.getRun({ runId: second!.runId });
  expect(state).toMatchObject({ user: 'ann', priority: -10, needs: [{ run: first!.runId, now: 'open' }] });
  expect(record).toMatchObject({ user: 'ann', priority: -10, after: [first!.runId] });
});

test('an unknown dependency is refused, and no run is created', async () => {
  await expect(operations.submit(request({ after: ['zzzzzzzz'] })).then(({ runs }) => runs)).rejects.toMatchObject({
    code: 'RUN_NOT_FOUND',
  });
  expect(runFolders()).toEqual([]);
});

test('a run can build on only one run of its repository', async () => {
  const { root } = newRepository();
  const ids: string[] = [];
  for (const id of ['A', 'B'])
    ids.push((await operations.submit(request({ repos: [root], prd: prdOf([{ id }]) }))).runs[0]!.runId);
  await expect(
    operations.submit(request({ repos: [root], after: ids })).then(({ runs }) => runs),
  ).rejects.toMatchObject({ code: 'USAGE' });
  expect((await operations.submit(request({ after: ids }))).runs).toHaveLength(1);
});

test('hazard 25: twenty concurrent submits with one key create one run, and all return its id', async () => {
  const same = request({ key: 'release 1' });
  const answers = await Promise.all(Array.from({ length: 20 }, () => operations.submit(same).then(({ runs }) => runs)));
  expect(new Set(answers.map(([run]) => run!.runId)).size).toBe(1);
  expect((await operations.submit(same)).runs).toEqual(answers[0]);
  expect((await operations.listRuns()).runs).toHaveLength(1);
});

test('a key that was used for other runs is refused, and one whose submit failed can be used again', async () => {
  const good = request({ key: 'k' });
  await expect(operations.submit({ ...good, set: ['gates=1'] }).then(({ runs }) => runs)).rejects.toMatchObject({
    code: 'CONFIG_INVALID',
  });
  const [run] = (await operations.submit(good)).runs;
  await expect(
    operations.submit({ ...good, prd: prdOf([{ id: 'B' }]) }).then(({ runs }) => runs),
  ).rejects.toMatchObject({
    code: 'USAGE',
    hint: expect.stringContaining(run!.runId) as string,
  });
});

test('a batch creates its runs in order, each after its dependencies, and records the batch', async () => {
  const submitted = (
    await operations.submitBatch(
      batch([
        ['ui', ['api']],
        ['api', ['core']],
        ['core', []],
      ]),
    )
  ).runs;
  const states = await Promise.all(submitted.map(async ({ runId }) => (await operations.getRun({ runId })).state));
  expect(states.map((state) => state.batch)).toEqual(
    ['core', 'api', 'ui'].map((name, place) => ({ id: submitted[0]!.batch, name, place })),
  );
  const [core, api, ui] = states;
  expect(core!.needs).toEqual([]);
  expect(api!.needs).toEqual([{ run: core!.runId, now: 'open' }]);
  expect(ui!.needs).toEqual([{ run: api!.runId, now: 'open' }]);
});

test('no run of a batch is created if one repository is invalid or its order has a cycle', async () => {
  const dirty = batch([
    ['a', []],
    ['b', []],
  ]);
  writeFileSync(join(dirty.members[1]!.repo, 'README.md'), 'changed');
  await expect(operations.submitBatch(dirty).then(({ runs }) => runs)).rejects.toMatchObject({
    code: 'DIRTY_WORKTREE',
  });
  const round = batch([
    ['a', ['b']],
    ['b', ['a']],
  ]);
  await expect(operations.submitBatch(round).then(({ runs }) => runs)).rejects.toThrow('a → b → a');
  expect(runFolders()).toEqual([]);
});

test('a batch file is read in TOML, in JSON and as hank writes it, with the PRD of each repository', async () => {
  const prd = new TextDecoder().decode(prdOf([{ id: 'A' }]).bytes);
  const plan = '# Plan\n\n- [ ] [#42] Do it\n';
  const core = newRepository({ 'prd.json': prd });
  const api = newRepository({ '.hank/IMPLEMENTATION_PLAN.md': plan, 'prd.json': prd });
  mkdirSync(join(home, '.hank'));
  const file = (name: string, text: string) => {
    writeFileSync(join(home, name), text);
    return join(home, name);
  };
  const toml = `[[repositories]]\nname = "core"\npath = ${JSON.stringify(core.root)}\npriority = "high"\n
    [[repositories]]\nname = "api"\npath = ${JSON.stringify(api.root)}\nprd = "own.json"\ndeps = ["core"]\n`;
  const own = file('own.json', prd);
  expect(await readBatch(file('b.toml', toml))).toMatchObject([
    { name: 'core', repo: core.root, prd: { path: join(core.root, 'prd.json') }, deps: [], priority: -10 },
    { name: 'api', repo: api.root, prd: { path: own }, deps: ['core'] },
  ]);
  const repositories = [{ name: 'core', path: core.root, prd: 'own.json' }];
  expect(await readBatch(file('b.json', JSON.stringify({ repositories })))).toMatchObject([{ prd: { path: own } }]);
  const hanks = [
    { name: 'core', path: core.root, deps: [], priority: 1 },
    { name: 'api', path: api.root, deps: ['core'], priority: 2 },
  ];
  expect(await readBatch(file('.hank/.repos.json', JSON.stringify(hanks)))).toMatchObject([
    { name: 'core', prd: { path: join(core.root, 'prd.json') }, priority: 1 },
    { name: 'api', prd: { path: join(api.root, '.hank/IMPLEMENTATION_PLAN.md') }, deps: ['core'], priority: 2 },
  ]);
});

test.each([
  ['no TOML', '[[repositories', 'USAGE', 'neither TOML nor JSON'],
  ['an unknown key', '[[repositories]]\nname = "a"\npath = "."\nafter = []', 'USAGE', 'repositories.0'],
  ['no repository', 'prd = "x"', 'USAGE', 'repositories'],
  ['a priority that is none', '[[repositories]]\nname = "a"\npath = "."\npriority = 1.5', 'USAGE', 'priority'],
  [
    'a repository that is not there',
    '[[repositories]]\nname = "a"\npath = "gone"',
    'NOT_A_GIT_REPO',
    'is not a folder',
  ],
  [
    'a circle, whose PRDs are missing too',
    '[[repositories]]\nname = "a"\npath = "gone"\ndeps = ["a"]',
    'USAGE',
    'a → a',
  ],
  ['a repository without a PRD', '[[repositories]]\nname = "a"\npath = "."', 'PRD_UNREADABLE', 'has no PRD'],
  ['a PRD that is not there', 'prd = "x.md"\n[[repositories]]\nname = "a"\npath = "."', 'PRD_UNREADABLE', 'x.md'],
])('a batch file with %s is refused with the reason', async (_what, text, code, says) => {
  const file = join(home, 'batch.toml');
  writeFileSync(file, text);
  await expect(readBatch(file)).rejects.toMatchObject({
    code,
    message: expect.stringContaining(says) as string,
    hint: expect.stringMatching(/./) as string,
  });
});

test('a checkout in the middle of a merge is refused, unless explicitly accepted', async () => {
  const repository = newRepository();
  repository.git('checkout', '-q', '-b', 'side');
  repository.write('a.txt', 'a\n');
  repository.commit('on the side');
  repository.git('checkout', '-q', 'main');
  repository.git('merge', '-q', '--no-ff', '--no-commit', 'side');
  const asked = request({ repos: [repository.root] });
  await expect(operations.submit(asked).then(({ runs }) => runs)).rejects.toMatchObject({
    code: 'DIRTY_WORKTREE',
    message: `${repository.root} is in the middle of a merge.`,
  });
  expect((await operations.submit({ ...asked, allowDirty: true })).runs).toHaveLength(1);
});

test('a halo.toml without gates is named in the hint', async () => {
  const repository = newRepository({ 'halo.toml': 'agent = "codex"\n' });
  const refused = operations.submit(request({ repos: [repository.root], set: [] })).then(({ runs }) => runs);
  await expect(refused).rejects.toMatchObject({ code: 'NO_GATES' });
  await expect(refused).rejects.toHaveProperty('hint', expect.stringContaining(join(repository.root, 'halo.toml')));
});

test('a run of a repository with another open run has a warning, unless it builds on that run', async () => {
  const { root } = newRepository();
  const [first] = (await operations.submit(request({ repos: [root] }))).runs;
  expect(first?.warnings).toEqual([]);
  const [second] = (await operations.submit(request({ repos: [root], prd: prdOf([{ id: 'B' }]) }))).runs;
  expect(second?.warnings).toEqual([
    `Another run of this repository is not done yet: ${first!.runId} (queued). This one starts from main as it is now, so that only the first of them to land needs no merge; \`halo submit --after ${first!.runId}\` builds on that run instead.`,
  ]);
  const [third] = (
    await operations.submit(request({ repos: [root], prd: prdOf([{ id: 'C' }]), after: [second!.runId] }))
  ).runs;
  expect(third?.warnings).toEqual([]);
});

test('a run of stories that another open run works on has a warning that names them', async () => {
  const { root } = newRepository();
  const prd = prdOf([{ id: 'A' }, { id: 'B' }, { id: 'C', passes: true }]);
  const [first] = (await operations.submit(request({ repos: [root], prd }))).runs;
  const [second] = (await operations.submit(request({ repos: [root], prd }))).runs;
  expect(second?.warnings[1]).toBe(
    `Run ${first!.runId} already works on A, B: this run implements the same a second time.`,
  );
});
