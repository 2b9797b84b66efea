import { readFileSync } from 'node:fs';
import { basename, dirname, resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { readSources } from './support/architecture.ts';
import { exportsOf } from './support/source-rules.ts';

interface Entry {
  term: string;
  meaning: string;
  names: string[];
  /** The folders below `src/` that declare these names. */
  folders: string[];
  /** Words that must not stand for the term. */
  avoided: string[];
}

const root = resolve(import.meta.dirname, '..');
const sources = readSources(resolve(root, 'src'));
const entries = parseEntries(readFileSync(resolve(root, 'GLOSSARY.md'), 'utf8'));
const names = entries.flatMap((entry) => entry.names);

/** The folder of each exported name. */
const folderOf = new Map(
  sources.flatMap(({ path, text }) => exportsOf(text).map((name) => [name, dirname(path)] as const)),
);

/** The folders of halo's concepts; the others are about configuration, formats and terminals. */
const CONCEPTS = /^(?:agents|core|gateway|git|lib|queue|sandbox|store|worker)\//;

/** The concepts whose types must be terms if so many files import them; `core/transcript` is about the form of lines. */
const SHARED = /^(?:agents|config|core\/(?!transcript)|gateway|git|lib|queue|sandbox|store|worker)/;
const MIN_IMPORTS = 15;

/** Types that many files of several folders use, and that have no file of their own. */
const CENTRAL = [
  'AgentAnswer',
  'AgentId',
  'Approval',
  'Attempt',
  'AttemptRef',
  'BatchRef',
  'Dialect',
  'Failpoint',
  'FailureClass',
  'FleetLimits',
  'JournalEvent',
  'ModelApi',
  'Need',
  'Operations',
  'RunDecision',
  'RunState',
  'SandboxEngine',
  'Story',
  'StoryJob',
  'Usage',
  'Verdict',
  'Worker',
];

describe('the glossary', () => {
  test('names what the sources export, in the folders that declare it', () => {
    const declared = entries.map((entry) => [
      entry.term,
      folders(entry.names.map((name) => folderOf.get(name) ?? name)),
    ]);
    expect(declared).toEqual(entries.map((entry) => [entry.term, folders(entry.folders)]));
  });

  test('has each export with the name of a term in the row of that term', () => {
    const inOtherRow = entries.filter((entry) => {
      const name = entry.term.split(/[ -]/).map(titleCase).join('');
      return folderOf.has(name) && !entry.names.includes(name);
    });
    expect(inOtherRow.map(({ term }) => term)).toEqual([]);
  });

  test('has no word to avoid as the name of an exported type of a concept', () => {
    const avoided = entries.flatMap((entry) => entry.avoided.map(titleCase));
    const isOfConcept = (name: string) => CONCEPTS.test(`${folderOf.get(name) ?? ''}/`);
    expect(avoided.filter((name) => isOfConcept(name))).toEqual([]);
  });

  test('has each central type, and each type with a file of its name', () => {
    const ownFile = sources
      .filter(({ path }) => CONCEPTS.test(path))
      .flatMap(({ path, text }) => {
        const name = titleCase(basename(path, '.ts'));
        return exportsOf(text).includes(name) ? [name] : [];
      });
    expect([...CENTRAL, ...ownFile].filter((name) => !names.includes(name))).toEqual([]);
  });

  test('has each type of a concept that many files import', () => {
    const used = sources.flatMap(({ text }) => {
      const imported = [...text.matchAll(/import (?:type )?\{([^}]*)\} from/g)].flatMap(([, list = '']) =>
        list.split(','),
      );
      return [...new Set(imported.map((each) => each.trim().replace(/^type /, '')))].filter((name) =>
        /^[A-Z][a-z]/.test(name),
      );
    });
    const isShared = (name: string) => used.filter((each) => each === name).length >= MIN_IMPORTS;
    const isOfConcept = (name: string) => SHARED.test(`${folderOf.get(name) ?? ''}/`);
    const shared = [...new Set(used)].filter((name) => isShared(name) && isOfConcept(name));
    expect(shared.length).toBeGreaterThan(15);
    expect(shared.filter((name) => !names.includes(name))).toEqual([]);
  });

  test('has one meaning for each term and one term for each name', () => {
    const terms = entries.map(({ term }) => term);
    expect(terms.length).toBeGreaterThan(50);
    expect(repeated(terms)).toEqual([]);
    expect(repeated(names)).toEqual([]);
    expect(entries.filter(({ meaning, names: own }) => meaning === '' || own.length === 0)).toEqual([]);
  });

  test('advises against no term of its own', () => {
    const terms = entries.map(({ term }) => term);
    expect(entries.flatMap(({ avoided }) => avoided).filter((word) => terms.includes(word))).toEqual([]);
  });
});

function parseEntries(text: string): Entry[] {
  const rows = text.split('\n').filter((line) => line.startsWith('| ') && !/^\| (?:-+|term) /.test(line));
  return rows.map((row) => {
    const [, term = '', meaning = '', code = '', below = '', avoided = ''] = row.split('|').map((cell) => cell.trim());
    const quoted = (cell: string) => [...cell.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name);
    return {
      term,
      meaning,
      names: quoted(code),
      folders: quoted(below),
      avoided: avoided.split(', ').filter((word) => word !== '–'),
    };
  });
}

function folders(paths: readonly string[]): string[] {
  return [...new Set(paths)].sort();
}

function titleCase(name: string): string {
  return name.charAt(0).toUpperCase() + name.slice(1);
}

function repeated(words: readonly string[]): string[] {
  return words.filter((word, index) => words.indexOf(word) !== index);
}
