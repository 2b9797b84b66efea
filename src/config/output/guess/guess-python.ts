import type { Guess, RootFiles } from './guess.ts';

const NEEDS = ['pyproject.toml', 'requirements.txt', 'requirements-dev.txt', 'setup.cfg'];

/** Python: the installer of the lock file, and the configured tools. */
export function guessPython(files: RootFiles): Guess {
  const project = files.get('pyproject.toml') ?? '';
  const needs = NEEDS.map((name) => files.get(name));
  const installer = findInstaller(files);
  const prefix = installer?.prefix ?? '';
  const found: [gate: string, reason: string, source: string][] = [];
  const own = { ruff: firstOf(files, ['ruff.toml']), mypy: firstOf(files, ['mypy.ini']) };
  const left: string[] = [];
  for (const [tool, command] of [['ruff', 'ruff check .'] as const, ['mypy', 'mypy .'] as const]) {
    if (own[tool] === undefined && !project.includes(`[tool.${tool}`)) continue;
    if (isInstalled(tool, needs)) found.push([command, `${tool} is configured`, own[tool] ?? 'pyproject.toml']);
    else left.push(`${tool} is configured, but nothing installs it: no gate`);
  }
  if (files.has('tox.ini')) found.push(['tox', 'there is a tox.ini', 'tox.ini']);
  else {
    const source =
      firstOf(files, ['pytest.ini', 'conftest.py']) ?? NEEDS.find((name) => files.get(name)?.includes('pytest'));
    if (source !== undefined) found.push(['pytest -v', 'the project uses pytest', source]);
  }
  return {
    setup: installer === undefined ? [] : [installer.install],
    gates: found.map(([gate]) => `${prefix}${gate}`),
    sources: Object.fromEntries(found.map(([gate, , source]) => [`${prefix}${gate}`, [source]])),
    reasons: [...(installer === undefined ? [] : [installer.reason]), ...found.map(([, reason]) => reason), ...left],
    ...(installer?.env === undefined ? {} : { env: installer.env }),
  };
}

function firstOf(files: RootFiles, names: readonly string[]): string | undefined {
  return names.find((name) => files.has(name));
}

/** True if a dependency list names a tool: as a string, a key of a Poetry table or a line. */
function isInstalled(tool: string, texts: readonly (string | undefined)[]): boolean {
  const named = new RegExp(`["']${tool}["'\\s<>=~!;\\[]|^${tool}(?:\\s*=|[\\s<>=~!;\\[]|$)`, 'm');
  return texts.some((text) => text !== undefined && named.test(text));
}

interface Installer {
  install: string;
  prefix: string;
  reason: string;
  env?: Record<string, string>;
}

function findInstaller(files: RootFiles): Installer | undefined {
  if (files.has('uv.lock')) return { install: 'uv sync --frozen', prefix: 'uv run ', reason: 'there is a uv.lock' };
  if (files.has('poetry.lock')) {
    const install = 'poetry install --no-interaction';
    const env = { POETRY_VIRTUALENVS_IN_PROJECT: 'true' };
    return { install, prefix: 'poetry run ', reason: 'there is a poetry.lock', env };
  }
  const lists = ['requirements.txt', 'requirements-dev.txt'].filter((name) => files.has(name));
  if (lists.length === 0) return undefined;
  const install = `python3 -m venv .venv && .venv/bin/pip install ${lists.map((name) => `-r ${name}`).join(' ')}`;
  return { install, prefix: '.venv/bin/', reason: `there is ${lists.join(' and ')}` };
}
