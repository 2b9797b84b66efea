import { execFileSync } from 'node:child_process';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { OK, prdOf, scripted } from '../../support/halo/halo.ts';
import { expectNoLeftovers, expectOneError } from '../../support/halo/refusal.ts';
import { openHome, type Ended, type HaloHome } from '../../support/halo/halo-process.ts';
import type { TestRepository } from '../../support/repository/repository.ts';
import { newRepository } from '../../support/repository/new-repository.ts';
import { callHalo } from '../../support/terminal/call-halo.ts';
import { QUOTED_AGENTS } from '../../support/agent-ids.ts';

let home: HaloHome;
let repository: TestRepository;

beforeEach(() => {
  home = openHome();
  repository = newRepository();
});
afterEach(async () => {
  await home.close();
});

const STORY = { id: 'S-1', title: 'One', size: 'S', acceptance: ['It works.'] };
const NO_BASELINE = ['tests.baseline="never"'];
const AGENT = settings(scripted(`echo x > x; ${OK}`, ['true'], NO_BASELINE));

function settings(pairs: string[]): string[] {
  return pairs.flatMap((pair) => ['-c', pair]);
}

/** A PRD beside the repository. */
function prd(
  content: string | object = JSON.parse(Buffer.from(prdOf([{ id: 'A' }]).bytes).toString()) as object,
): string {
  const path = join(repository.root, '..', 'prd.json');
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content));
  return path;
}

function hanuman(stories: object[]): string {
  return prd({ schemaVersion: '0.1', project: 'Test', stories });
}

function run(words: string[], env: Record<string, string | undefined> = {}, cwd = repository.root): Promise<Ended> {
  return callHalo(words, { cwd, env: { HALO_HOME: home.dir, ...env } });
}

/** A file system that refuses every new file. */
describe('a path below /proc', () => {
  it.each([
    ['halo import', ['import', 'spec.md', '--yes', '--out', '/proc/a/b.json']],
    ['halo plan', ['plan', 'a goal', '--yes', '--prd', '/proc/a/b.json']],
    ['halo plan --output', ['plan', 'a goal', '--output', '/proc/b.json']],
    ['halo new', ['new', '/proc/a']],
  ])('is refused by %s before an agent runs', async (_name, words) => {
    writeFileSync(join(repository.root, 'spec.md'), 'A spec.\n');
    const end = await run([...words, ...(words[0] === 'new' ? [] : AGENT)]);
    expect(end.stderr).toMatch(/\/proc\S* cannot be written.*ENOENT/);
    await expectNoLeftovers(home.dir);
  });

  it('is refused as HALO_HOME', async () => {
    const end = await run(['ls', '--json'], { HALO_HOME: '/proc/a/b' });
    expect([end.code, end.stdout]).toEqual([0, '[]\n']);
    const started = await run(['submit', prd(), ...AGENT], { HALO_HOME: '/proc/a/b' });
    expectOneError(started, 1, ['/proc/a/b', 'Set HALO_HOME']);
  });
});

describe('a PRD without an open story', () => {
  it.each([[['run']], [['plugin', 'run']], [['run', '--dry-run']]])(
    'ends halo %s with SUCCESS, without a model key',
    async (words) => {
      const file = prd({ project: 'Done', userStories: [{ id: 'A', title: 'A', passes: true }] });
      const end = await run([...words, file, '-c', 'gates=["true"]', '-c', 'agent=codex'], { OPENAI_API_KEY: '' });
      expect(end.code, end.stderr).toBe(0);
      expect(end.stdout).toContain('every story was done already');
    },
  );

  it('needs the key as soon as one story is open', async () => {
    const file = prd({ project: 'Open', userStories: [{ id: 'A', title: 'A', passes: false }] });
    const end = await run(['run', file, '-c', 'gates=["true"]', '-c', 'agent=codex'], { OPENAI_API_KEY: '' });
    expect(end.stderr).toContain('error[MODEL_KEY_MISSING]');
    const other = prd({ project: 'Open', userStories: [{ id: 'A', title: 'A', passes: false, agent: 'claude' }] });
    const keys = { OPENAI_API_KEY: 'sk-1', ANTHROPIC_API_KEY: '' };
    const refused = await run(['run', other, '-c', 'gates=["true"]', '-c', 'agent=codex'], keys);
    expect(refused.stderr).toContain('ANTHROPIC_API_KEY is not set (chosen by story A).');
  });
});

async function expectRefusal(end: Ended, code: number, ...says: string[]): Promise<void> {
  expectOneError(end, code, says);
  await expectNoLeftovers(home.dir);
  expect(repository.git('for-each-ref', '--format=%(refname)', 'refs/heads/halo', 'refs/halo')).toBe('');
}

describe('halo run refuses a repository', () => {
  it('halo run refuses a repository with a path that does not exist', async () => {
    const there = join(repository.root, 'nowhere');
    await expectRefusal(await run(['run', prd(), ...AGENT, '--repo', there]), 6, there, 'there is no such folder');
  });

  it('halo run refuses a repository without a git repository', async () => {
    const folder = join(repository.root, '..');
    await expectRefusal(await run(['run', prd(), ...AGENT], {}, folder), 6, folder, 'not a git repository', 'git init');
  });

  it('halo run refuses a repository without commits', async () => {
    const empty = join(repository.root, '..', 'empty');
    execFileSync('git', ['init', '-q', empty]);
    await expectRefusal(await run(['run', prd(), ...AGENT], {}, empty), 6, `${empty} has no commits`, 'first commit');
  });

  it('halo run refuses a repository with uncommitted changes, and lists them', async () => {
    repository.write('README.md', 'Changed.\n');
    repository.write('new.txt', 'new\n');
    const end = await run(['run', prd(), ...AGENT]);
    await expectRefusal(end, 6, 'uncommitted changes: README.md.', '--allow-dirty');
  });

  it('halo run refuses a repository at an unreachable address', async () => {
    const end = await run(['run', prd(), ...AGENT, '--repo', 'file:///no/such/repository']);
    await expectRefusal(end, 6, 'file:///no/such/repository');
  });

  it('halo submit refuses all repositories if one is invalid or named twice', async () => {
    const other = newRepository();
    const both = ['--repo', other.root, '--repo', join(repository.root, '..')];
    await expectRefusal(await run(['submit', prd(), ...AGENT, ...both]), 6, 'not a git repository');
    const twice = ['--repo', repository.root, '--repo', `${repository.root}/.`];
    await expectRefusal(await run(['submit', prd(), ...AGENT, ...twice]), 2, 'twice');
  });
});

describe('halo run refuses a PRD', () => {
  it('halo run refuses a PRD with a path that does not exist', async () => {
    await expectRefusal(await run(['run', 'nope.json', ...AGENT]), 6, join(repository.root, 'nope.json'));
  });

  it('halo run refuses a PRD at the path of a folder', async () => {
    await expectRefusal(await run(['run', '.git', ...AGENT]), 6, join(repository.root, '.git'), 'folder');
  });

  it('halo run refuses a PRD without valid JSON, with the position', async () => {
    const path = prd('{\n  "schemaVersion": "0.1",,\n}');
    await expectRefusal(await run(['run', path, ...AGENT]), 6, `${path}:2:26`);
  });

  it('halo run refuses a PRD with more than ten stories of the hanuman dialect', async () => {
    const path = hanuman(Array.from({ length: 11 }, (_, index) => ({ ...STORY, id: `S-${index}` })));
    await expectRefusal(await run(['run', path, ...AGENT]), 6, path, '11 stories', 'the limit is 10');
  });

  it('halo run refuses a PRD of more than 4 MiB', async () => {
    const path = hanuman([{ ...STORY, notes: 'x'.repeat(4 * 1024 * 1024) }]);
    await expectRefusal(await run(['run', path, ...AGENT]), 6, path, 'the limit is 4194304');
  });

  it('halo run refuses a PRD with an unknown size', async () => {
    const path = hanuman([{ ...STORY, size: 'XL' }]);
    await expectRefusal(await run(['run', path, ...AGENT]), 6, `${path}:1:`, 'must be "S" or "M", not "XL"');
  });

  it('halo run refuses a PRD with duplicate ids', async () => {
    const path = hanuman([STORY, STORY]);
    await expectRefusal(await run(['run', path, ...AGENT]), 6, `${path}:1:`, 'S-1');
  });

  it('halo run refuses a PRD of an unknown dialect', async () => {
    const path = prd({ hello: 1 });
    await expectRefusal(await run(['run', path, ...AGENT]), 6, path);
  });
});

describe('halo run refuses settings', () => {
  it('halo run refuses settings without gates', async () => {
    const end = await run(['run', prd(), '-c', 'agent=command', '-c', 'agents.command.run="true"']);
    await expectRefusal(end, 6, 'No gates are configured', repository.root, 'halo init');
  });

  it('halo run refuses settings with an unknown key in halo.toml, and names the nearest', async () => {
    repository.write('halo.toml', 'gats = ["true"]\n');
    await expectRefusal(await run(['run', prd(), ...AGENT]), 6, 'halo.toml:1', 'did you mean "gates"');
  });

  it('halo run refuses settings without valid TOML', async () => {
    repository.write('halo.toml', 'gates = [\n');
    await expectRefusal(await run(['run', prd(), ...AGENT]), 6, 'halo.toml:');
  });

  it('halo run refuses settings with an unknown key after -c', async () => {
    await expectRefusal(await run(['run', prd(), ...AGENT, '-c', 'limits.wal=1']), 6, 'did you mean "limits.wall"');
  });

  it('halo run refuses settings with an undefined profile', async () => {
    await expectRefusal(await run(['run', prd(), ...AGENT, '--profile', 'nope']), 6, '"nope"');
  });

  it('halo run refuses settings with an unknown agent', async () => {
    await expectRefusal(
      await run(['run', prd(), ...AGENT, '--agent', 'codx']),
      6,
      `-c: agent: must be one of ${QUOTED_AGENTS}; did you mean "codex"?`,
    );
  });
});

describe('halo run refuses a machine', () => {
  it('halo run refuses a machine without the image', async () => {
    const end = await run(['run', prd(), ...AGENT, '-c', 'image=halo-test-missing:1']);
    await expectRefusal(end, 5, 'halo-test-missing:1 is not on this machine', 'docker pull');
  });

  it.each(['unix:///no/such/docker.sock', 'tcp://127.0.0.1:1'])(
    'halo run refuses a machine without Docker at %s',
    async (DOCKER_HOST) => {
      await expectRefusal(
        await run(['run', prd(), ...AGENT], { DOCKER_HOST }),
        5,
        'Docker does not answer',
        'Start the Docker engine',
      );
    },
  );

  it('halo run refuses a machine without the configured Redis', async () => {
    const end = await run(['run', prd(), ...AGENT], { HALO_REDIS_URL: 'redis://:secret@127.0.0.1:1' });
    await expectRefusal(end, 5, 'redis://127.0.0.1:1', 'the connection was refused');
    expect(end.stderr).not.toContain('secret');
  });

  it('halo run refuses a machine with neither Redis nor a way to start one', async () => {
    const end = await run(['worker'], { PATH: pathWith('node', 'git'), DOCKER_HOST: 'unix:///no/such/docker.sock' });
    await expectRefusal(end, 5, 'redis-server', 'HALO_REDIS_URL');
  });

  it('halo run refuses a machine without git', async () => {
    // In its own process, because the one that starts git has the PATH of its beginning.
    const end = await home.halo(['run', prd(), ...AGENT], { cwd: repository.root, env: { PATH: pathWith('node') } });
    await expectRefusal(end, 5, 'no git on the PATH');
  });

  it('halo run refuses a machine without a key for the model', async () => {
    const end = await run(['run', prd(), '-c', 'gates=["true"]', '--agent', 'codex']);
    await expectRefusal(end, 5, 'OPENAI_API_KEY is not set', 'key_env');
  });

  it.each([
    [[], 'but review.agent names none, and ANTHROPIC_API_KEY, OPENAI_API_KEY, GEMINI_API_KEY are not set.'],
    [['-c', 'review.agent="claude"'], 'ANTHROPIC_API_KEY is not set (chosen by review.agent).'],
  ])('halo run refuses a machine without a key for the reviewer %j', async (settings, why) => {
    const end = await run(['run', prd(), ...AGENT, '-c', 'review.when="ask"', ...settings]);
    await expectRefusal(end, 5, why);
  });

  it('halo run refuses a machine without the cassettes to replay', async () => {
    const replay = ['-c', 'model.mode=replay', '-c', 'model.cassettes=/no/such/folder'];
    const end = await run(['run', prd(), '-c', 'gates=["true"]', '--agent', 'codex', ...replay]);
    await expectRefusal(end, 5, '/no/such/folder', 'live');
  });

  it('halo run refuses a HALO_HOME that is a file or cannot be created', async () => {
    repository.write('../home', '');
    for (const HALO_HOME of [join(repository.root, '..', 'home'), '/sys/halo-home'])
      for (const words of [['run', prd(), ...AGENT], ['submit', prd(), ...AGENT], ['worker']])
        await expectRefusal(await run(words, { HALO_HOME }), 1, HALO_HOME, 'Set HALO_HOME');
    await expectRefusal(await run(['ls'], { HALO_HOME: join(repository.root, '..', 'home') }), 1, 'HALO_HOME');
  });
});

describe('commands refuse', () => {
  it.each([['status'], ['logs'], ['diff'], ['land']])('a run that %s cannot find', async (command) => {
    await expectRefusal(await run([command, '0000zzzz']), 2, 'No run matches "0000zzzz"', 'halo ls');
  });

  it.each([
    [['rnu'], 'Did you mean run?'],
    [['run', '--jsn', 'prd.json'], 'Did you mean --json?'],
    [['run', 'a', 'b'], 'halo run --help'],
    [['config', 'sho'], 'Did you mean show? Run `halo config --help`'],
    [['worker', '--concurrency', '0'], 'from 1 to 999'],
  ])('the words %j', async (words, says) => {
    await expectRefusal(await run(words), 2, says);
  });
});

describe('halo land refuses', () => {
  it('a run without commits, a branch that diverged and a changed checkout, and moves nothing', async () => {
    expect(
      await run(['run', prd(), ...settings(scripted(`echo x > bad; ${OK}`, ['test ! -e bad'], NO_BASELINE))]),
    ).toMatchObject({
      code: 10,
    });
    expect(await run(['run', prd(), ...AGENT], {}, join(repository.root, '.git', '..'))).toMatchObject({ code: 0 });
    const [made, nothing] = home.runIds().reverse();
    const head = repository.git('rev-parse', 'HEAD');
    const refuse = async (runId: string | undefined, ...says: string[]) => {
      const end = await run(['land', runId ?? '']);
      expect(end).toMatchObject({ code: 6, stdout: '' });
      for (const text of says) expect(end.stderr).toContain(text);
    };
    await refuse(nothing, 'has passed: there is nothing to land', `halo logs ${nothing}`);
    repository.write('README.md', 'Changed.\n');
    await refuse(made, 'uncommitted changes: README.md', 'Stash them, then run `halo land`');
    repository.git('checkout', '-q', 'README.md');
    expect(repository.git('rev-parse', 'HEAD')).toBe(head);
    repository.write('b', 'b');
    repository.commit('on its own way');
    await refuse(made, 'The branch main has moved since: it has 1 commit', `git merge halo/${made}`);
  });
});

describe('halo run accepts', () => {
  it('an untracked PRD and halo.toml, a subfolder, a shallow clone and a path with non-ASCII letters', async () => {
    const odd = join(repository.root, '..', 'Mein Projekt – größer');
    execFileSync('git', ['clone', '-q', '--depth', '1', `file://${repository.root}`, odd]);
    const folder = join(odd, 'unter ordner');
    mkdirSync(folder);
    writeFileSync(join(folder, 'prd.json'), prdOf([{ id: 'A' }]).bytes);
    writeFileSync(join(odd, 'halo.toml'), 'gates = ["test -s über.txt"]\n');
    const agent = settings(scripted(`echo x > über.txt; ${OK}`).filter((pair) => !pair.startsWith('gates')));
    const end = await run(['run', 'prd.json', ...agent], {}, folder);
    expect(end).toMatchObject({ code: 0 });
    expect(end.stdout.trimEnd().split('\n').at(-1)).toMatch(new RegExp(`^${home.dir}/runs/\\w+$`));
  });
});

function pathWith(...programs: string[]): string {
  const folder = join(repository.root, '..', 'bin');
  mkdirSync(folder);
  for (const program of programs) {
    const path = program === 'node' ? process.execPath : execFileSync('which', [program], { encoding: 'utf8' }).trim();
    symlinkSync(path, join(folder, program));
  }
  return folder;
}
