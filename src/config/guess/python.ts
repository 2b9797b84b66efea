import type { Guess, RootFiles } from './repository.ts';

/** Python: the installer of the lock file, and the tools that are configured. */
export function guessPython(files: RootFiles): Guess {
  const project = files.get('pyproject.toml') ?? '';
  const needs = [project, files.get('requirements.txt'), files.get('requirements-dev.txt'), files.get('setup.cfg')];
  const mentions = (word: string) => needs.some((text) => text?.includes(word) === true);
  const installer = findInstaller(files);
  const prefix = installer?.prefix ?? '';
  const found: [gate: string, reason: string][] = [];
  if (project.includes('[tool.ruff') || files.has('ruff.toml')) found.push(['ruff check .', 'ruff is configured']);
  if (project.includes('[tool.mypy') || files.has('mypy.ini')) found.push(['mypy .', 'mypy is configured']);
  if (files.has('tox.ini')) found.push(['tox', 'there is a tox.ini']);
  else if (files.has('pytest.ini') || files.has('conftest.py') || mentions('pytest')) {
    found.push(['pytest', 'the project uses pytest']);
  }
  return {
    setup: installer === undefined ? [] : [installer.install],
    gates: found.map(([gate]) => `${prefix}${gate}`),
    reasons: [...(installer === undefined ? [] : [installer.reason]), ...found.map(([, reason]) => reason)],
  };
}

function findInstaller(files: RootFiles): { install: string; prefix: string; reason: string } | undefined {
  if (files.has('uv.lock')) return { install: 'uv sync --frozen', prefix: 'uv run ', reason: 'there is a uv.lock' };
  if (files.has('poetry.lock')) {
    return { install: 'poetry install --no-interaction', prefix: 'poetry run ', reason: 'there is a poetry.lock' };
  }
  const lists = ['requirements.txt', 'requirements-dev.txt'].filter((name) => files.has(name));
  if (lists.length === 0) return undefined;
  const install = `python3 -m venv .venv && .venv/bin/pip install ${lists.map((name) => `-r ${name}`).join(' ')}`;
  return { install, prefix: '.venv/bin/', reason: `there is ${lists.join(' and ')}` };
}
