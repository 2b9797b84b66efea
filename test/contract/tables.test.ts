import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';

const docs = resolve(import.meta.dirname, '../../docs/contracts');
const contracts = readdirSync(docs).filter((name) => name.endsWith('.md'));

/** The rows of all tables of a page, without headings; a cell may hold a bar in code. */
function rowsOf(page: string): string[][] {
  return page
    .split('\n')
    .filter((line) => line.startsWith('| ') && !/^\| (-+ \||the contract +\|)/.test(line))
    .map((line) =>
      line
        .slice(1, -1)
        .split(' | ')
        .map((cell) => cell.trim()),
    );
}

/** The titles of the tests in a file. */
function titlesOf(file: string): Set<string> {
  const text = readFileSync(join(import.meta.dirname, file.includes('/') ? '..' : '.', `${file}.test.ts`), 'utf8');
  const quoted = [...text.matchAll(/(?:\b(?:it|test)|\))\(\s*(['"`])(.+?)\1,\s*(?:[A-Z]+,|\{|async|\()/g)];
  return new Set(quoted.map((match) => match[2] ?? ''));
}

describe.each(contracts)('docs/contracts/%s', (name) => {
  const rows = rowsOf(readFileSync(join(docs, name), 'utf8'));

  it('states for each requirement what halo does, and names its tests', () => {
    expect(rows.length).toBeGreaterThan(10);
    for (const row of rows) {
      expect(row, row.join(' | ')).toHaveLength(3);
      expect(row[1]?.length, row[0]).toBeGreaterThan(5);
      // What is not there yet has its reason instead of a test.
      if (row[1]?.startsWith('later: ')) expect(row[2], row[0]).toBe('-');
      else expect(row[2], row[0]).toMatch(/^`[\w/-]+: .+`$/);
    }
  });

  it('names existing tests, and each test of the contract', () => {
    const cells = rows.map((row) => row[2] ?? '').filter((cell) => cell !== '-');
    const named = new Set(cells.flatMap((cell) => cell.split(/(?<=`), (?=`)/)).map((each) => each.slice(1, -1)));
    const prefix = name.replace('.md', '-');
    const files = readdirSync(import.meta.dirname).flatMap((file) =>
      file.startsWith(prefix) ? [file.replace('.test.ts', '')] : [],
    );
    const testsIn = (file: string) => [...titlesOf(file)].map((title) => `${file}: ${title}`);
    const own = new Set(files.flatMap(testsIn));
    // A test that says more than the contract may be elsewhere: `e2e/recovery/crash` is test/e2e/recovery/crash.test.ts.
    const others = [...named].map((each) => each.slice(0, each.indexOf(':'))).filter((file) => file.includes('/'));
    const there = new Set([...own, ...others.flatMap(testsIn)]);
    expect([...named].filter((each) => !there.has(each))).toEqual([]);
    expect([...own].filter((each) => !named.has(each))).toEqual([]);
  });
});
