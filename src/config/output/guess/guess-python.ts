import type { Guess, RootFiles } from './guess.ts';
import { workflowsOf, type Workflow } from './workflows.ts';

/** Downloads that are too large for the home folder of a sandbox. */
const CACHE = '/workspace/.cache';
const NEEDS = ['pyproject.toml', 'requirements.txt', 'requirements-dev.txt', 'setup.cfg'];

/**
 * Python: the installer of the lock file, and the configured tools. tox is not a gate, because it creates environments and
 * downloads their packages, which gates cannot do without a network.
 */
export function guessPython(files: RootFiles, workflows: readonly Workflow[] = []): Guess {
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
  const byWorkflow = workflowsOf('pytest', workflows)[0];
  const source =
    firstOf(files, ['pytest.ini', 'conftest.py']) ??
    [...NEEDS, 'tox.ini'].find((name) => files.get(name)?.includes('pytest')) ??
    (installer === undefined && !files.has('tox.ini') ? undefined : byWorkflow);
  if (source !== undefined) found.push(['pytest -v', 'the project uses pytest', source]);
  else if (files.has('tox.ini'))
    left.push(
      'there is a tox.ini, but tox downloads packages, which gates cannot: make the commands that it runs gates',
    );
  return {
    setup: installer === undefined ? [] : [installer.install],
    gates: found.map(([gate]) => `${prefix}${gate}`),
    sources: Object.fromEntries(found.map(([gate, , source]) => [`${prefix}${gate}`, [source]])),
    reasons: [...(installer === undefined ? [] : [installer.reason]), ...found.map(([, reason]) => reason), ...left],
    ...(installer === undefined ? {} : { env: installer.env }),
    ...(installer !== undefined && Object.values(installer.env).some((value) => value.startsWith(CACHE))
      ? { keeps: ['.cache'] }
      : {}),
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
  env: Record<string, string>;
}

function findInstaller(files: RootFiles): Installer | undefined {
  if (files.has('uv.lock')) {
    const env = { UV_CACHE_DIR: `${CACHE}/uv` };
    return { install: 'uv sync --frozen', prefix: 'uv run ', reason: 'there is a uv.lock', env };
  }
  if (files.has('poetry.lock')) {
    const install = 'poetry install --no-interaction';
    const env = { POETRY_VIRTUALENVS_IN_PROJECT: 'true', POETRY_CACHE_DIR: `${CACHE}/poetry` };
    return { install, prefix: 'poetry run ', reason: 'there is a poetry.lock', env };
  }
  const lists = ['requirements.txt', 'requirements-dev.txt'].filter((name) => files.has(name));
  if (lists.length === 0) return undefined;
  const install = `python3 -m venv .venv && .venv/bin/pip install ${lists.map((name) => `-r ${name}`).join(' ')}`;
  const env = { PIP_NO_CACHE_DIR: '1' };
  return { install, prefix: '.venv/bin/', reason: `there is ${lists.join(' and ')}`, env };
}
