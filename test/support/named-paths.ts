import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, relative } from 'node:path';
import type { Breach } from './architecture.ts';

export interface TextFile {
  /** Path below the root of the project. */
  path: string;
  text: string;
}

/** Files that name files of this project, and nothing else, below src/, dist/, test/, scripts/ and docker/. */
const OWN_NAMES = [
  'ARCHITECTURE.md',
  'CONTRIBUTING.md',
  'GLOSSARY.md',
  'bin',
  'compose.yaml',
  'docker',
  '.oxlintrc.json',
  'package.json',
  'scripts',
  'tsconfig.bench.json',
  'tsconfig.json',
  'vitest.config.ts',
];

/** Files that also name files of a user's repository, such as `src/cart.js`: only paths into halo's folders count. */
const MIXED_NAMES = ['README.md', 'docs', 'examples', 'scripts/example'];

const NAME = /(?:^|[\s'"`(=:,]|\.{1,2}\/|\$\{?\w+\}?\/)((?:src|dist|test|scripts|docker)\/[\w./-]*\w)(?![\w*])/gm;

const { ENTRIES } = createRequire(import.meta.url)('../../scripts/build.cjs') as { ENTRIES: Record<string, string> };

/** What the build writes to dist/; chunks have no names to rely on. */
const GENERATED = [
  'dist/.compiled',
  'dist/.sources',
  'dist/chunks',
  ...Object.keys(ENTRIES).map((name) => `dist/${name}.cjs`),
];

/** The text of all files that may name a source file. */
export function readNamingFiles(root: string): TextFile[] {
  const paths = [...OWN_NAMES, ...MIXED_NAMES].flatMap((path) => filesBelow(root, path));
  return [...new Set(paths)].map((path) => ({ path, text: readFileSync(join(root, path), 'utf8') }));
}

/** Paths that a script, a setting or a document names and that do not exist. */
export function findStalePaths(root: string, files: readonly TextFile[]): Breach[] {
  return files.flatMap(({ path, text }) =>
    namesIn(text)
      .filter((name) => (!isMixed(path) || isOurs(root, name)) && !exists(root, name))
      .map((name) => `${path}: names ${name}, which does not exist`),
  );
}

function namesIn(text: string): string[] {
  return [...new Set([...text.matchAll(NAME)].map(([, name = '']) => name))];
}

function exists(root: string, name: string): boolean {
  return name.startsWith('dist/') ? GENERATED.includes(name) : existsSync(join(root, name));
}

function isMixed(path: string): boolean {
  return MIXED_NAMES.some((place) => path === place || path.startsWith(`${place}/`));
}

/** `src/git/…` is a file of halo; `src/cart.js` and `src/components/…` are examples. */
function isOurs(root: string, name: string): boolean {
  const [top = '', folder = '', ...rest] = name.split('/');
  return top === 'dist' || (top !== 'docker' && rest.length > 0 && existsSync(join(root, top, folder)));
}

function filesBelow(root: string, path: string): string[] {
  if (statSync(join(root, path)).isFile()) return [path];
  return readdirSync(join(root, path), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(root, join(entry.parentPath, entry.name)))
    .filter((name) => !/\.(?:jsonl|png|svg|ico|gz)$/.test(name));
}
