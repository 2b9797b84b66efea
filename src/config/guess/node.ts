import type { Guess, RootFiles } from './repository.ts';

/** Scripts that are gates, cheapest first. */
const GATE_SCRIPTS = ['lint', 'typecheck', 'type-check', 'check', 'build', 'test'];
/** What `npm init` writes. */
const NO_TEST = 'no test specified';

interface Manager {
  name: string;
  lockFile: string;
  install: string;
}

/** Node.js: the scripts of package.json, with the package manager of the lock file. */
export function guessNode(files: RootFiles): Guess {
  const text = files.get('package.json');
  const manifest = text === undefined ? undefined : parseManifest(text);
  if (manifest === undefined) return { setup: [], gates: [], reasons: [] };
  const manager = findManager(files);
  const run = manager?.name ?? 'npm';
  const scripts = GATE_SCRIPTS.filter((name) => isGate(manifest.scripts[name]));
  const gates = scripts.map((name) => (name === 'test' ? `${run} test` : `${run} run ${name}`));
  const reasons = scripts.length === 0 ? [] : [`package.json has the scripts ${scripts.join(', ')}`];
  if (manager !== undefined) {
    return { setup: [manager.install], gates, reasons: [`${manager.lockFile}: ${manager.install}`, ...reasons] };
  }
  if (!manifest.hasDependencies) return { setup: [], gates, reasons };
  return { setup: ['npm install'], gates, reasons: ['package.json has dependencies and no lock file', ...reasons] };
}

function findManager(files: RootFiles): Manager | undefined {
  const yarn = files.has('.yarnrc.yml') ? 'yarn install --immutable' : 'yarn install --frozen-lockfile';
  const managers: Manager[] = [
    { name: 'pnpm', lockFile: 'pnpm-lock.yaml', install: 'pnpm install --frozen-lockfile' },
    { name: 'yarn', lockFile: 'yarn.lock', install: yarn },
    { name: 'npm', lockFile: 'package-lock.json', install: 'npm ci' },
    { name: 'npm', lockFile: 'npm-shrinkwrap.json', install: 'npm ci' },
  ];
  return managers.find(({ lockFile }) => files.has(lockFile));
}

function parseManifest(text: string): { scripts: Record<string, unknown>; hasDependencies: boolean } | undefined {
  try {
    const manifest = asTable(JSON.parse(text));
    const groups = ['dependencies', 'devDependencies', 'optionalDependencies'];
    const hasDependencies = groups.some((group) => Object.keys(asTable(manifest[group])).length > 0);
    return { scripts: asTable(manifest.scripts), hasDependencies };
  } catch {
    return undefined;
  }
}

function isGate(script: unknown): boolean {
  return typeof script === 'string' && !script.includes(NO_TEST) && !/\s--?watch\b/.test(script);
}

function asTable(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}
