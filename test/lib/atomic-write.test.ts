import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { writeAtomic } from '../../src/lib/fs.ts';
import { tempDir } from '../support/temp-dir.ts';

let dir: string;
beforeEach(() => {
  dir = tempDir('halo-write');
});

test('a file is replaced as a whole and no temporary file remains', async () => {
  writeFileSync(join(dir, 'f'), 'a long old content');
  await writeAtomic(join(dir, 'f'), 'new', true);
  expect(readFileSync(join(dir, 'f'), 'utf8')).toBe('new');
  expect(readdirSync(dir)).toEqual(['f']);
});

test('a failed write leaves nothing behind', async () => {
  mkdirSync(join(dir, 'f'));
  await expect(writeAtomic(join(dir, 'f'), 'new')).rejects.toThrow('EISDIR');
  expect(readdirSync(dir)).toEqual(['f']);
});
