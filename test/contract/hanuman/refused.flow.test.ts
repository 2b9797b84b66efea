import { writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import {
  directoryOf,
  expectRefused,
  openWorld,
  read,
  recordOf,
  settings,
  story,
  TWO,
  writePrd,
} from '../../support/contracts/hanuman.ts';
import { OK } from '../../support/halo/halo.ts';
import type { TestRepository } from '../../support/repository/repository.ts';

const world = openWorld();

describe('a run that is refused', () => {
  let repository: TestRepository;
  const AGENT = settings(`echo x > x; ${OK}`);

  beforeAll(() => void (repository = world.aRepository()));

  const run = ({ root }: TestRepository, words: string[]) => world.call(['run', ...words], root);

  it('outside of a git repository', async () => {
    const prd = writePrd(repository, TWO);
    const end = await world.call(['run', '--prd', prd, ...AGENT], dirname(repository.root));
    const dir = expectRefused(world.home, end, 6, 'NOT_A_GIT_REPO', 'not a git repository');
    expect(recordOf(dir)).toMatchObject({ repo: { path: dirname(repository.root), branch: null, headSha: null } });
    expect(recordOf(dir).progress).toMatchObject({ completed: [], next: 'S-1' });
  });

  it('a run is refused because of uncommitted changes, which are in the debug bundle', async () => {
    const dirty = world.aRepository();
    const prd = writePrd(dirty, TWO);
    dirty.write('README.md', 'Changed.\n');
    dirty.write('new.txt', 'New.\n');
    const dir = expectRefused(world.home, await run(dirty, ['--prd', prd, ...AGENT]), 6, 'DIRTY_WORKTREE', 'README.md');
    expect(read(dir, 'debug_bundle/git-status.txt')).toMatch(/README\.md\nnew\.txt/);
    expect(read(dir, 'debug_bundle/git-diff.patch')).toContain('+Changed.');
    expect(recordOf(dir)).toMatchObject({ config: { agent: 'command' }, agent: { name: 'command' } });
  });

  it.each([
    ['another schema version', TWO, { schemaVersion: '9' }, 'must be "0.1"'],
    ['more than ten stories', Array.from({ length: 11 }, (_, n) => story(`S-${n}`)), {}, 'the limit is 10'],
    ['a size but S and M', [story('S-1', { size: 'L' })], {}, 'must be "S" or "M"'],
    ['the same id twice', [story('S-1'), story('S-1')], {}, 'S-1'],
    ['a story without acceptance', [story('S-1', { acceptance: [] })], {}, 'at least one criterion'],
    ['a story without a title', [story('S-1', { title: undefined })], {}, 'title'],
  ])('a run is refused because the PRD has %s', async (_what, stories, more, says) => {
    const prd = writePrd(repository, stories, more);
    const dir = expectRefused(
      world.home,
      await run(repository, ['--prd', prd, ...AGENT]),
      6,
      'VALIDATION_FAILED',
      says,
    );
    expect(recordOf(dir).detail).toMatch(/prd\.json:\d+: /);
    expect(recordOf(dir).repo.headSha).toBe(repository.git('rev-parse', 'main'));
    expect(recordOf(dir).prd.hash).toMatch(/^[0-9a-f]{64}$/);
  });

  it('a run is refused because there is no PRD', async () => {
    const end = await run(repository, ['--prd', 'nowhere.json', ...AGENT]);
    const dir = expectRefused(world.home, end, 6, 'VALIDATION_FAILED', 'There is no file');
    expect(recordOf(dir).prd.path).toBe(join(repository.root, 'nowhere.json'));
  });

  it('a run is refused because of its settings, and records the path of the named PRD', async () => {
    const named = world.aRepository();
    const story = {
      id: 'A',
      title: 'A',
      description: 'A',
      acceptanceCriteria: ['It works.'],
      priority: 1,
      passes: false,
    };
    const prd = { project: 'Shop', description: 'A shop.', userStories: [story] };
    named.write('.halo/prds/cart/prd.json', JSON.stringify(prd));
    const end = await run(named, ['--prd', 'cart', ...AGENT, '-c', 'no.such=1']);
    const dir = expectRefused(world.home, end, 6, 'VALIDATION_FAILED', 'no.such');
    expect(recordOf(dir).prd.path).toBe(join(named.root, '.halo/prds/cart/prd.json'));
  });

  it('a run is refused because Docker is unavailable', async () => {
    const prd = writePrd(repository, TWO);
    const env = { DOCKER_HOST: 'unix:///no/such/docker.sock' };
    expectRefused(
      world.home,
      await world.run(repository, ['--prd', prd, ...AGENT], env),
      5,
      'MISSING_DEPENDENCY',
      'Docker',
    );
  });

  it('is resumed as a new run with its arguments, when what was wrong is repaired', async () => {
    const dirty = world.aRepository();
    const prd = writePrd(dirty, [story('S-1')]);
    dirty.write('README.md', 'Changed.\n');
    const refused = directoryOf(await run(dirty, ['--prd', prd, ...settings(`echo x > x; ${OK}`)]));
    dirty.git('checkout', '--', 'README.md');
    const end = await world.call(['run', '--resume', refused], dirty.root);
    expect(end).toMatchObject({ code: 0, stderr: expect.stringContaining('it is started as a new run') as string });
    const dir = directoryOf(end);
    expect(dir).not.toBe(refused);
    expect(recordOf(dir)).toMatchObject({ stopReason: 'SUCCESS', prd: { path: prd }, config: { gates: ['true'] } });
    expect(recordOf(refused)).toMatchObject({ stopReason: 'DIRTY_WORKTREE' });
  });

  it('cannot be resumed by the commands that control runs, and other commands show it', async () => {
    const prd = writePrd(repository, TWO);
    const end = await world.call(['run', '--prd', prd, ...AGENT], dirname(repository.root));
    const runId = basename(directoryOf(end));
    for (const words of [
      ['retry', runId],
      ['resume', runId, '--replan'],
    ])
      expect(await world.call(words, repository.root)).toMatchObject({
        code: 6,
        stderr: expect.stringContaining('before it started') as string,
      });
    expect((await world.call(['status', runId], repository.root)).stdout).toContain('failed: not a git repo');
    expect(await world.call(['diff', runId], repository.root)).toMatchObject({ code: 0, stdout: '' });
  });

  it('a run is refused because run.json has lost the settings of the run to resume', async () => {
    const prd = writePrd(repository, TWO);
    const submitted = await world.call(['submit', prd, ...AGENT], repository.root);
    const runId = submitted.stdout.trim();
    const dir = join(world.home.dir, 'runs', runId);
    writeFileSync(join(dir, 'run.json'), '{"config": ');
    const end = await run(repository, ['--prd', prd, '--resume', runId]);
    expectRefused(world.home, end, 1, 'INFRASTRUCTURE', 'is damaged');
    expect(read(dir, 'journal.jsonl').trimEnd().split('\n')).toHaveLength(1);
  });

  it('leaves no run directory in the form without --prd, or for wrong arguments', async () => {
    const prd = writePrd(repository, TWO);
    const runs = () => world.home.runIds();
    const before = runs();
    expect(await world.call(['run', prd, ...AGENT], dirname(repository.root))).toMatchObject({
      code: 6,
      stdout: '',
    });
    expect(await run(repository, [prd, '--prd', prd])).toMatchObject({ code: 2, stdout: '' });
    expect(await run(repository, [])).toMatchObject({ code: 6, stdout: '' });
    expect(await run(repository, ['--prd', ''])).toMatchObject({ code: 2, stdout: '' });
    expect(await run(repository, ['--prd', prd, '--resume', '/tmp/elsewhere'])).toMatchObject({
      code: 2,
      stdout: '',
    });
    expect(await run(repository, ['--prd', prd, '--resume', 'x', '-c', 'a=b'])).toMatchObject({
      code: 2,
      stdout: '',
    });
    expect(runs()).toEqual(before);
  });
});
