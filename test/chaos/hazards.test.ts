import { readdirSync, readFileSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { HAZARDS, idsIn } from './hazards.ts';

const ROOT = resolve(import.meta.dirname, '../..');

const files = readdirSync(join(ROOT, 'test'), { recursive: true, withFileTypes: true })
  .filter(({ name }) => name.endsWith('.test.ts'))
  .map(({ parentPath, name }) => join(parentPath, name))
  .filter((path) => path !== import.meta.filename)
  .map((path) => ({ path: relative(ROOT, path), ids: idsIn(readFileSync(path, 'utf8')) }));

describe('the table of hazards', () => {
  it('has a row for each hazard that a test names', () => {
    const known = HAZARDS.map(({ id }) => id);
    expect(files.flatMap(({ ids }) => ids).filter((id) => !known.includes(id))).toEqual([]);
  });
});
