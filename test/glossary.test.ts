import { readFileSync } from 'node:fs';
import { basename, resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { readSources } from './support/architecture.ts';
import { exportsOf } from './support/source-rules.ts';

interface Entry {
  term: string;
  meaning: string;
  names: string[];
  /** Words that must not stand for the term. */
  avoided: string[];
}

const root = resolve(import.meta.dirname, '..');
const sources = readSources(resolve(root, 'src'));
const entries = parseEntries(readFileSync(resolve(root, 'GLOSSARY.md'), 'utf8'));
const names = entries.flatMap((entry) => entry.names);

/** The folders of halo's concepts; the others are about configuration, formats and terminals. */
const CONCEPTS = /^(?:agents|core|gateway|git|lib|queue|sandbox|store|worker)\//;

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
  test('names what the sources export', () => {
    const exported = new Set(sources.flatMap(({ text }) => exportsOf(text)));
    expect(names.filter((name) => !exported.has(name))).toEqual([]);
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
    const [, term = '', meaning = '', code = '', avoided = ''] = row.split('|').map((cell) => cell.trim());
    return {
      term,
      meaning,
      names: [...code.matchAll(/`(\w+)`/g)].map(([, name = '']) => name),
      avoided: avoided.split(', ').filter((word) => word !== '–'),
    };
  });
}

function titleCase(name: string): string {
  return name.charAt(0).toUpperCase() + name.slice(1);
}

function repeated(words: readonly string[]): string[] {
  return words.filter((word, index) => words.indexOf(word) !== index);
}
