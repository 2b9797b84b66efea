import { mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

const ROOT = resolve(import.meta.dirname, '../../..');
const { compile } = createRequire(import.meta.url)('../../../scripts/build.cjs') as {
  compile: (root: string, work: string, options: { outDir: string; entries: Record<string, string> }) => void;
};
/** Where a release has modules that several entries share, and the scripts that they start. */
const placeOf = (name: string) => `chunks/${name.replaceAll('/', '-')}`;

/** Modules of src/ as JavaScript, for child processes of tests. Call `remove` after use. */
export interface Built {
  /** Absolute path of a module that was built. */
  module(name: string): string;
  remove(): void;
}

/** Bundles modules of src/, named without suffix (`store/store`), into a temporary folder, as in a release. */
export function buildSources(...names: string[]): Built {
  const dir = mkdtempSync(join(tmpdir(), 'halo-built-'));
  const entries = Object.fromEntries(names.map((name) => [placeOf(name), `src/${name}.ts`]));
  compile(ROOT, dir, { outDir: join(dir, 'dist'), entries });
  symlinkSync(join(ROOT, 'node_modules'), join(dir, 'node_modules'));
  symlinkSync(join(ROOT, 'package.json'), join(dir, 'package.json'));
  return {
    module: (name) => join(dir, 'dist', `${placeOf(name)}.cjs`),
    remove: () => rmSync(dir, { recursive: true, force: true }),
  };
}
