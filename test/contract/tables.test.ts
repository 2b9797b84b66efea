import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';

/** The ending of a test file, which names its layer and level. */
const TEST_ENDING = /(?:\.full)?(?:\.program|\.flow|\.docker)?\.test\.ts$/;

const contracts = readdirSync(import.meta.dirname, { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => name);
const readContract = (name: string) => readFileSync(join(import.meta.dirname, name, 'contract.md'), 'utf8');

interface Row {
  /** The sentences of the contract that ask for it: `L3, L5-L7`; undefined in a table of other requirements. */
  sentences: string | undefined;
  cells: string[];
}

/** The rows of the tables about the contract, without headings; a cell may hold a bar in code. */
function rowsOf(page: string): Row[] {
  const tables = page.split(/\n(?!\|)/).filter((part) => part.includes('| the contract '));
  return tables.flatMap((table) => {
    const [head, , ...rows] = table
      .split('\n')
      .filter((line) => line.startsWith('| '))
      .map(cellsOf);
    return rows.map(([first, ...rest]) =>
      head?.[0] === '#' ? { sentences: first, cells: rest } : { sentences: undefined, cells: [first ?? '', ...rest] },
    );
  });
}

const cellsOf = (line: string) =>
  line
    .slice(1, -1)
    .split(' | ')
    .map((cell) => cell.trim());

/** The letter before the numbers of the sentences of a contract, and how many sentences it has. */
const SENTENCES: Record<string, { letter: string; count: number }> = {
  daedalus: { letter: 'D', count: 84 },
  hank: { letter: 'K', count: 148 },
  hanuman: { letter: 'H', count: 64 },
  lever: { letter: 'L', count: 79 },
  swanson: { letter: 'S', count: 158 },
};

/** The single sentences of a first cell; what is not a number or a range, as it is. */
function sentencesIn(cell: string): string[] {
  return cell.split(', ').flatMap((part) => {
    const [, letter = '', first, last = first] = /^([A-Z])(\d+)(?:-\1(\d+))?$/.exec(part) ?? [];
    if (first === undefined) return [part];
    return Array.from({ length: Number(last) - Number(first) + 1 }, (_, n) => `${letter}${Number(first) + n}`);
  });
}

/** The titles of the tests in a file, whatever its layer and level. */
function titlesOf(file: string): Set<string> {
  const path = join(import.meta.dirname, '..', file);
  const found = existsSync(dirname(path))
    ? readdirSync(dirname(path)).filter((name) => isTestOf(name, basename(path)))
    : [];
  const text = found.map((name) => readFileSync(join(dirname(path), name), 'utf8')).join('\n');
  const quoted = [...text.matchAll(/(?:\b(?:it|test)|\))\(\s*(['"`])(.+?)\1,\s*(?:[A-Z]+,|skipFor|\{|async|\()/g)];
  return new Set(quoted.map((match) => match[2] ?? ''));
}

function isTestOf(name: string, subject: string): boolean {
  return name.replace(TEST_ENDING, '') === subject && name !== subject;
}

const testsIn = (file: string) => [...titlesOf(file)].map((title) => `${file}: ${title}`);

/** The tests that a cell or line names: `file: title`, separated by commas. */
function namedTests(text: string): string[] {
  return text.split(/(?<=`), (?=`)/).map((each) => each.slice(1, -1));
}

/** Those of these tests that do not exist. `e2e/recovery/crash` is a file such as test/e2e/recovery/crash.flow.test.ts. */
function missingTests(named: Iterable<string>): string[] {
  const all = [...new Set(named)];
  const files = new Set(all.map((each) => each.slice(0, each.indexOf(':'))));
  const there = new Set([...files].flatMap(testsIn));
  return all.filter((each) => !there.has(each));
}

it('there is a folder for each contract', () => expect(contracts.sort()).toEqual(Object.keys(SENTENCES).sort()));

describe.each(contracts)('test/contract/%s/contract.md', (name) => {
  const page = readContract(name);
  const rows = rowsOf(page);

  it('states for each requirement what halo does, and names its tests or a reason', () => {
    expect(rows.length).toBeGreaterThan(10);
    for (const { cells } of rows) {
      expect(cells, cells.join(' | ')).toHaveLength(3);
      const [requirement = '', halo = '', tests = ''] = cells;
      expect(halo.length, requirement).toBeGreaterThan(5);
      if (halo.startsWith('later: ')) {
        expect(cells.join(' '), 'only other systems are for later').toMatch(/macOS|Windows/);
        expect(tests, requirement).toBe('-');
      } else if (tests === '-') expect(halo, requirement).toMatch(/^different: .{40}/);
      else expect(tests, requirement).toMatch(/^`[\w/-]+: .+`$/);
    }
  });

  it('has a row for each sentence of the contract, and for no other', () => {
    const { letter, count } = SENTENCES[name]!;
    const all = Array.from({ length: count }, (_, n) => `${letter}${n + 1}`);
    const found = rows.flatMap(({ sentences }) => (sentences === undefined ? [] : sentencesIn(sentences)));
    expect(
      all.filter((each) => !found.includes(each)),
      'missing',
    ).toEqual([]);
    expect(
      found.filter((each) => !all.includes(each)),
      'unknown',
    ).toEqual([]);
  });

  it('names existing tests, and each test of the contract', () => {
    const cells = rows.map(({ cells }) => cells[2] ?? '').filter((cell) => cell !== '-');
    const listed = namesOfProject(page).flatMap(({ groups }) => groups.map(({ tests }) => tests));
    const named = new Set([...cells, ...listed.filter((tests) => tests !== '')].flatMap(namedTests));
    const files = readdirSync(join(import.meta.dirname, name));
    const own = files
      .filter((file) => TEST_ENDING.test(file))
      .flatMap((file) => testsIn(`contract/${name}/${file.replace(TEST_ENDING, '')}`));
    expect(missingTests(named)).toEqual([]);
    expect(own.filter((each) => !named.has(each))).toEqual([]);
  });
});

interface Group {
  kind: string;
  text: string;
  /** The tests of halo, as the page writes them, or empty. */
  tests: string;
  names: string[];
}

/**
 * The lists of a project's own tests, by file: below `### file.bats: 15 tests`, a bullet per kind (`same: what halo does.
 * Tests: …`), with a bullet below it for each name.
 */
function namesOfProject(page: string): { file: string; count: number; groups: Group[] }[] {
  return page
    .split(/^(?=### )/m)
    .slice(1)
    .flatMap((section) => {
      const [, file = '', count] = /^### (\w+\.bats): (\d+) tests$/m.exec(section) ?? [];
      if (count === undefined) return [];
      const groups = section
        .split(/^(?=- )/m)
        .slice(1)
        .map((bullet) => {
          const [head = '', ...names] = bullet.trimEnd().split(/\n {2}- /);
          const [, kind = '', text = '', tests = ''] =
            /^- (\w+): (.+?)(?: Tests?: (`[^]+`))?$/.exec(head.replaceAll('\n', ' ')) ?? [];
          return { kind, text, tests, names };
        });
      return [{ file, count: Number(count), groups }];
    });
}

describe('the tests of hank in test/contract/hank/contract.md', () => {
  const files = namesOfProject(readContract('hank'));
  const groups = files.flatMap((each) => each.groups);
  const countOf = (kind: string) => groups.flatMap((group) => (group.kind === kind ? group.names : [])).length;

  it('are all 695 of its 22 files, each once', () => {
    expect(files).toHaveLength(22);
    for (const { file, count, groups } of files) {
      const names = groups.flatMap((group) => group.names);
      expect([file, names.length]).toEqual([file, count]);
      expect(new Set(names).size, file).toBe(count);
    }
    expect(files.reduce((sum, { count }) => sum + count, 0)).toBe(695);
  });

  it('have tests of halo where it does the same, and a reason elsewhere', () => {
    for (const { kind, text, tests } of groups) {
      expect(kind).toMatch(/^(same|different|internal)$/);
      expect(text.length, text).toBeGreaterThan(20);
      if (kind === 'same') expect(tests, text).toMatch(/^`[\w/-]+: .+`$/);
    }
  });

  it('are different on purpose in at most 40 cases', () => {
    expect(countOf('same')).toBeGreaterThan(countOf('internal'));
    expect(countOf('different')).toBeLessThanOrEqual(40);
  });
});
