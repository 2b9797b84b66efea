import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, stat, symlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { execa } from 'execa';
import { beforeAll, describe, expect, test } from 'vitest';
import { skipFor } from '../support/skip.ts';
import { belowFull, FULL, LEVEL } from '../support/suite/level.ts';
import { tempDir } from '../support/temp-dir.ts';
import { newRepository } from '../support/repository/new-repository.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
let dir: string;
let installed: string;

beforeAll(async () => {
  dir = tempDir('halo-pack');
  await execa('npm', ['pack', ROOT, '--pack-destination', dir], { cwd: ROOT });
  const [archive] = await readdir(dir);
  installed = join(dir, 'lib/node_modules/halo-runner');
  await install(join(dir, archive!));
});

/** As npm does it; below the full level with links to packages of the checkout, instead of those of the registry. */
async function install(archive: string): Promise<void> {
  if (LEVEL >= FULL) {
    const options = ['--global', '--no-audit', '--no-fund', '--prefer-offline', '--prefix', dir];
    await execa('npm', ['install', ...options, archive], { cwd: dir });
    return;
  }
  await mkdir(installed, { recursive: true });
  await execa('tar', ['-xzf', archive, '-C', installed, '--strip-components=1']);
  const { packages } = JSON.parse(await readFile(join(ROOT, 'package-lock.json'), 'utf8')) as PackageLock;
  for (const [path, { dev }] of Object.entries(packages)) {
    // The packages inside of others come with them, and optional ones may be for other machines.
    if (dev || path.lastIndexOf('node_modules/') !== 0 || !existsSync(join(ROOT, path))) continue;
    await mkdir(dirname(join(installed, path)), { recursive: true });
    await symlink(join(ROOT, path), join(installed, path));
  }
  await mkdir(join(dir, 'bin'));
  const { bin } = JSON.parse(await readFile(join(installed, 'package.json'), 'utf8')) as {
    bin: Record<string, string>;
  };
  for (const [name, path] of Object.entries(bin)) await symlink(join(installed, path), join(dir, 'bin', name));
}

interface PackageLock {
  packages: Record<string, { dev?: boolean }>;
}

/** Only what is installed may be of use: no variable of the test runner's, another working folder. */
const halo = (...args: string[]) => haloIn(dir, ...args);
const haloIn = (cwd: string, ...args: string[]) =>
  execa(join(dir, 'bin/halo'), args, {
    cwd,
    reject: false,
    extendEnv: false,
    env: { PATH: process.env['PATH'], HOME: dir },
  });

describe('the package, installed globally and without a checkout', () => {
  test('prints its version and help', async () => {
    const { version } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8')) as { version: string };
    const { stdout, exitCode } = await halo('--version');
    expect(exitCode).toBe(0);
    expect(stdout).toContain(version);
    const help = await halo('--help');
    expect(help).toMatchObject({ exitCode: 0, stderr: '' });
    expect(help.stdout).toContain('halo run prd.json');
  });

  test('runs a command that reads a configuration', async () => {
    const { exitCode, stdout, stderr } = await halo('config', 'show');
    expect(stderr).toBe('');
    expect(exitCode).toBe(0);
    expect(stdout).toContain('halo-sandbox');
  });

  test('accepts the image that this checkout has built as its own', async () => {
    const { stdout, exitCode } = await halo('image', 'build');
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(/^sha256:/);
  }, 600_000);

  test('finds this machine ready for sandboxes', skipFor(belowFull()), async () => {
    const { stdout } = await halo('doctor', '--json');
    const findings = JSON.parse(stdout) as { name: string; ok: string }[];
    for (const name of ['git', 'docker', 'image'])
      expect(findings.find((each) => each.name === name)).toMatchObject({ ok: 'ok' });
  });

  test('initialises a repository, and checks it', async () => {
    const repository = newRepository({
      'package.json': '{"scripts": {"test": "node --version"}}',
      '.gitignore': 'node_modules/\n',
    });
    const made = await haloIn(repository.root, 'init');
    expect(made).toMatchObject({ exitCode: 0 });
    expect(made.stdout).toContain('gate     npm test');
    expect(made.stderr).not.toContain('!');
    expect((await haloIn(repository.root, 'check')).stdout).toMatch(/\n1 gate passes$/);
  });

  test('contains the sources of images and services, but no sources or tests of halo', async () => {
    const names = await readdir(installed);
    expect(names).toEqual(
      expect.arrayContaining(['bin', 'dist', 'docker', 'docs', 'examples', 'compose.yaml', 'package.json']),
    );
    expect(names).not.toEqual(expect.arrayContaining(['src']));
    expect(names).not.toEqual(expect.arrayContaining(['test']));
    expect(await readdir(join(installed, 'docs'))).not.toContain('images');
    expect((await stat(join(installed, 'docker/sandbox/Dockerfile'))).isFile()).toBe(true);
    for (const notCompiled of [/^scheduler-\w{8}\.lua$/, /^launch-\w{8}\.mjs$/])
      expect(await readdir(join(installed, 'dist/chunks'))).toContainEqual(expect.stringMatching(notCompiled));
  });
});
