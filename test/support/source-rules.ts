import { basename, dirname } from 'node:path';
import type { Breach, SourceFile } from './architecture.ts';

const MAX_FILES = 16;
const MIN_LINES = 13;
const MAX_ATTEMPT_LINES = 80;
const MAX_ATTEMPT_IMPORTS = 15;
const ATTEMPT = 'worker/attempt/run-attempt.ts';

/** Folders in which each file is one of a kind, with the same names and exports as its siblings or as their subjects. */
const PLUG_INS = ['agents/', 'api/operations/', 'cli/commands/', 'prd/dialects/', 'worker/attempt/phases/'];

/** A known exception from a rule, which must be needed. */
export interface Exception {
  /** A path below src/, or an exported name. */
  subject: string;
  reason: string;
}

/** The breaches without those of an exception, and one more for each exception that is not needed. */
export function except(breaches: readonly Breach[], exceptions: readonly Exception[]): Breach[] {
  const isOf = ({ subject }: Exception, breach: Breach) => breach.startsWith(`${subject}: `);
  return [
    ...breaches.filter((breach) => !exceptions.some((exception) => isOf(exception, breach))),
    ...exceptions
      .filter((exception) => !breaches.some((breach) => isOf(exception, breach)))
      .map(({ subject }) => `${subject}: is an exception that is not needed`),
  ];
}

/** Folders with more files than a reader can survey. */
export function findCrowdedFolders(files: readonly SourceFile[]): Breach[] {
  return [...groupBy(files, ({ path }) => dirname(path))]
    .filter(([, members]) => members.length > MAX_FILES)
    .map(([folder, members]) => `${folder}: has ${members.length} files, more than ${MAX_FILES}`);
}

/** Calls of Node's recursive mkdir, which never returns below /proc; `createFolders` of lib/fs.ts does. */
export function findRecursiveMkdir(files: readonly SourceFile[]): Breach[] {
  return files
    .filter(({ text }) => /\bmkdir(?:Sync)?\([^;]*?recursive: true/.test(text))
    .map(({ path }) => `${path}: calls mkdir with recursive`);
}

/** Files that are too small for a name and an import of their own. Plug-ins are exempt. */
export function findFragments(files: readonly SourceFile[]): Breach[] {
  return files
    .filter(({ path, text }) => lineCount(text) < MIN_LINES && !isPlugIn(path))
    .map(({ path, text }) => `${path}: has only ${lineCount(text)} lines`);
}

/** Names that are declared and exported in more than one file. */
export function findRepeatedExports(files: readonly SourceFile[]): Breach[] {
  const exported = files.flatMap(({ path, text }) => [...new Set(exportsOf(text))].map((name) => ({ path, name })));
  return repeated(exported, ({ name }) => name);
}

/** Return types that the first word of a function's name promises. */
const RETURN_TYPES = {
  assert: /^(void|Promise<void>|never|asserts\b.*)$/s,
  is: /^(boolean|Promise<boolean>|\w+ is\b.*)$/s,
  require: /^(?!void\b|Promise<void>|boolean\b|never\b)/,
};

/** Functions whose declared return type contradicts their name: `assertX` returns nothing, `isX` a boolean, `requireX` a value. */
export function findMisnamedFunctions(files: readonly SourceFile[]): Breach[] {
  return files.flatMap(({ path, text }) =>
    [...text.matchAll(/\bfunction ((assert|is|require)[A-Z]\w*)/g)].flatMap(({ 1: name = '', 2: verb, index }) => {
      const type = returnTypeAt(text, index);
      return RETURN_TYPES[verb as keyof typeof RETURN_TYPES].test(type) ? [] : [`${path}: ${name} returns ${type}`];
    }),
  );
}

/** The declared return type of the function at an offset of a formatted source; empty if it has none. */
function returnTypeAt(text: string, offset: number): string {
  let depth = 0;
  for (let at = text.indexOf('(', offset); at >= 0 && at < text.length; at++) {
    if (text[at] === '(') depth++;
    if (text[at] === ')' && --depth === 0) return /^: ([^\n]*?) \{\n/.exec(text.slice(at + 1))?.[1] ?? '';
  }
  return '';
}

/** Files with the same name, outside the folders of plug-ins. */
export function findRepeatedNames(files: readonly SourceFile[]): Breach[] {
  return repeated(
    files.filter(({ path }) => !isPlugIn(path)),
    ({ path }) => basename(path),
  );
}

/** The file that shows an attempt must stay a table of contents. */
export function findLongAttempt(files: readonly SourceFile[]): Breach[] {
  return files
    .filter(({ path }) => path === ATTEMPT)
    .flatMap(({ path, text, imports }) => [
      ...(lineCount(text) > MAX_ATTEMPT_LINES ? [`${path}: has more than ${MAX_ATTEMPT_LINES} lines`] : []),
      ...(imports.length > MAX_ATTEMPT_IMPORTS ? [`${path}: has more than ${MAX_ATTEMPT_IMPORTS} imports`] : []),
      // Prettier indents the body of a function by two, and that of a nested block by four or more.
      ...(/^ {4,}try \{/m.test(text) ? [`${path}: has a nested try`] : []),
    ]);
}

/** The names that a source declares and exports; several declarations of one name, as of a schema and its type, count once. */
export function exportsOf(text: string): string[] {
  const declared = text.matchAll(
    /^export (?:declare )?(?:abstract )?(?:async )?(?:function\*?|const|let|class|interface|type|enum) +(\w+)/gm,
  );
  return [...declared].map(([, name = '']) => name);
}

function repeated<T extends { path: string }>(items: readonly T[], keyOf: (item: T) => string): Breach[] {
  return [...groupBy(items, keyOf)]
    .filter(([, members]) => members.length > 1)
    .map(([key, members]) => `${key}: is in ${members.map(({ path }) => path).join(', ')}`);
}

function groupBy<T>(items: readonly T[], keyOf: (item: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const item of items) groups.set(keyOf(item), [...(groups.get(keyOf(item)) ?? []), item]);
  return groups;
}

function lineCount(text: string): number {
  return text.split('\n').length - 1;
}

function isPlugIn(path: string): boolean {
  return PLUG_INS.some((folder) => path.startsWith(folder));
}

/** The path of a story has at most as many files; each is imported by an earlier one, or connected by a composition root. */
const MAX_PATH_FILES = 32;
const PATH_STEPS = 10;
const COMPOSES = /(?:^|\/)(?:main|compose(?:-\w+)?)\.ts$/;

/** Compares the section of ARCHITECTURE.md about the path of a story with the imports of the sources. */
export function findPathBreaks(architecture: string, files: readonly SourceFile[]): Breach[] {
  const [, section = ''] = /^## The path of a story\n([\s\S]*?)^## /m.exec(architecture) ?? [];
  const steps = section.split(/^\d+\. /m).slice(1);
  const named = [...new Set([...section.matchAll(/`src\/([^`]+\.ts)`/g)].map(([, path = '']) => path))];
  const importers = (path: string) =>
    files.filter(({ imports }) => imports.some(({ target, ours }) => ours && target === path)).map((file) => file.path);
  const isReached = (path: string) => importers(path).some((from) => named.includes(from) || COMPOSES.test(from));
  return [
    ...(steps.length === PATH_STEPS ? [] : [`the path of a story has ${steps.length} steps, not ${PATH_STEPS}`]),
    ...(named.length <= MAX_PATH_FILES ? [] : [`the path of a story has ${named.length} files`]),
    ...steps.filter((step) => !step.includes('`src/')).map((step) => `a step names no file: ${step.slice(0, 40)}`),
    ...named
      .filter((path) => path !== 'cli/main.ts' && !isReached(path))
      .map((path) => `${path}: no file of the path imports it`),
  ];
}

/**
 * Compares the tables of ARCHITECTURE.md with the folders of src/ and those in them: `| `src/git` | … |`, then a row of the
 * second table with `commit/` and the others.
 */
export function findUnlistedFolders(architecture: string, files: readonly SourceFile[]): Breach[] {
  const rows = architecture.split('\n').flatMap((line) => {
    const [, folder, text = ''] = /^\| `src\/(\w+)` +\|(.*)/.exec(line) ?? [];
    return folder === undefined ? [] : [{ folder, text }];
  });
  const inside = groupBy(
    files.filter(({ path }) => path.includes('/')),
    ({ path }) => path.split('/')[0] ?? '',
  );
  return [...inside].flatMap(([folder, members]) => {
    const listed = rows.filter((row) => row.folder === folder);
    const named = listed
      .slice(1)
      .flatMap(({ text }) => [...text.matchAll(/`([\w-]+)\/`/g)].map(([, name = '']) => name));
    const there = new Set(
      members.map(({ path }) => path.split('/')).flatMap(([, name = '', file]) => (file ? [name] : [])),
    );
    return [
      ...(listed.length === 0 ? [`src/${folder}: is in no table`] : []),
      ...[...there].filter((name) => !named.includes(name)).map((name) => `src/${folder}/${name}: is in no table`),
    ];
  });
}

/** Words with which the name of a test does not begin: its subject would be elsewhere. */
const NO_SUBJECT =
  'after|and|as|at|because|before|below|but|by|for|from|if|in|of|on|or|since|so|than|that|to|unless|until|when|where|which|while|who|whose|with|without';
const TEST_NAME = /(?:^\s*(?:it|test)(?:\.(?:runIf|skipIf)\([^)]*\))?|^\s*\](?: as const)?\))\(\s*(['"`])(.+?)\1/gm;

/** Tests whose names do not begin with their subject. */
export function findNamesWithoutSubject(files: readonly SourceFile[]): Breach[] {
  return files.flatMap(({ path, text }) =>
    [...text.matchAll(TEST_NAME)]
      .map(([, , name = '']) => name)
      .filter((name) => new RegExp(`^(?:${NO_SUBJECT})\\b`).test(name))
      .map((name) => `${path}: "${name}" does not begin with its subject`),
  );
}
