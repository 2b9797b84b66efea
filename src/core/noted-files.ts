import { formatPlaces } from './text/hidden-places.ts';
import { safeLine } from './text/safe-text.ts';

/** A file that a change made large. */
export interface LargeFile {
  path: string;
  bytes: number;
}

/** A new file that is not part of a change, because git ignores it. */
export interface IgnoredFile {
  path: string;
  /** Where the rule is, and its pattern, such as `.gitignore:2 \`lib/\``. */
  rule: string;
}

/** More are not named. */
export const MAX_IGNORED = 20;

/** What an import notes of the files of a change: fields of its event, and of the story until the next import. */
export interface NotedFiles {
  /** Files that the last attempt made large. */
  large?: LargeFile[];
  /** Lock files that the last attempt added, changed or removed. */
  locks?: string[];
  /** Files of the last attempt whose content no diff shows. */
  binary?: string[];
  /** New files of the last attempt that git ignores. */
  ignored?: IgnoredFile[];
}

export const NOTED_FILES = Object.keys({
  large: true,
  locks: true,
  binary: true,
  ignored: true,
} satisfies Record<keyof NotedFiles, true>) as (keyof NotedFiles)[];

/** Larger files are reported: the limit of pre-commit's check-added-large-files. */
export const LARGE_BYTES = 500 * 1024;

/** Lock files of package managers. */
const LOCK_FILES = new Set([
  'Cargo.lock',
  'Gemfile.lock',
  'Package.resolved',
  'Pipfile.lock',
  'Podfile.lock',
  'bun.lock',
  'bun.lockb',
  'composer.lock',
  'deno.lock',
  'flake.lock',
  'go.sum',
  'gradle.lockfile',
  'mix.lock',
  'npm-shrinkwrap.json',
  'package-lock.json',
  'packages.lock.json',
  'pdm.lock',
  'pnpm-lock.yaml',
  'poetry.lock',
  'pubspec.lock',
  'pylock.toml',
  'uv.lock',
  'yarn.lock',
]);

export function isLockFile(path: string): boolean {
  return LOCK_FILES.has(path.slice(path.lastIndexOf('/') + 1));
}

/** E.g. `adds data.bin (2.1 MiB)`. */
export function describeLargeFiles(large: readonly LargeFile[]): string {
  return `adds ${formatPlaces(large.map(({ path, bytes }) => `${path} (${(bytes / 1024 ** 2).toFixed(1)} MiB)`))}`;
}

/** E.g. `changes package-lock.json`. */
export function describeLockFiles(locks: readonly string[]): string {
  return `changes ${formatPlaces(locks)}`;
}

/** E.g. `has binary content in logo.png`. */
export function describeBinaryFiles(binary: readonly string[]): string {
  return `has binary content, which no diff shows, in ${formatPlaces(binary)}`;
}

/** E.g. `git ignores new files, which are not part of the change: lib/y.js (.gitignore:2 …)`. */
export function describeIgnored(ignored: readonly IgnoredFile[]): string {
  const shown = ignored.map(({ path, rule }) => `${safeLine(path)} (${safeLine(rule)})`);
  return `git ignores new files, which are not part of the change: ${formatPlaces(shown)}`;
}
