import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

/** The sources as plain JavaScript, for child processes of tests. `remove` when done. */
export interface Built {
  /** Absolute path of a module, named as under src/ without its suffix, e.g. `store/store`. */
  module(name: string): string;
  remove(): void;
}

/** Compiles src/ without type checks into a temporary folder. */
export function buildSources(): Built {
  const root = resolve(import.meta.dirname, '../../..');
  const dir = mkdtempSync(join(tmpdir(), 'halo-built-'));
  const options = ['-p', join(root, 'tsconfig.build.json'), '--noCheck', '--outDir', join(dir, 'dist')];
  execFileSync(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), ...options], { stdio: 'pipe' });
  symlinkSync(join(root, 'node_modules'), join(dir, 'node_modules'));
  symlinkSync(join(root, 'package.json'), join(dir, 'package.json'));
  return {
    module: (name) => join(dir, 'dist', `${name}.js`),
    remove: () => rmSync(dir, { recursive: true, force: true }),
  };
}
