import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { PRD_PLACES } from '../../../src/api/repository/discover-prd.ts';
import { findProtected, PROTECTED_GROUPS } from '../../../src/git/protect/protected-paths.ts';

describe('findProtected', () => {
  it.each([
    ...['.github/workflows/ci.yml', '.gitlab-ci.yml', 'Jenkinsfile', '.circleci/config.yml'],
    ...['.claude/settings.json', 'web/.claude/hooks/x.sh', '.mcp.json', 'AGENTS.md', 'docs/CLAUDE.md', '.codex/config'],
    ...['.husky/pre-commit', '.pre-commit-config.yaml', '.gitattributes', 'sub/.gitattributes', '.lfsconfig'],
    ...['.vscode/tasks.json', '.idea/x.xml', '.devcontainer/devcontainer.json', '.envrc', 'x.code-workspace'],
    ...['halo.toml', '.halo/config.toml', 'node_modules/.bin/sh', 'web/node_modules/a.js', '.venv/bin/python'],
    // In the place of a folder: a symbolic link to an unprotected path.
    ...['.github', '.claude', '.vscode', '.halo'],
    ...['.GitHub/workflows/ci.yml', 'agents.MD', 'HALO.toml', 'ﬁ/.ＣＬＡＵＤＥ/x'],
  ])('matches %s', async (path) => {
    expect(await findProtected(['src/a.ts', path], [])).toEqual([path]);
  });

  /** One of each kind of order to something outside, as many tools as people use. */
  it('matches everything that any of these tools would execute', async () => {
    const paths = [
      ...['opencode.json', 'opencode.jsonc', 'QWEN.md', 'AGENT.md', 'a/.goosehints', '.rules', '.junie/guidelines.md'],
      ...['.kilocode/mcp.json', '.trae/x', '.qwen/x', '.augment/x', '.crush/x', 'crush.json', '.devin/x', '.factory/x'],
      ...[
        '.zencoder/x',
        '.amp/x',
        '.openhands/x',
        '.aiassistant/x',
        'WARP.md',
        '.roomodes',
        '.roorules-code',
        '.ruler/x',
      ],
      ...['lefthook.toml', 'lefthook.json', '.lefthook.yaml', 'lefthook-local.yml', '.simple-git-hooks.json'],
      ...['.gitpod.yml', '.replit', '.idx/dev.nix', '.vs/x', '.run/x.xml', '.nvim.lua', '.lvimrc', 'x.sublime-project'],
      ...[
        'mise.toml',
        '.mise.toml',
        '.tool-versions',
        '.envrc',
        '.env',
        'flake.nix',
        'devbox.json',
        '.config/mise.toml',
      ],
      ...[
        '.cargo/config.toml',
        'crates/a/.cargo/config',
        '.mvn/extensions.xml',
        'gradle/wrapper/gradle-wrapper.properties',
      ],
      ...[
        '.yarn/releases/yarn.cjs',
        '.pnp.cjs',
        '.pnpmfile.cjs',
        'bunfig.toml',
        '.bazelrc',
        '.bundle/config',
        'pip.conf',
      ],
      ...['venv/bin/python', 'vendor/x.go', 'php/vendor/bin/phpunit', 'gradlew', 'rust-toolchain.toml', 'tools/bazel'],
      ...[
        '.build.yml',
        '.builds/x.yml',
        '.tekton/x',
        'azure-pipelines.yaml',
        '.azure-pipelines/x.yml',
        '.woodpecker.yaml',
      ],
      ...[
        '.drone.star',
        '.drone.jsonnet',
        '.cirrus.star',
        'bitbucket-pipelines.yaml',
        'buildspec.yaml',
        'cloudbuild.json',
      ],
      ...[
        'circle.yml',
        'wercker.yml',
        '.harness/x',
        '.screwdriver.yaml',
        'screwdriver.yaml',
        'api/azure-pipelines-pr.yml',
      ],
      ...[
        'netlify.toml',
        'web/vercel.json',
        'fly.toml',
        'Procfile',
        'app.yaml',
        'render.yaml',
        'wrangler.toml',
        '.do/app.yaml',
      ],
      ...['sub/.github/workflows/x.yml', 'renovate.json', '.mergify.yml', '.kodiak.toml', 'docs/CODEOWNERS', 'OWNERS'],
      ...[
        '.hg/hgrc',
        '.jj/repo/config.toml',
        '.ycm_extra_conf.py',
        '.iex.exs',
        '.Rprofile',
        'sitecustomize.py',
        '.gdbinit',
      ],
      ...[
        '.trivyignore',
        '.gitleaks.toml',
        'prd.json',
        'scripts/ralph/prd.json',
        'scripts/ralph/ralph.sh',
        'PROMPT.md',
      ],
      ...[
        'IMPLEMENTATION_PLAN.md',
        'tasks.json',
        '.hank/IMPLEMENTATION_PLAN.md',
        '.taskmaster/tasks/tasks.json',
        '.repos.json',
      ],
      // In the place of a folder that is not there.
      ...['gradle', 'scripts/ralph', '.cargo', 'vendor'],
    ];
    expect(await findProtected(paths, [])).toEqual(paths);
  });

  it('matches each place where halo finds a PRD by itself', async () => {
    expect(await findProtected(PRD_PLACES, [])).toEqual(PRD_PLACES);
  });

  it('does not match what stories usually have to change', async () => {
    const paths = [
      ...['src/github/ci.yml', 'docs/agents.md.txt', 'package.json', '.gitignore', 'github/x', 'a/halo.toml'],
      ...['Makefile', 'Dockerfile', 'docker-compose.yml', 'package-lock.json', 'pnpm-lock.yaml', 'yarn.lock', 'go.mod'],
      ...[
        'Cargo.toml',
        'build.rs',
        'build.gradle',
        'gradle/libs.versions.toml',
        'pyproject.toml',
        'conftest.py',
        'setup.py',
      ],
      ...['.env.example', '.eslintrc.json', '.prettierrc', '.editorconfig', '.dockerignore', '.nvmrc', 'tsconfig.json'],
      ...[
        'src/render.ts',
        'src/vendor/list.tsx',
        'app/models/vendor/shop.rb',
        'src/config/core.ts',
        'hooks/use-cart.ts',
      ],
      ...['README.md', 'CHANGELOG.md', 'docs/PRD.md', 'TODO.md', 'scripts/build.sh', 'scripts/ralph/progress.txt'],
      ...[
        'app.json',
        'api/app.yaml',
        'k8s/deployment.yaml',
        'main.tf',
        'models/net.pth',
        'src/rules.ts',
        'tasks/a.json',
      ],
    ];
    expect(await findProtected(paths, [])).toEqual([]);
  });

  it('applies the configured globs in order', async () => {
    const paths = ['AGENTS.md', 'db/migrations/1.sql', 'halo.toml'];
    expect(await findProtected(paths, ['db/**', '!agents.md'])).toEqual(['db/migrations/1.sql', 'halo.toml']);
    expect(await findProtected(paths, ['!**', 'db/**'])).toEqual(['db/migrations/1.sql']);
  });
});

it('matches what servers, debuggers and editors start by themselves', async () => {
  const paths = [
    ...[
      'atlantis.yaml',
      '.vela.yml',
      'ci.gocd.yaml',
      '.coderabbit.yaml',
      'codecov.yml',
      'sub/.bsp/sbt.json',
      'a/.dagger/x',
    ],
    ...['sub/.spacelift/x', '.pdbrc', 'app/.flaskenv', '.sdkmanrc', '.php-cs-fixer.dist.php', '.pylintrc'],
    ...['compose.override.yaml', 'docker-compose.override.yml'],
  ];
  expect(await findProtected(paths, [])).toEqual(paths);
});

it('docs/proof.md contains the current list', () => {
  const docs = readFileSync(new URL('../../../docs/proof.md', import.meta.url), 'utf8');
  const lines = Object.entries(PROTECTED_GROUPS).map(
    ([group, globs]) => `- ${group}: ${globs.map((glob) => `\`${glob}\``).join(', ')}`,
  );
  const listed = /^The list of protected paths[^\n]*\n\n([^]*?)\n\n/m.exec(docs)?.[1]?.split('\n');
  expect(listed).toEqual(lines);
});
