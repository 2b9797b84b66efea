import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { findRepoConfig, readConfigFile } from '../../src/config/load/config-file.ts';
import { tempDir } from '../support/temp-dir.ts';

let dir: string;
beforeEach(() => {
  dir = tempDir('halo config é ');
});

test('a missing file is an empty configuration', async () => {
  expect(await readConfigFile(join(dir, 'config.toml'))).toBeUndefined();
  expect(await readConfigFile(join(dir, 'halo.toml', 'x'))).toBeUndefined();
  expect(await findRepoConfig(dir)).toBeUndefined();
});

test('a repository may keep its configuration in either place, but not in both', async () => {
  await mkdir(join(dir, '.halo'));
  await writeFile(join(dir, '.halo', 'config.toml'), 'agent = "codex"');
  expect(await findRepoConfig(dir)).toMatchObject({
    path: join(dir, '.halo', 'config.toml'),
    table: { agent: 'codex' },
  });
  await writeFile(join(dir, 'halo.toml'), '');
  await expect(findRepoConfig(dir)).rejects.toMatchObject({
    code: 'CONFIG_INVALID',
    message: `There are two configuration files: ${join(dir, 'halo.toml')} and ${join(dir, '.halo', 'config.toml')}.`,
  });
});

test('a syntax error is reported with line and column', async () => {
  const path = join(dir, 'halo.toml');
  await writeFile(path, 'agent = "codex"\nimage = halo\n');
  await expect(readConfigFile(path)).rejects.toMatchObject({
    code: 'CONFIG_INVALID',
    message: expect.stringMatching(/halo\.toml:2:\d+: The text is not valid TOML: \w/) as string,
  });
});

test('a folder in place of the file is refused', async () => {
  await mkdir(join(dir, 'halo.toml'));
  await expect(findRepoConfig(dir)).rejects.toMatchObject({
    code: 'CONFIG_INVALID',
    message: `${join(dir, 'halo.toml')} cannot be read (EISDIR).`,
  });
});
