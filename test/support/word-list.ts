import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Breach } from './architecture.ts';
import type { TextFile } from './named-paths.ts';

/** Archaic, literary and colloquial words, each with the words to use. Words with other meanings are matched only in the sense to avoid. */
export const WORD_LIST: { words: string; use: string }[] = [
  { words: 'whoever|whomever', use: 'the user, the caller, the next worker' },
  { words: 'nobody', use: 'no user, no process' },
  { words: 'mend(?:s|ed|ing)?', use: 'fix' },
  { words: 'anew', use: 'again, re-' },
  { words: 'tells', use: 'reports' },
  {
    words: '(?:is|are|was|were|be|been|being|has|have|had|unless|const|let) told',
    use: 'is notified, receives, reported',
  },
  { words: 'hears? of|heard of|unheard', use: 'receives, is notified' },
  { words: 'com(?:es?|ing) to|came to', use: 'results in, reaches' },
  { words: 'go(?:es|ing)? on|went on|gone on', use: 'continues' },
  { words: 'stands(?! for)|stood', use: 'is' },
  { words: 'by now', use: 'already' },
  // It has two senses, and readers of a second language know the wrong one.
  { words: 'at once', use: 'immediately; at the same time' },
  // Not `the rest of a line`.
  { words: '#rest\\(|rest(?:s|ing|ed)|a rest (?:until|for)', use: 'pause, wait' },
  // Not `the words of a state`.
  { words: "(?:user|person|people|human|agent|program)(?:'s|’s|s['’])? word", use: 'command, decision, report' },
  { words: 'words? of (?:a|the|its|this) (?:user|person|human|agent)', use: 'command, decision, report' },
  { words: 'besides', use: 'in addition to, other than' },
  { words: 'shall', use: 'must, will' },
  { words: 'lest|albeit|whilst|amongst|nigh|thrice', use: 'a common word' },
  { words: 'hitherto|heretofore|hence|henceforth|thence|whence|thither|hither', use: 'so, until now, from now on' },
  { words: '(?:here|there|where)(?:of|in|upon|with|to|unto)', use: 'of it, in it' },
  { words: 'work(?:s|ed|ing)? off', use: 'run, process' },
  { words: 'first of all', use: 'first' },
  // Not `there is no X`, nor `is no longer`.
  { words: '(?<!there |which )(?:is|are|was|were) no(?! (?:longer|more)\\b)', use: 'is not a' },
  { words: 'as it were|so to (?:say|speak)|such as it is', use: 'nothing' },
];

const LIST = new RegExp(`(?<!\\w)(?:${WORD_LIST.map(({ words }) => words).join('|')})(?!\\w)`, 'gi');

/** The folders and files of the project that are written by hand, below its root. */
const READ = [
  'src',
  'test',
  'docker',
  'scripts',
  'bin',
  'docs',
  'examples',
  'plugins',
  'schemas',
  '.claude-plugin',
  'compose.yaml',
];

/** Not prose of the project: recorded output and journals, and the word list with its examples. */
const UNREAD = /\/fixtures\/|^test\/(?:support\/word-list|architecture\.test)\.ts$/;
const EXTENSION =
  /\.(?:ts|c|h|lua|md|mjs|cjs|sh|yaml|html)$|\/Dockerfile$|^bin\/|^(?:schemas|plugins|\.claude-plugin)\/.*\.json$/;

/** All sources, scripts, settings and documents of the project. */
export function readProse(root: string): TextFile[] {
  const pages = readdirSync(root).filter((name) => name.endsWith('.md'));
  const below = READ.flatMap((name) =>
    name.includes('.')
      ? [name]
      : readdirSync(join(root, name), { recursive: true, encoding: 'utf8' }).map((path) => `${name}/${path}`),
  );
  return [...pages, ...below]
    .filter((path) => EXTENSION.test(path) && !UNREAD.test(path))
    .map((path) => ({ path, text: readFileSync(join(root, path), 'utf8') }));
}

/**
 * Words of the list in comments, texts and identifiers, and in documents outside code spans. `wireNames`: identifiers that
 * other programs read, and that therefore stay.
 */
export function findBannedWords(files: readonly TextFile[], wireNames: readonly string[] = []): Breach[] {
  const isWireName = new RegExp(`\\b(?:${wireNames.join('|')})\\b`, 'g');
  return files.flatMap(({ path, text }) =>
    text.split('\n').flatMap((line, index) => {
      const own = wireNames.length === 0 ? line : line.replace(isWireName, '');
      return [...new Set(readings(path, own).flatMap(wordsIn))].map(
        (word) => `${word} in ${path}: line ${index + 1}; use: ${insteadOf(word)}`,
      );
    }),
  );
}

/** What has been found in each text: most identifiers and many lines repeat. */
const known = new Map<string, readonly string[]>();

function wordsIn(prose: string): readonly string[] {
  const words = known.get(prose) ?? [...prose.matchAll(LIST)].map(([word]) => word.toLowerCase());
  known.set(prose, words);
  return words;
}

/** A line as prose. Of code, also its identifiers word by word, so that `goesOn` is found, but not `const goes = on`. */
function readings(path: string, line: string): string[] {
  if (path.endsWith('.md')) return [line.replace(/`[^`]*`/g, '``')];
  const split = (text: string) => text.replace(/(?<=[a-z\d])(?=[A-Z])|_/g, ' ');
  const identifiers = [...line.matchAll(/[A-Za-z]\w*[a-z\d][A-Z]\w*/g)].map(([name]) => split(name));
  return [line.replace(/(?<=[a-z\d])(?=[A-Z])|_/g, ' · '), ...identifiers];
}

function insteadOf(word: string): string {
  const entry = WORD_LIST.find(({ words }) => new RegExp(`^(?:${words})$`, 'i').test(word));
  return entry?.use ?? '';
}
