import type { Guess, RootFiles } from '../../guess/repository.ts';

/** Python: the installer of the lock file, and the tools that are configured. */
export function guessPython(files: RootFiles): Guess {
  const project = files.get('pyproject.toml') ?? '';
  const needs = [project, files.get('requirements.txt'), files.get('requirements-dev.txt'), files.get('setup.cfg')];
  const mentions = (word: string) => needs.some((text) => text?.includes(word) === true);
  const installer = findInstaller(files);
  const prefix = installer?.prefix ?? '';
  const found: [gate: string, reason: string][] = [];
  const configured = { ruff: files.has('ruff.toml'), mypy: files.has('mypy.ini') };
  const left: string[] = [];
  for (const [tool, command] of [['ruff', 'ruff check .'] as const, ['mypy', 'mypy .'] as const]) {
    if (!configured[tool] && !project.includes(`[tool.${tool}`)) continue;
    if (isInstalled(tool, needs)) found.push([command, `${tool} is configured`]);
    else left.push(`${tool} is configured, but nothing installs it: no gate`);
  }
  if (files.has('tox.ini')) found.push(['tox', 'there is a tox.ini']);
  else if (files.has('pytest.ini') || files.has('conftest.py') || mentions('pytest')) {
    found.push(['pytest', 'the project uses pytest']);
  }
  return {
    setup: installer === undefined ? [] : [installer.install],
    gates: found.map(([gate]) => `${prefix}${gate}`),
    reasons: [...(installer === undefined ? [] : [installer.reason]), ...found.map(([, reason]) => reason), ...left],
    ...(installer?.env === undefined ? {} : { env: installer.env }),
  };
}

/** Whether a list of dependencies names a tool: as a string, as a key of Poetry's tables, or in a line of its own. */
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
