import { parseCommands } from '../../../core/command-needs.ts';
import { safeLine } from '../../../core/text/safe-text.ts';
import type { Guess, RootFiles } from './guess.ts';
import { asTable, findChecks, type Workflow } from './workflows.ts';

/** Scripts that are gates, cheapest first. */
const GATE_SCRIPTS = ['lint', 'typecheck', 'type-check', 'check', 'build', 'test'];
/** Part of the default test script of `npm init`. */
const NO_TEST = 'no test specified';

/** The pnpm store is too large for the home folder of a sandbox. pnpm 11 uses the second variable. */
const STORE = '/workspace/node_modules/.pnpm-store';
const PNPM_STORE = { npm_config_store_dir: STORE, pnpm_config_store_dir: STORE };

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
    (script) => !possible.some((other) => other !== script && runsScript(manifest.scripts, other, script)),
  );
  const gates = scripts.map((script) =>
    script === 'test' && name !== 'bun' ? `${name} test` : `${name} run ${script}`,
  );
  const sources = Object.fromEntries(gates.map((gate) => [gate, ['package.json']]));
  const setup = install === undefined ? [] : [install];
  const reasons = scripts.length === 0 ? [] : [`package.json has the scripts ${scripts.join(', ')}`];
  const env = name === 'pnpm' ? { env: PNPM_STORE } : {};
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
const RUNNERS = ['npm', 'pnpm', 'yarn', 'bun', 'run-s', 'run-p', 'npm-run-all', 'concurrently'];

/** True if a script runs another one, directly or indirectly. */
function runsScript(scripts: Record<string, unknown>, from: string, wanted: string, seen = new Set<string>()): boolean {
  if (seen.has(from)) return false;
  seen.add(from);
  return [`pre${from}`, from, `post${from}`].some((name) => {
    const text = scripts[name];
    if (typeof text !== 'string') return false;
    const named = parseCommands(text)
      .filter(([program = '']) => RUNNERS.includes(program))
      .flatMap((words) => words.slice(1).map((word) => word.replace(/^(?:npm|pnpm|yarn|bun):/, '')));
    return named.some((each) => each === wanted || (each in scripts && runsScript(scripts, each, wanted, seen)));
  });
}

function isGate(script: unknown): boolean {
  return typeof script === 'string' && !script.includes(NO_TEST) && !/\s--?watch\b/.test(script);
}
