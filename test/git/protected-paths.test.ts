import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { findProtected, PROTECTED_PATHS } from '../../src/git/protected-paths.ts';

describe('findProtected', () => {
  it.each([
    ...['.github/workflows/ci.yml', '.gitlab-ci.yml', 'Jenkinsfile', '.circleci/config.yml'],
    ...['.claude/settings.json', 'web/.claude/hooks/x.sh', '.mcp.json', 'AGENTS.md', 'docs/CLAUDE.md', '.codex/config'],
    ...['.husky/pre-commit', '.pre-commit-config.yaml', '.gitattributes', 'sub/.gitattributes', '.lfsconfig'],
    ...['.vscode/tasks.json', '.idea/x.xml', '.devcontainer/devcontainer.json', '.envrc', 'x.code-workspace'],
    ...['halo.toml', '.halo/config.toml', 'node_modules/.bin/sh', 'web/node_modules/a.js', '.venv/bin/python'],
    // In the place of a folder: a symbolic link to what nobody watches.
    ...['.github', '.claude', '.vscode', '.halo'],
    ...['.GitHub/workflows/ci.yml', 'agents.MD', 'HALO.toml', 'ﬁ/.ＣＬＡＵＤＥ/x'],
  ])('holds %s', (path) => expect(findProtected(['src/a.ts', path], [])).toEqual([path]));

  it('leaves ordinary paths alone', () => {
    const paths = ['src/github/ci.yml', 'docs/agents.md.txt', 'package.json', '.gitignore', 'github/x', 'a/halo.toml'];
    expect(findProtected(paths, [])).toEqual([]);
  });

  it('goes by the configured globs in turn', () => {
    const paths = ['AGENTS.md', 'db/migrations/1.sql', 'halo.toml'];
    expect(findProtected(paths, ['db/**', '!agents.md'])).toEqual(['db/migrations/1.sql', 'halo.toml']);
    expect(findProtected(paths, ['!**', 'db/**'])).toEqual(['db/migrations/1.sql']);
  });
});

it('docs/proof.md names each protected path', () => {
  const docs = readFileSync(new URL('../../docs/proof.md', import.meta.url), 'utf8');
  const named = ['.gitattributes', '.husky/', '.github/', '.claude/', '`AGENTS.md`', '.vscode/', '.envrc', 'halo.toml'];
  expect(PROTECTED_PATHS.length).toBeGreaterThan(0);
  for (const name of named) expect(docs).toContain(name);
});
