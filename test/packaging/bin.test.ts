import { cp, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { execa } from 'execa';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
let checkout: string;

beforeEach(async () => {
  checkout = await mkdtemp(join(tmpdir(), 'halo-checkout-'));
  for (const part of ['bin', 'scripts', 'package.json', 'tsconfig.json', 'tsconfig.build.json']) {
    await cp(join(ROOT, part), join(checkout, part), { recursive: true });
  }
  await symlink(join(ROOT, 'node_modules'), join(checkout, 'node_modules'));
  await mkdir(join(checkout, 'src/cli'), { recursive: true });
  await writeMain('one');
});

afterEach(() => rm(checkout, { recursive: true, force: true }));

const writeMain = (word: string): Promise<void> =>
  writeFile(
    join(checkout, 'src/cli/main.ts'),
    `export async function main(argv: string[]): Promise<number> {
      process.stdout.write('${word} ' + argv.join(','));
      return argv.length;
    }`,
  );

const halo = (...args: string[]) => execa(join(checkout, 'bin/halo'), args, { reject: false });

describe('bin/halo in a checkout', () => {
  test('builds itself, passes its arguments and exits with the code of the command', async () => {
    expect(await halo('a', 'b c')).toMatchObject({ stdout: 'one a,b c', stderr: '', exitCode: 2 });
  });

  test('builds again when a source has changed, and only then', async () => {
    await halo();
    const stamp = join(checkout, 'dist/.sources');
    const first = await readFile(stamp, 'utf8');
    await halo();
    expect(await readFile(stamp, 'utf8')).toBe(first);
    await writeMain('another');
    expect((await halo()).stdout).toBe('another ');
  });

  test('says at a terminal that it builds, which takes a while', async () => {
    const said = await execa('script', ['-qec', join(checkout, 'bin/halo'), '/dev/null']);
    expect(said.stdout).toMatch(/^halo: building what changed in src\/ …\r?\none $/);
  });

  test('removes what an interrupted build has left', async () => {
    await mkdir(join(checkout, '.halo-build/dist-4321/cli'), { recursive: true });
    await halo();
    expect(await readdir(join(checkout, '.halo-build'))).toEqual([]);
  });

  test('forgets what a removed source was built to', async () => {
    await writeFile(join(checkout, 'src/old.ts'), 'export const old = 1;');
    await halo();
    await rm(join(checkout, 'src/old.ts'));
    await halo();
    expect((await readdir(join(checkout, 'dist'))).sort()).toEqual(['.sources', 'cli']);
  });

  test('builds once when many start at the same time, and all of them work', async () => {
    const results = await Promise.all(Array.from({ length: 6 }, () => halo()));
    expect(results.map(({ stdout, exitCode }) => [stdout, exitCode])).toEqual(results.map(() => ['one ', 0]));
    expect(await readdir(join(checkout, '.halo-build'))).toEqual([]);
  });

  test('goes on after a builder that died with the lock', async () => {
    await mkdir(join(checkout, '.halo-build'));
    await symlink('4194304', join(checkout, '.halo-build/lock'));
    expect((await halo()).stdout).toBe('one ');
  });

  test('shows what the compiler says of a broken source', async () => {
    await writeFile(join(checkout, 'src/cli/main.ts'), 'export const main = (;');
    const { exitCode, stderr } = await halo();
    expect(exitCode).toBe(1);
    expect(stderr).toContain('src/cli/main.ts(1,');
  });

  test('says what to do when the npm packages are missing', async () => {
    await rm(join(checkout, 'node_modules'));
    const { exitCode, stderr } = await halo();
    expect(exitCode).toBe(5);
    expect(stderr).toContain('npm run setup');
  });
});
