import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openHome, type HaloHome } from '../../support/halo/halo-process.ts';
import type { TestRepository } from '../../support/repository/repository.ts';
import { callHalo } from '../../support/terminal/call-halo.ts';
import { newRepository } from '../../support/repository/new-repository.ts';

const TEST = `const test = require('node:test'); test('adds', () => require('node:assert').equal(1 + 1, 3));`;

let home: HaloHome;
let repository: TestRepository;

beforeAll(() => {
  home = openHome();
  repository = newRepository({
    '.gitignore': 'installed\n',
    'halo.toml': 'setup = ["echo some output; touch installed"]\ngates = ["test -f installed", "true"]\n',
    'adds.test.js': TEST,
  });
});
afterAll(async () => {
  await home.close();
});

const halo = (words: string[], { root }: TestRepository) =>
  callHalo(words, { cwd: root, env: { HALO_HOME: home.dir } });
const check = (...words: string[]) => halo(['check', ...words], repository);

describe('halo init', () => {
  it('checks the image for the guessed tools, and names the next step', async () => {
    const other = newRepository({ 'go.mod': 'module x\n', 'package.json': '{"scripts": {"test": "node --test"}}' });
    const { code, stdout, stderr } = await halo(['init'], other);
    expect(code).toBe(0);
    expect(stdout).toContain('gate     npm test (package.json)\ngate     go vet ./... (go.mod)\n');
    expect(stderr).toContain(
      '! go is not in the image halo-sandbox: build an image that has it (docs/setup.md, "Images"), and set `image` in <HALO_HOME>/config.toml or in the variable HALO_IMAGE.\n',
    );
    expect(stderr).toMatch(/\nnext {5}halo check {3} run setup and gates/);
  });

  it('checks the image for what a virtual environment of Python needs', async () => {
    const python = newRepository({ 'requirements.txt': 'pytest\n', '.gitignore': '.venv/\n' });
    const { stderr } = await halo(['init'], python);
    expect(stderr).toContain('! python3-venv is not in the image halo-sandbox: build an image that has it');
  });
});

describe('halo check', () => {
  it('takes less than a minute after halo init in a new repository', async () => {
    const fresh = newRepository({
      'package.json': '{"scripts": {"test": "node --test"}}',
      '.gitignore': 'node_modules/\n',
    });
    const started = performance.now();
    expect((await halo(['init'], fresh)).code).toBe(0);
    const { code, stderr } = await halo(['check'], fresh);
    expect({ code, stderr }).toMatchObject({ code: 0 });
    expect(performance.now() - started).toBeLessThan(60_000);
  });

  it('runs setup and gates on the commit as for a story, without key, PRD or run', async () => {
    repository.write('README.md', 'not committed\n');
    const { code, stdout } = await check('-c', 'gates=["test -f installed", "! grep not.committed README.md"]');
    expect(stdout).toContain('some output\n');
    expect(stdout).toMatch(/\nsetup \d+\.\ds · 2 gates pass\n$/);
    expect(code).toBe(0);
    expect(existsSync(join(home.dir, 'runs'))).toBe(false);
    expect(repository.git('branch', '--list', '--format=%(refname:short)')).toBe('main');
  });

  it('adds a name for the user of a sandbox to those of the image', async () => {
    const gates = [
      '[ "$(whoami)" = agent ]',
      'python3 -c "import getpass, pwd, os; pwd.getpwuid(os.getuid())"',
      'id -gn 65534',
    ];
    const { code, stdout } = await check('-c', `gates=${JSON.stringify(gates)}`, '-c', 'setup=[]');
    expect(stdout).toContain('nogroup\n');
    expect(stdout).toMatch(/\n3 gates pass\n$/);
    expect(code).toBe(0);
  });

  it('runs all gates, and reports why each of them fails', async () => {
    const gates = '["node --test --test-reporter=tap", "no-such-program", "true"]';
    const { code, stdout } = await check('-c', `gates=${gates}`, '--json');
    expect(code).toBe(10);
    const { ok, commands } = JSON.parse(stdout) as { ok: boolean; commands: unknown[] };
    expect(ok).toBe(false);
    expect(commands).toMatchObject([
      { kind: 'setup' },
      { fault: { says: expect.stringContaining('1 test failed: adds') as string }, failed: { count: 1 } },
      { fault: { says: expect.stringContaining('`no-such-program` was not found: neither the image') as string } },
      { kind: 'gate', command: 'true' },
    ]);
  });

  it('reports in its last line that a registry is unreachable', async () => {
    const other = newRepository({ 'package.json': '{"dependencies": {"is-number": "7.0.0"}}' });
    const settings = ['setup=["npm install"]', 'gates=["true"]', 'network.registries=["npm"]'];
    const away = 'network.upstreams.npm="http://127.0.0.1:1/"';
    const words = [...settings, away].flatMap((each) => ['-c', each]);
    const { code, stdout } = await halo(['check', ...words], other);
    expect(stdout.trimEnd().split('\n').at(-1)).toBe(
      'setup failed: the registry npm could not be reached: the connection was refused (ECONNREFUSED); setup exited 1: `npm install`; no gate ran',
    );
    expect(code).toBe(10);
  });

  it('is stopped by Ctrl-C', async () => {
    const checking = home.start(['check', '-c', 'gates=["echo waiting; sleep 100"]'], { cwd: repository.root });
    await checking.says('waiting\n');
    checking.process.kill('SIGINT');
    const { code, stderr } = await checking.ended;
    expect(stderr).toContain('error[RUN_ABORTED]: The check was stopped.');
    expect(code).toBe(130);
  });
});
