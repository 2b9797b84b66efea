import { formatPlaces } from './text/hidden-places.ts';

/** A file that a change made large. */
export interface LargeFile {
  path: string;
  bytes: number;
}

/** What an import notes of the files of a change: fields of its event, and of the story until the next import. */
export interface NotedFiles {
  /** Files that the last attempt made large. */
  large?: LargeFile[];
  /** Lock files that the last attempt added, changed or removed. */
  locks?: string[];
  /** Files of the last attempt whose content no diff shows. */
  binary?: string[];
}

export const NOTED_FILES = Object.keys({
  large: true,
  locks: true,
  binary: true,
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
