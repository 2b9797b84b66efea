import { compileGlob } from '../lib/glob.ts';
import { foldName } from './path-policy.ts';

/**
 * Files that are read as orders by something outside of a sandbox: CI, hooks, editors, agents, git and halo itself.
 * Whoever writes them runs code on somebody's machine later.
 */
export const PROTECTED_PATHS: readonly string[] = [
  // git, and hooks of its managers
  '**/.{gitattributes,gitmodules,gitconfig,lfsconfig,mailmap}',
  '**/.{husky,githooks,git-hooks}/**',
  '**/{.pre-commit-config.yaml,.pre-commit-hooks.yaml,lefthook.yml,lefthook.yaml,.lefthook.yml,.overcommit.yml}',
  // CI
  '.{github,gitlab,gitea,forgejo,circleci,buildkite,woodpecker,teamcity,semaphore}/**',
  '{.gitlab-ci.yml,.gitlab-ci.yaml,.travis.yml,.drone.yml,.cirrus.yml,.woodpecker.yml,appveyor.yml,.appveyor.yml}',
  '{Jenkinsfile,azure-pipelines.yml,bitbucket-pipelines.yml,cloudbuild.yaml,buildspec.yml,codemagic.yaml}',
  // agents
  '**/.{claude,codex,cursor,gemini,windsurf,opencode,kiro,roo,clinerules,continue,amazonq,agents,aider}/**',
  '**/{AGENTS,AGENTS.override,CLAUDE,CLAUDE.local,GEMINI}.md',
  '**/.{mcp.json,cursorrules,windsurfrules,clinerules,aider.conf.yml}',
  // editors and shells
  '**/.{vscode,idea,devcontainer,zed,fleet}/**',
  '**/{.envrc,.devcontainer.json,*.code-workspace,.vimrc,.nvimrc,.exrc,.dir-locals.el,.npmrc,.yarnrc,.yarnrc.yml}',
  // dependencies in the tree: gates find their programs there before those of the image
  '**/{node_modules,.venv,__pypackages__}/**',
  // halo
  '{halo.toml,.halo/**}',
];

/**
 * Those of `paths` that only a person may let through, in their order: halo's own list, then `globs` in turn, of which
 * one with a leading `!` takes its paths out again. Case and Unicode form do not count, as on many a file system.
 */
export function findProtected(paths: readonly string[], globs: readonly string[]): string[] {
  const rules = [...PROTECTED_PATHS, ...globs].map((glob) => {
    const negated = glob.startsWith('!');
    return { negated, pattern: compileGlob(foldName(negated ? glob.slice(1) : glob)) };
  });
  return paths.filter((path) => {
    const folded = foldName(path);
    // A protected folder is protected as a whole: a symbolic link in its place has the path without the slash.
    const matches = (pattern: RegExp) => pattern.test(folded) || pattern.test(`${folded}/`);
    return rules.reduce((held, { negated, pattern }) => (matches(pattern) ? !negated : held), false);
  });
}
