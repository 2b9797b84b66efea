import { once } from 'node:events';
import { appendFile, cp, mkdir, readdir, readFile, realpath, rm, symlink, utimes, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { execa } from 'execa';
import { beforeEach, describe, expect, test } from 'vitest';
import { tempDir } from '../support/temp-dir.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const { ENTRIES } = createRequire(import.meta.url)('../../scripts/build.cjs') as { ENTRIES: Record<string, string> };
const MAIN = 'src/cli/main.ts';
const DASHBOARD = ['src/web/main.tsx', 'src/web/main.css', 'src/web/page/browser-crypto.ts'];
let checkout: string;

beforeEach(async () => {
  checkout = tempDir('halo-checkout');
  for (const part of ['bin', 'scripts', 'package.json', 'tsconfig.json']) {
    await cp(join(ROOT, part), join(checkout, part), { recursive: true });
  }
  await symlink(join(ROOT, 'node_modules'), join(checkout, 'node_modules'));
  for (const path of [...Object.values(ENTRIES), ...DASHBOARD]) {
    await mkdir(join(checkout, dirname(path)), { recursive: true });
    await writeFile(join(checkout, path), path.endsWith('.css') ? '' : 'export {};');
  }
  await writeMain('one');
});

const writeMain = (word: string): Promise<void> =>
  writeFile(
    join(checkout, MAIN),
    `export async function main(argv: string[]): Promise<number> {
      process.stdout.write('${word} ' + argv.join(','));
      return argv.length;
    }
    export const isCommand = (word: string) => word === 'ls';`,
  );

const halo = (...args: string[]) => execa(join(checkout, 'bin/halo'), args, { reject: false });

describe('bin/halo in a checkout', () => {
  test('builds itself, passes its arguments and exits with the code of the command', async () => {
    expect(await halo('a', 'b c')).toMatchObject({ stdout: 'one a,b c', stderr: '', exitCode: 2 });
  });

  test('keeps what is compiled for commands, not for any other word', async () => {
    await writeFile(
      join(checkout, MAIN),
      `export const main = async () => 0;
      export const isCommand = (word: string) => word === 'ls';`,
    );
    for (const words of [['--help', 'other'], ['--version'], ['ls']]) await halo(...words);
    const names = await readdir(join(checkout, 'dist/.compiled'));
    expect(names.map((name) => name.split('-')[0])).toEqual(['halo', 'ls']);
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

  test('reports at a terminal that it builds', async () => {
    const said = await execa('script', ['-qec', join(checkout, 'bin/halo'), '/dev/null']);
    expect(said.stdout).toMatch(/^halo: building what changed in src\/ …\r?\none $/);
  });

  test('reports that the current folder no longer exists', async () => {
    const script = 'mkdir gone && cd gone && rmdir ../gone && exec "$0"';
    const { exitCode, stderr } = await execa('sh', ['-c', script, join(checkout, 'bin/halo')], {
      cwd: checkout,
      reject: false,
    });
    expect({ exitCode, stderr }).toEqual({ exitCode: 6, stderr: 'halo: the current folder no longer exists\n  change to another one' }); // prettier-ignore
  });

  test('removes what an interrupted build has left', async () => {
    await mkdir(join(checkout, '.halo-build/dist-4321/cli'), { recursive: true });
    await halo();
    expect(await readdir(join(checkout, '.halo-build'))).toEqual([]);
  });

  describe('after a source was removed', () => {
    const builtFromIt = async () =>
      (await readdir(join(checkout, 'dist/chunks'))).filter((name) => /^old-\w+\.cjs$/.test(name));

    beforeEach(async () => {
      await writeFile(join(checkout, 'src/old.ts'), 'export const old = 1;');
      await writeFile(join(checkout, MAIN), `export const main = async () => (await import('../old.ts')).old;`);
      expect((await halo()).exitCode).toBe(1);
      expect(await builtFromIt()).toHaveLength(1);
      await rm(join(checkout, 'src/old.ts'));
      await writeMain('one');
    });

    test('keeps nothing of it in a build for a package', async () => {
      await halo();
      await execa('npm', ['run', 'build'], { cwd: checkout });
      expect(await builtFromIt()).toEqual([]);
      expect((await readdir(join(checkout, 'dist'))).sort()).toEqual(['.sources', 'chunks', 'cli', 'sandbox', 'web']);
    });

    test('keeps its built files for a day after the first build without it', async () => {
      const age = async () => {
        const [name = ''] = await builtFromIt();
        await utimes(join(checkout, 'dist/chunks', name), 0, 0);
      };
      await age();
      await halo();
      expect(await builtFromIt()).toHaveLength(1);
      await writeMain('another');
      await halo();
      expect(await builtFromIt()).toHaveLength(1);
      await age();
      await writeMain('a third');
      await halo();
      expect(await builtFromIt()).toEqual([]);
    });
  });

  test('keeps running when another process replaces the build', async () => {
    await writeFile(join(checkout, 'src/late.ts'), `export const late = 'late';`);
    await writeFile(
      join(checkout, MAIN),
      `import { once } from 'node:events';
      export async function main(): Promise<number> {
        process.stdout.write('ready ');
        await once(process.stdin, 'data');
        const { late } = await import('../late.ts');
        process.stdout.write(late);
        process.stdin.destroy();
        return 0;
      }`,
    );
    const running = halo();
    await once(running.stdout, 'data');
    await writeMain('another');
    expect((await halo()).stdout).toBe('another ');
    running.stdin.write('continue\n');
    expect(await running).toMatchObject({ stdout: 'ready late', stderr: '', exitCode: 0 });
  });

  test('reads the Lua script of its own build after another build', async () => {
    await writeFile(join(checkout, 'src/script.lua'), 'return 1');
    await writeFile(
      join(checkout, 'src/late.ts'),
      `import { readFileSync } from 'node:fs';
      export const late = readFileSync(new URL('./script.lua', import.meta.url), 'utf8');`,
    );
    const source = (text: string) => `import { once } from 'node:events';
      export async function main(): Promise<number> {
        process.stdout.write('${text} ');
        await once(process.stdin, 'data');
        const { late } = await import('../late.ts');
        process.stdout.write(late);
        process.stdin.destroy();
        return 0;
      }`;
    await writeFile(join(checkout, MAIN), source('ready'));
    const running = halo();
    await once(running.stdout, 'data');
    await writeFile(join(checkout, 'src/script.lua'), 'return 2 -- changed');
    await appendFile(join(checkout, 'src/late.ts'), '\nexport const more = 1;');
    const next = halo();
    await once(next.stdout, 'data');
    running.stdin.write('continue\n');
    next.stdin.write('continue\n');
    expect(await running).toMatchObject({ stdout: 'ready return 1', stderr: '', exitCode: 0 });
    expect(await next).toMatchObject({ stdout: 'ready return 2 -- changed', exitCode: 0 });
  });

  test('names its sources in a stack trace with HALO_DEBUG', async () => {
    await writeFile(
      join(checkout, MAIN),
      `export async function main(): Promise<number> {
        process.stdout.write(String(new Error('here').stack));
        return 0;
      }`,
    );
    const { stdout } = await execa(join(checkout, 'bin/halo'), { env: { HALO_DEBUG: '1' } });
    expect(stdout).toContain(`${await realpath(checkout)}/${MAIN}:2:`);
    expect(stdout).not.toContain('/dist/');
  });

  test('builds once when many start at the same time, and all of them work', async () => {
    const results = await Promise.all(Array.from({ length: 6 }, () => halo()));
    expect(results.map(({ stdout, exitCode }) => [stdout, exitCode])).toEqual(results.map(() => ['one ', 0]));
    expect(await readdir(join(checkout, '.halo-build'))).toEqual([]);
  });

  test('takes over the lock of a dead build', async () => {
    await mkdir(join(checkout, '.halo-build'));
    await symlink('4194304', join(checkout, '.halo-build/lock'));
    expect((await halo()).stdout).toBe('one ');
  });

  test('shows the message of the compiler about a malformed source', async () => {
    await writeFile(join(checkout, MAIN), 'export const main = (;');
    const { exitCode, stderr } = await halo();
    expect(exitCode).toBe(1);
    expect(stderr).toContain('src/cli/main.ts:1:');
  });

  test('reports what to do if the npm packages are missing', async () => {
    await rm(join(checkout, 'node_modules'));
    const { exitCode, stderr } = await halo();
    expect(exitCode).toBe(5);
    expect(stderr).toContain('npm run setup');
  });
});

describe('a new checkout', () => {
  test('describes this machine for the setup before any other build, and names the sources of halo in the stack trace of an error with HALO_DEBUG', async () => {
    await rm(join(checkout, 'src'), { recursive: true });
    for (const part of ['src', 'docker']) await cp(join(ROOT, part), join(checkout, part), { recursive: true });
    const { stdout } = await execa('node', [join(checkout, 'scripts/machine-status.mjs')]);
    expect(stdout).toMatch(/^(ok|none|denied) \S+ (current|outdated|missing)$/);
    const { stderr } = await execa(join(checkout, 'bin/halo'), ['ls', '--no-such'], {
      reject: false,
      env: { HALO_DEBUG: '1' },
    });
    expect(stderr).toContain('error[USAGE]');
    expect(stderr).toContain('/src/cli/main.ts:');
  });
});
