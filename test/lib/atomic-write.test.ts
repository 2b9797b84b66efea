import { mkdtempSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { writeAtomic } from '../../src/lib/atomic-write.ts';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'halo-write-'));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

test('a file is replaced as a whole and no temporary file stays', async () => {
  writeFileSync(join(dir, 'f'), 'a long old content');
  await writeAtomic(join(dir, 'f'), 'new', true);
  expect(readFileSync(join(dir, 'f'), 'utf8')).toBe('new');
  expect(readdirSync(dir)).toEqual(['f']);
});

test('a failed write leaves nothing behind', async () => {
  mkdirSync(join(dir, 'f'));
  await expect(writeAtomic(join(dir, 'f'), 'new')).rejects.toThrow();
  expect(readdirSync(dir)).toEqual(['f']);
});
