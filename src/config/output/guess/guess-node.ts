import { parseCommands } from '../../../core/command-needs.ts';
import { safeLine } from '../../../core/text/safe-text.ts';
import type { Guess, RootFiles } from './guess.ts';
import { asTable, findChecks, type Workflow } from './workflows.ts';

/** Scripts that are gates, cheapest first. */
const GATE_SCRIPTS = ['lint', 'typecheck', 'type-check', 'check', 'build', 'test'];
/** Part of the default test script of `npm init`. */
const NO_TEST = 'no test specified';

const MODULES = '/workspace/node_modules';
/** Downloads that are too large for the home folder of a sandbox. pnpm 11 uses the second variable. */
const CACHES: Record<string, Record<string, string>> = {
  pnpm: { npm_config_store_dir: `${MODULES}/.pnpm-store`, pnpm_config_store_dir: `${MODULES}/.pnpm-store` },
  yarn: { YARN_CACHE_FOLDER: `${MODULES}/.yarn-cache`, YARN_GLOBAL_FOLDER: `${MODULES}/.yarn-cache` },
  bun: { BUN_INSTALL_CACHE_DIR: `${MODULES}/.bun-cache` },
};

interface Manager {
  name: string;
  lockFile: string;
  install: string;
}

/** Node.js: scripts of package.json with the name of a gate or run by workflows; the package manager of package.json or of the lock file. */
export function guessNode(files: RootFiles, workflows: readonly Workflow[] = []): Guess {
  const text = files.get('package.json');
  const manifest = text === undefined ? undefined : parseManifest(text);
  if (manifest === undefined) return { setup: [], gates: [], reasons: [] };
  const { name, install, reason } = resolveManager(files, manifest);
  const names = new Set([...GATE_SCRIPTS, ...findChecks(workflows, 'script')]);
  const possible = [...names].filter((script) => isGate(manifest.scripts[script]));
  const scripts = possible.filter(
    (script, index) =>
      !possible.some((other) => other !== script && runsScript(manifest.scripts, other, script)) &&
      !possible.slice(0, index).some((other) => isSameCheck(manifest.scripts, other, script)),
  );
  const gates = scripts.map((script) =>
    script === 'test' && name !== 'bun' ? `${name} test` : `${name} run ${script}`,
  );
  const sources = Object.fromEntries(gates.map((gate) => [gate, ['package.json']]));
  const setup = install === undefined ? [] : [install];
  const reasons = scripts.length === 0 ? [] : [`package.json has the scripts ${scripts.join(', ')}`];
  const caches = install === undefined ? undefined : CACHES[name];
  const env = caches === undefined ? {} : { env: caches };
  return { setup, gates, reasons: [...(reason === undefined ? [] : [reason]), ...reasons], sources, ...env };
}

/** Returns the package manager, its install command and the reason; no `install` if there is nothing to install. */
function resolveManager(files: RootFiles, manifest: Manifest): { name: string; install?: string; reason?: string } {
  const [named = '', version = ''] = manifest.packageManager.split('@');
  const isModern = files.has('.yarnrc.yml') || (named === 'yarn' && !/^[01]\./.test(version));
  const managers: Manager[] = [
    { name: 'pnpm', lockFile: 'pnpm-lock.yaml', install: 'pnpm install --frozen-lockfile' },
    { name: 'yarn', lockFile: 'yarn.lock', install: `yarn install ${isModern ? '--immutable' : '--frozen-lockfile'}` },
    { name: 'bun', lockFile: 'bun.lock', install: 'bun install --frozen-lockfile' },
    { name: 'bun', lockFile: 'bun.lockb', install: 'bun install --frozen-lockfile' },
    { name: 'npm', lockFile: 'package-lock.json', install: 'npm ci' },
    { name: 'npm', lockFile: 'npm-shrinkwrap.json', install: 'npm ci' },
  ];
  const locked = managers.filter(({ lockFile }) => files.has(lockFile));
  const chosen = locked.find(({ name }) => name === named) ?? (named === '' ? locked[0] : undefined);
  if (chosen !== undefined)
    return { name: chosen.name, install: chosen.install, reason: `${chosen.lockFile}: ${chosen.install}` };
  const known = managers.some(({ name }) => name === named);
  if (known) {
    const install = `${named} install`;
    return {
      name: named,
      install,
      reason: `package.json names ${manifest.packageManager} but there is no lock file for it: ${install}`,
    };
  }
  if (files.has('pnpm-workspace.yaml'))
    return { name: 'pnpm', install: 'pnpm install', reason: 'there is a pnpm-workspace.yaml' };
  if (!manifest.hasDependencies) return { name: 'npm' };
  return { name: 'npm', install: 'npm install', reason: 'package.json has dependencies and no lock file' };
}

interface Manifest {
  scripts: Record<string, unknown>;
  hasDependencies: boolean;
  /** For example `pnpm@9.1.0`; may be empty. */
  packageManager: string;
}

function parseManifest(text: string): Manifest | undefined {
  try {
    const manifest = asTable(JSON.parse(text));
    const groups = ['dependencies', 'devDependencies', 'optionalDependencies'];
    const hasDependencies =
      groups.some((group) => Object.keys(asTable(manifest[group])).length > 0) || 'workspaces' in manifest;
    const packageManager = typeof manifest.packageManager === 'string' ? safeLine(manifest.packageManager, 40) : '';
    return { scripts: asTable(manifest.scripts), hasDependencies, packageManager };
  } catch {
    return undefined;
  }
}

/** Programs that run the scripts named in their arguments. */
const RUNNERS = [
  'npm',
  'pnpm',
  'yarn',
  'bun',
  'run-s',
  'run-p',
  'npm-run-all',
  'npm-run-all2',
  'concurrently',
  'wireit',
];

/** True if a script runs another one, directly or indirectly. */
function runsScript(scripts: Record<string, unknown>, from: string, wanted: string, seen = new Set<string>()): boolean {
  if (seen.has(from)) return false;
  seen.add(from);
  return [`pre${from}`, from, `post${from}`].some((name) => {
    const text = scripts[name];
    if (typeof text !== 'string') return false;
    const named = parseCommands(text).flatMap(scriptsIn);
    return Object.keys(scripts).some(
      (script) =>
        named.some((pattern) => pattern.test(script)) &&
        (script === wanted || runsScript(scripts, script, wanted, seen)),
    );
  });
}

/** The words behind a runner, which may itself be behind a program such as `c8`, as patterns of scripts. */
function scriptsIn(words: readonly string[]): RegExp[] {
  const runner = words.findIndex((word) => RUNNERS.includes(word));
  return words
    .slice(runner < 0 ? words.length : runner + 1)
    .map((word) => word.replace(/["'\\]/g, '').replace(/^(?:npm|pnpm|yarn|bun):/, ''))
    .filter((word) => /^[\w:*./-]+$/.test(word) && !word.startsWith('-'))
    .map(toPattern);
}

/** `*` stands for a part between colons, `**` for several. */
function toPattern(word: string): RegExp {
  const parts = word
    .split(/(\*+)/)
    .map((part) => (part === '*' ? '[^:]*' : part.startsWith('*') ? '.*' : escape(part)));
  return new RegExp(`^${parts.join('')}$`);
}

function escape(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\/-]/g, '\\$&');
}

/** True if two scripts for the same purpose, such as `test` and `test:ci`, differ in flags only. */
function isSameCheck(scripts: Record<string, unknown>, one: string, other: string): boolean {
  if (one.split(/[:-]/)[0] !== other.split(/[:-]/)[0]) return false;
  const [first, second] = [one, other].map((name) => {
    const text = scripts[name];
    if (typeof text !== 'string') return undefined;
    return JSON.stringify(parseCommands(text).map((words) => words.filter((word) => !word.startsWith('-'))));
  });
  return first !== undefined && first === second;
}

function isGate(script: unknown): boolean {
  return typeof script === 'string' && !script.includes(NO_TEST) && !/\s--?watch\b/.test(script);
}
