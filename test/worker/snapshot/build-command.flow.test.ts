import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openHome, type HaloHome } from '../../support/halo/halo-process.ts';
import { OK, prdOf, scripted } from '../../support/halo/halo.ts';
import { readJournal } from '../../support/halo/read-journal.ts';
import { skipFor } from '../../support/skip.ts';
import { belowFull } from '../../support/suite/level.ts';
import { callHalo } from '../../support/terminal/call-halo.ts';
import { newRepository } from '../../support/repository/new-repository.ts';

let home: HaloHome;
beforeAll(() => {
  home = openHome();
});
afterAll(() => home.close());

const SETUP = 'mkdir -p deps && cp deps.lock deps/version && echo installed';

function newProject(setup: string, more = ''): string {
  const inputs = '[snapshot]\ninputs = ["deps.lock"]\nrecheck = 0\n';
  const files = {
    'deps.lock': 'one\n',
    '.gitignore': 'deps/\n',
    'halo.toml': `setup = [${JSON.stringify(setup)}]\n${inputs}${more}`,
  };
  return newRepository(files).root;
}

/** A command in this process. */
const halo = (words: string[], cwd: string) => callHalo(words, { cwd, env: { HALO_HOME: home.dir } });
const build = (cwd: string, ...more: string[]) => halo(['snapshot', 'build', ...more], cwd);

describe('halo snapshot build', () => {
  it('makes the snapshot of the checked-out commit once, and the first story of a run begins with it', async () => {
    const cwd = newProject(SETUP);
    const first = await build(cwd);
    expect([first.code, first.stdout]).toEqual([0, expect.stringMatching(/^installed\nbuilt {4}[0-9a-f]{12}\n$/)]);
    const again = await build(cwd, '--json');
    const key = / ([0-9a-f]{12})\n/.exec(first.stdout)?.[1] ?? '?';
    expect(JSON.parse(again.stdout)).toMatchObject({ state: 'present', reason: null });
    expect(again.stdout).toContain(key);
    const prd = join(cwd, '../prd.json');
    writeFileSync(prd, prdOf([{ id: 'A' }]).bytes);
    const story = scripted(`cp deps/version x; ${OK}`, ['cat deps/version']).flatMap((setting) => ['-c', setting]);
    const ran = await home.halo(['run', prd, ...story], { cwd });
    expect(ran.code, ran.stdout + ran.stderr).toBe(0);
    const [runId = ''] = home.runIds();
    const types = readJournal(home.dir, runId).map(({ type }) => type);
    expect(types.filter((type) => type === 'snapshot.used')).toHaveLength(2);
    expect(types).not.toContain('setup.ended');
    const list = await halo(['snapshot', 'ls', '--json'], cwd);
    expect(JSON.parse(list.stdout)).toMatchObject([{ state: 'ready', onlyRun: null }]);
  });

  it('ends with 10 if the result cannot be a snapshot, says why, and says it again without setup', async () => {
    const cwd = newProject(`${SETUP} && echo more >> deps.lock`);
    for (const output of ['installed\n', '']) {
      const { code, stdout } = await build(cwd);
      expect([code, stdout]).toEqual([
        10,
        `${output}no snapshot  setup changes files that git does not ignore: deps.lock\n`,
      ]);
    }
  });

  it(
    'makes the snapshot of a commit that fixes what was refused, also if every file counts',
    skipFor(belowFull()),
    async () => {
      const setup = '[ -e README.md ] && sleep 3; mkdir -p deps && echo x > deps/x && echo x > made.lock';
      const files = {
        '.gitignore': 'deps/\n',
        'README.md': 'shop\n',
        'halo.toml': `setup = [${JSON.stringify(setup)}]\n`,
      };
      const repository = newRepository(files);
      const refused = await build(repository.root);
      expect([refused.code, refused.stdout]).toEqual([
        10,
        'no snapshot  setup changes files that git does not ignore: made.lock\n',
      ]);
      repository.write('.gitignore', 'deps/\nmade.lock\n');
      repository.commit('ignore made.lock');
      const fixed = await build(repository.root);
      expect([fixed.code, fixed.stdout]).toEqual([0, expect.stringMatching(/^built {4}[0-9a-f]{12}\n$/)]);
    },
  );

  it('is refused to setup that takes less than three seconds, for all commits, unless it names its inputs', async () => {
    const setup = 'mkdir -p deps && echo x > deps/x && echo installed';
    const repository = newRepository({ '.gitignore': 'deps/\n', 'halo.toml': `setup = [${JSON.stringify(setup)}]\n` });
    const short = expect.stringMatching(/no snapshot {2}setup takes only \d\.\d s, and .*\n$/) as string;
    const first = await build(repository.root);
    expect([first.code, first.stdout]).toEqual([10, short]);
    repository.write('more.txt', 'x');
    repository.commit('more');
    const next = await build(repository.root);
    expect([next.code, next.stdout]).toEqual([10, short]);
    expect(next.stdout).not.toContain('installed');
    const named = await build(repository.root, '-c', 'snapshot.inputs=["halo.toml"]');
    expect([named.code, named.stdout]).toEqual([0, expect.stringMatching(/^installed\nbuilt {4}[0-9a-f]{12}\n$/)]);
  });

  it('names the breaker that stops it, and the command that closes it', async () => {
    const cwd = newProject(`${SETUP} && date +%s%N > deps/now`);
    await build(cwd, '-c', `setup=["echo more >> deps.lock"]`);
    await build(cwd);
    const differs = 'setup no longer makes what it made at ';
    expect((await build(cwd, '-c', 'snapshot.recheck=1')).stdout).toContain(`no snapshot  ${differs}`);
    const { code, stdout } = await build(cwd);
    const [, reset = ''] = /^no snapshot {2}the breaker of its snapshots is open \(`halo ([^`]+)` closes it\): (.*)\n$/.exec(stdout) ?? []; // prettier-ignore
    expect([code, stdout]).toEqual([10, expect.stringContaining(`closes it): ${differs}`)]);
    expect((await halo(reset.split(' '), cwd)).code).toBe(0);
    expect((await build(cwd)).stdout).toMatch(/^installed\nbuilt {4}/);
  });

  it('leaves the snapshots of other repositories, however much free disk its own repository demands', async () => {
    const cwd = newProject(SETUP);
    const { stdout } = await build(cwd);
    const [, key = '?'] = /^built {4}([0-9a-f]{12})$/m.exec(stdout) ?? [];
    const greedy = newProject(SETUP, '[limits]\nfree_disk = "900000g"\n');
    const refused = await build(greedy);
    expect(refused.stdout + refused.stderr).toContain('is free on the disk of the container engine');
    expect((await build(cwd)).stdout).toBe(`present  ${key}\n`);
  });

  it('ends with 10 and the reason if setup fails', async () => {
    const { code, stdout } = await build(newProject('echo broken; exit 3'));
    expect([code, stdout]).toEqual([10, 'broken\nfailed  setup exited 3: `echo broken; exit 3`\n']);
  });

  it('is refused without a setup, with snapshots off, and outside of a repository', async () => {
    const cwd = newProject(SETUP);
    const refusals = [
      await build(cwd, '-c', 'setup=[]'),
      await build(cwd, '-c', 'snapshot.mode=off'),
      await build('/'),
    ];
    expect(refusals.map(({ code }) => code)).toEqual([6, 6, 6]);
    expect(refusals[0]?.stderr).toContain('has no setup, so there is nothing to keep');
    expect(refusals[1]?.stderr).toContain('Snapshots are off');
  });
});
