import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { HAZARDS, idsIn } from './hazards.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const PAGE = join(ROOT, 'test/chaos/faults.md');
const TABLE = /(^\| hazard .*\n\| ---.*\n)((?:\|.*\n)*)/m;

const files = readdirSync(join(ROOT, 'test'), { recursive: true, withFileTypes: true })
  .filter(({ name }) => name.endsWith('.test.ts'))
  .map(({ parentPath, name }) => join(parentPath, name))
  .filter((path) => path !== import.meta.filename)
  .map((path) => ({ path: relative(ROOT, path), ids: idsIn(readFileSync(path, 'utf8')) }));

describe('the table of hazards', () => {
  it('has a test for each of its rows', () => {
    const tried = files.flatMap(({ ids }) => ids);
    expect(HAZARDS.map(({ id }) => id).filter((id) => !tried.includes(id))).toEqual([]);
  });

  it('has a row for each hazard that a test names', () => {
    const known = HAZARDS.map(({ id }) => id);
    expect(files.flatMap(({ ids }) => ids).filter((id) => !known.includes(id))).toEqual([]);
  });

  it('matches test/chaos/faults.md', () => {
    const rows = HAZARDS.map(({ id, hazard, outcome }) => {
      const paths = files.filter(({ ids }) => ids.includes(id)).map(({ path }) => `\`${path}\``);
      return `| ${[hazard, outcome, paths.toSorted().join(', ')].join(' | ')} |\n`;
    });
    const page = readFileSync(PAGE, 'utf8');
    // With HALO_TEST_RECORD, this test rewrites the page.
    if (process.env.HALO_TEST_RECORD !== undefined)
      writeFileSync(
        PAGE,
        page.replace(TABLE, (_all, head: string) => head + rows.join('')),
      );
    else expect(TABLE.exec(page)?.[2]).toBe(rows.join(''));
  });
});
