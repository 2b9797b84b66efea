import { mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { execa } from 'execa';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
let dir: string;
let installed: string;

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'halo-pack-'));
  await execa('npm', ['pack', ROOT, '--pack-destination', dir], { cwd: ROOT });
  const [archive] = await readdir(dir);
  await execa('npm', ['install', '--prefix', dir, join(dir, archive!), '--omit=dev'], { cwd: dir });
  installed = join(dir, 'node_modules/halo-runner');
}, 300_000);

afterAll(() => rm(dir, { recursive: true, force: true }));

/** Only what is installed may be of use: no variable of the test runner's, another working folder. */
const halo = (...args: string[]) =>
  execa(join(dir, 'node_modules/.bin/halo'), args, {
    cwd: dir,
    reject: false,
    extendEnv: false,
    env: { PATH: process.env['PATH'], HOME: dir },
  });

describe('the package, installed outside of the checkout', () => {
  test('says its version and helps', async () => {
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

  test('finds the image that this checkout has built to be its own', async () => {
    const { stdout, exitCode } = await halo('image', 'build');
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(/^sha256:/);
  }, 600_000);

  test('brings what images and services are made of, and no sources or tests', async () => {
    const names = await readdir(installed);
    expect(names).toEqual(
      expect.arrayContaining(['bin', 'dist', 'docker', 'examples', 'compose.yaml', 'package.json']),
    );
    expect(names).not.toEqual(expect.arrayContaining(['src']));
    expect(names).not.toEqual(expect.arrayContaining(['test']));
    expect((await stat(join(installed, 'docker/sandbox/Dockerfile'))).isFile()).toBe(true);
  });
});
