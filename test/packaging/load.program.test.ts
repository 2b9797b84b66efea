import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { chmod, mkdir, rm, truncate, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { execa } from 'execa';
import { beforeEach, describe, expect, test } from 'vitest';
import { tempDir } from '../support/temp-dir.ts';

const LOAD = createRequire(import.meta.url).resolve('../../bin/load.js');
const MODULES = {
  'cli/main.cjs': `const late = () => require('../chunks/late-1.cjs');
    exports.main = (word) => word + ' ' + (word === 'more' ? late().ö : require('../chunks/one-1.cjs').one(2));`,
  'chunks/one-1.cjs': 'exports.one = (n) => n + 1;',
  'chunks/late-1.cjs': "exports.ö = 'läßt 漢字 zu';",
};
let dist: string;

beforeEach(async () => {
  dist = tempDir('halo-dist');
  for (const [name, source] of Object.entries(MODULES)) await write(name, source);
});

async function write(name: string, source: string): Promise<void> {
  await mkdir(dirname(join(dist, name)), { recursive: true });
  await writeFile(join(dist, name), source);
}

/** Starts a program that prints what `main` returns, and keeps what was compiled. */
async function start(
  word: string,
  { command = 'run', node = [] as string[], umask = 0o22, user = process.geteuid?.() } = {},
): Promise<string> {
  const program = `process.umask(${umask}); process.geteuid = () => ${user};
    const { exports, keep } = require(${JSON.stringify(LOAD)}).load(${JSON.stringify(dist)}, 'cli/main.cjs', ${JSON.stringify(command)});
    process.stdout.write(exports.main(${JSON.stringify(word)}));
    keep();`;
  return (await execa(process.execPath, [...node, '-e', program])).stdout;
}

const compiled = () => readdirSync(join(dist, '.compiled'));
const bytesOf = (name: string | undefined) => readFileSync(join(dist, '.compiled', name ?? ''));

describe('modules of a build', () => {
  test('work as they are, and as an earlier start of the same command has kept them', async () => {
    expect(await start('first')).toBe('first 3');
    const [name] = compiled();
    const kept = bytesOf(name);
    // Only from what was kept: a source that has changed without a new build is not read.
    writeFileSync(join(dist, 'chunks/one-1.cjs'), 'throw new Error("read again")');
    expect(await start('second')).toBe('second 3');
    expect(bytesOf(name).equals(kept)).toBe(true);
  });

  test('are kept for each command, with those that a later start needs in addition', async () => {
    await start('first');
    await start('first', { command: 'ls' });
    expect(compiled().map((name) => name.split('-')[0])).toEqual(['ls', 'run']);
    expect(await start('more')).toBe('more läßt 漢字 zu');
    await writeFile(join(dist, 'chunks/late-1.cjs'), '');
    await writeFile(join(dist, 'chunks/one-1.cjs'), '');
    expect([await start('more'), await start('first')]).toEqual(['more läßt 漢字 zu', 'first 3']);
  });

  test('are read again when the build is another one', async () => {
    await start('first');
    await write('cli/main.cjs', "exports.main = (word) => word + ' of another build';");
    expect(await start('second')).toBe('second of another build');
  });

  test('are compiled again when V8 has other options, or the file is incomplete', async () => {
    await start('first');
    const [name = ''] = compiled();
    const kept = bytesOf(name);
    expect(await start('second', { node: ['--no-lazy'] })).toBe('second 3');
    expect(bytesOf(name).equals(kept)).toBe(false);
    for (const size of [0, 10, kept.length - 1]) {
      await truncate(join(dist, '.compiled', name), size);
      expect(await start('third')).toBe('third 3');
      expect(bytesOf(name).length).toBeGreaterThan(size);
    }
    expect(compiled()).toEqual([name]);
  });

  test('are read again when a byte of what was kept has changed', async () => {
    await start('first');
    const [name = ''] = compiled();
    const path = join(dist, '.compiled', name);
    const kept = readFileSync(path);
    // In the digest, in the list, in sources and in what is compiled.
    for (const at of [3, 60, kept.indexOf('late-1'), kept.indexOf('one(2)') + 4, kept.length - 100]) {
      const damaged = Buffer.from(kept);
      damaged.writeUInt8((kept[at] ?? 0) ^ 1, at);
      writeFileSync(path, damaged);
      expect(await start('second')).toBe('second 3');
      expect(readFileSync(path).equals(damaged)).toBe(false);
    }
  });

  test('are kept in files that no other user may change, whatever the mask, and not in the folder of another user', async () => {
    await start('first', { umask: 0 });
    const [name = ''] = compiled();
    expect(statSync(join(dist, '.compiled')).mode & 0o777).toBe(0o755);
    expect(statSync(join(dist, '.compiled', name)).mode & 0o777).toBe(0o644);
    await rm(join(dist, '.compiled'), { recursive: true });
    await start('first', { user: process.geteuid?.() === 1 ? 2 : 1 });
    expect(readdirSync(dist)).toEqual(['chunks', 'cli']);
  });

  test('are not kept under a name that has other characters than words, or where nothing can be written', async () => {
    expect(await start('first', { command: '../run' })).toBe('first 3');
    expect(readdirSync(dist)).toEqual(['chunks', 'cli']);
    // Also for root.
    await writeFile(join(dist, '.compiled'), '');
    await chmod(join(dist, '.compiled'), 0o400);
    expect(await start('first')).toBe('first 3');
  });

  test('that throw while they are loaded throw again at the next attempt', async () => {
    await write('chunks/one-1.cjs', "throw new Error('broken')");
    await write(
      'cli/main.cjs',
      `exports.main = () => [1, 2].map(() => {
        try { require('../chunks/one-1.cjs'); } catch (error) { return error.message; }
      }).join(' ');`,
    );
    expect(await start('first')).toBe('broken broken');
  });
});
