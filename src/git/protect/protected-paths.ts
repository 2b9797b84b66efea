import { posix } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { compileGlobs, compileOwnGlobs, type GlobMatcher } from '../../lib/glob.ts';
import { foldName } from '../import/change-policy.ts';
import { policyViolation } from '../import/import-limits.ts';
import type { FileChange } from '../import/import-tree.ts';
import { readObjects } from '../objects/read-objects.ts';
import { listFiles, readTree } from '../objects/trees.ts';

let ownRules: Rule[] | undefined;

/** Time limit of the matching, because the worker has other stories to process. */
const MAX_MATCHING_MS = 60_000;
/** How long the matching runs before other stories of the worker get a turn. */
const SLICE_MS = 20;

/**
 * Returns those of `paths` that require approval, in their order: matched by halo's own list and then by `globs` in turn,
 * of which one with a leading `!` excludes paths again. Ignores case and Unicode form, like many file systems. Throws
 * POLICY_VIOLATION when the matching takes more than a minute.
 */
export async function findProtected(paths: readonly string[], globs: readonly string[]): Promise<string[]> {
  // Compiled once: it is the same for all stories.
  ownRules ??= compileRules(Object.values(PROTECTED_GROUPS).flat(), compileOwnGlobs);
  const rules = [...ownRules, ...compileRules(globs, compileGlobs)];
  const found: string[] = [];
  const began = performance.now();
  let slice = began;
  for (const path of paths) {
    const folded = foldName(path);
    // Also match with a slash: a symbolic link that replaces a protected folder is protected, too.
    const matches = (each: GlobMatcher) => each.test(folded) || each.test(`${folded}/`);
    if (rules.reduce((held, { negated, any }) => (matches(any) ? !negated : held), false)) found.push(path);
    const now = performance.now();
    if (now - began > MAX_MATCHING_MS)
      throw policyViolation(undefined, 'its paths take too long to compare with [land] protect');
    if (now - slice < SLICE_MS) continue;
    await setImmediate();
    slice = performance.now();
  }
  return found;
}

interface Rule {
  negated: boolean;
  any: GlobMatcher;
}

/** Compiles adjacent globs of the same kind into one rule, which is faster. */
function compileRules(globs: readonly string[], compile: typeof compileGlobs): Rule[] {
  const groups: { negated: boolean; globs: string[] }[] = [];
  for (const glob of globs) {
    const negated = glob.startsWith('!');
    if (groups.at(-1)?.negated !== negated) groups.push({ negated, globs: [] });
    groups.at(-1)?.globs.push(foldName(negated ? glob.slice(1) : glob));
  }
  return groups.map(({ negated, globs }) => ({ negated, any: compile(globs) }));
}

/**
 * Returns globs for `findProtected` that match these files or folders, everything below them, and anything that replaces
 * one of their parent folders.
 */
export function guardGlobs(paths: readonly string[]): string[] {
  return [...new Set(paths.flatMap(globsOf))];
}

function globsOf(path: string): string[] {
  // Glob characters become `?`, which matches slightly more than the character itself.
  const names = path.split('/').map((name) => name.replace(/[*?{},!]/g, '?'));
  const prefixes = names.map((_, index) => names.slice(0, index + 1).join('/'));
  return [...prefixes, `${names.join('/')}/**`];
}

/** Folders that no tool executes anything from. */
const KNOWN = new Set(['.changeset', '.storybook', '.well-known']);
const LINK = '120000';

/**
 * Finds the top-level dot folders, or links in their place, that a story creates: tools keep their configuration there,
 * and a list of known tools would never be complete. Throws GIT_FAILED.
 */
export async function findNewDotFolders({
  gitDir,
  base,
  changed,
}: {
  gitDir: string;
  base: string;
  changed: readonly FileChange[];
}): Promise<string[]> {
  const tops = changed.flatMap(({ path, change, mode }) => {
    const [top = '', below] = path.split('/');
    const isFolder = below !== undefined || mode === LINK;
    return change === 'add' && isFolder && top.startsWith('.') && !KNOWN.has(top) ? [top] : [];
  });
  if (tops.length === 0) return [];
  const [tree] = (await readObjects(gitDir, [`${base}:`])) ?? [];
  const before = new Set(readTree(tree, base.length / 2).map(({ name }) => foldName(name)));
  return [...new Set(tops)].filter((top) => !before.has(foldName(top)));
}

/** The paths of symbolic links, by their target path. */
type Links = ReadonlyMap<string, readonly string[]>;

const MAX_NAMES = 50;
/** No file system has longer targets. */
const MAX_LINK_BYTES = 4_096;

/** Reads the symbolic links of a commit that point into its tree. Throws GIT_FAILED. */
export async function readLinks(gitDir: string, commit: string, signal?: AbortSignal): Promise<Links> {
  const links = await listFiles({ gitDir, commit, signal }, ({ mode }) => mode === LINK);
  const ids = links.map(({ id }) => id);
  const targets = await readObjects(gitDir, ids, { signal, maxEach: MAX_LINK_BYTES });
  if (targets === undefined) throw policyViolation(undefined, 'the symbolic links are too large to be checked');
  const found = new Map<string, string[]>();
  links.forEach(({ path }, index) => {
    const target = targets[index]?.toString('utf8') ?? '';
    const to = posix.join(posix.dirname(path), target).replace(/\/$/, '');
    if (target.startsWith('/') || to.startsWith('..')) return;
    found.set(to, [...(found.get(to) ?? []), path]);
  });
  return found;
}

/** Returns all names of a path, its own first, then those through one or more symbolic links. */
export function namesOf(path: string, links: Links): string[] {
  const names = [path];
  if (links.size === 0) return names;
  for (const name of names) {
    const parts = name.split('/');
    for (let length = parts.length; length > 0 && names.length < MAX_NAMES; length -= 1) {
      const rest = parts.slice(length).map((part) => `/${part}`);
      for (const link of links.get(parts.slice(0, length).join('/')) ?? []) {
        const other = [link, ...rest].join('');
        if (!names.includes(other)) names.push(other);
      }
    }
  }
  return names;
}

/**
 * Files that control tools outside of a sandbox: changing them can run code on a developer's machine, publish in the
 * user's name, or disable protections. Grouped by the tools that read them; globs as in `[land] protect`. Files that most
 * stories have to change are not listed: package manifests, makefiles, Dockerfiles, lock files.
 */
export const PROTECTED_GROUPS = {
  'git and other version control': [
    '**/.{gitattributes,gitmodules,gitconfig,lfsconfig,mailmap,hgsub}',
    '**/.{hg,jj,sl,svn,bzr,pijul}/**',
    '**/{CVS,_darcs}/**',
  ],
  // Run at each commit, push or checkout.
  hooks: [
    '**/.{husky,githooks,git-hooks,hooks,lefthook,pre-commit,cargo-husky}/**',
    '**/{.pre-commit-config.yaml,.pre-commit-config.yml,.pre-commit-hooks.yaml,.overcommit.yml,prek.toml,hk.pkl}',
    '**/{lefthook,.lefthook,lefthook-local,.lefthook-local}.{yml,yaml,toml,json,jsonc}',
    '**/{.simple-git-hooks,simple-git-hooks,captainhook,.captainhook}.{json,js,cjs,mjs,ts}',
    '**/{.huskyrc,.huskyrc.*,.rusty-hook.toml,grumphp.yml,.lintstagedrc,.lintstagedrc.*,lint-staged.config.*}',
  ],
  // Run with the rights and secrets of the project, in each folder that may be the top of one.
  CI: [
    '**/.{github,gitlab,gitea,forgejo,circleci,buildkite,woodpecker,teamcity,semaphore,harness,tekton,builds}/**',
    '**/.{azure-pipelines,azure-devops,azuredevops,vsts-ci,drone,zuul.d,jenkins,ci,buddy,bitrise,codefresh}/**',
    '**/{.gitlab-ci*,.travis.yml,.travis.yaml,.cirrus.*,.build.yml,.build.yaml,.zuul.yaml,.scrutinizer.yml}',
    '**/{.drone,.woodpecker}.{yml,yaml,jsonnet,star}',
    '**/{appveyor,.appveyor,circle,codemagic,wercker,.wercker,shippable,buddy,bitrise,codefresh}.{yml,yaml}',
    '**/{azure-pipelines,bitbucket-pipelines,buildspec,cloudbuild,screwdriver,.screwdriver,taskcluster}*.{yml,yaml,json}',
    '**/{Jenkinsfile,Jenkinsfile.*,codeship-services.yml,codeship-steps.yml,.taskcluster.yml,.readthedocs.yaml,.vela.yml,*.gocd.yaml}',
  ],
  // May merge, approve, publish or release without a person.
  'bots and releases': [
    '**/{atlantis,.coderabbit,.gitstream,codecov,.codecov}.{yaml,yml,cm}',
    '**/{CODEOWNERS,OWNERS,OWNERS_ALIASES,renovate.json,renovate.json5,.renovaterc,.renovaterc.*}',
    '**/{.mergify.yml,.kodiak.toml,.bulldozer.yml,.policy.yml,.pullapprove.yml,.prow.yaml,bors.toml,.bors.toml}',
    '**/.{mergify,dependabot,probot,spacelift,terrateam}/**',
    '**/{.goreleaser,.release-it}.{yml,yaml,json,toml,js,cjs,ts}',
    '**/{.releaserc,.releaserc.*,release.config.*,release-please-config.json,.changeset/config.json}',
  ],
  // Deploy what is pushed.
  deployment: [
    '**/{netlify,fly,railway,nixpacks,wrangler}.toml',
    '**/{vercel,now,railway,firebase,wrangler}.{json,jsonc}',
    '**/{render,amplify,apprunner,heroku,serverless}.{yml,yaml}',
    '{app.yaml,app.yml,serverless.json,serverless.ts,serverless.js,Procfile,captain-definition}',
    '**/{Procfile.*,.firebaserc,.platform.app.yaml}',
    '**/.{vercel,netlify,firebase,platform,upsun,ebextensions,elasticbeanstalk,do,heroku}/**',
  ],
  // Read by the next agent, and the servers that it starts.
  agents: [
    '**/.{claude,claude-plugin,codex,cursor,gemini,windsurf,opencode,kiro,roo,cline,clinerules,continue}/**',
    '**/.{amazonq,aider,agent,agents,kilo,kilocode,trae,qwen,junie,augment,crush,devin,factory,zencoder,amp}/**',
    '**/.{goose,openhands,vibe,pi,kimi,warp,aiassistant,tabnine,codeium,copilot,codebuddy,iflow,qoder,rovodev}/**',
    '**/.{mcp,ai,serena,specify,ruler,rulesync,bmad-core,beads,conductor}/**',
    '**/{AGENTS,AGENT,AGENTS.override,AGENTS.local,CLAUDE,CLAUDE.local,GEMINI,QWEN,CRUSH,WARP,CODEX,CODEBUDDY}.md',
    '**/{IFLOW,CONTEXT,copilot-instructions,replit,.openhands_instructions}.md',
    '**/.github/{agents,copilot,hooks,instructions,prompts,skills}/**',
    '**/{opencode,.opencode,kilo,crush,.crush,mcp,.mcp,lsp,firebender,conductor,rulesync}.{json,jsonc}',
    '**/.{rules,airules,cursorrules,windsurfrules,clinerules,clinerules-*,roorules,roorules-*,roomodes,goosehints}',
    '**/.{kilocodemodes,continuerules,builderrules,aider.conf.yml,aider.model.settings.yml}',
  ],
  // Start programs when a folder or a project is opened.
  'editors and workspaces': [
    '**/.{vscode,idea,devcontainer,zed,fleet,vs,run,nova,theia,helix,nvim,vim,settings,externalToolBuilders}/**',
    '**/.{gitpod,idx,codesandbox,coder,daytona,ona,bsp,dagger}/**',
    '**/{.gitpod.yml,.gitpod.Dockerfile,.replit,replit.nix,.devcontainer.json,devfile.yaml,.devfile.yaml,.project}',
    '**/*.{code-workspace,sublime-project,Rproj}',
    '**/{.vimrc,.gvimrc,.nvimrc,.exrc,.nvim.lua,.lvimrc,.vimspector.json,.dir-locals.el,.dir-locals-2.el}',
    '**/{.ycm_extra_conf.py,.clangd,.luarc.json,.luarc.jsonc,.gdbinit,.lldbinit,.pylintrc,.php-cs-fixer*.php}',
  ],
  // Run when a shell enters a folder, or an interpreter starts in it.
  'shells and interpreters': [
    '**/{.env,.env.local,.envrc,.envrc.*,.autoenv,.autoenv.*,.tool-versions,.prototools}',
    '**/{mise,.mise,mise.*,.mise.*}.toml',
    '**/.{mise,config,direnv,devenv,devbox,flox}/**',
    '**/{flake,shell,default,devenv}.nix',
    '**/{devenv.yaml,devbox.json,.irbrc,.pryrc,.byebugrc,.pdbrc,.flaskenv,.sdkmanrc,.Rprofile,.Renviron,.iex.exs,.ghci,.ocamlinit}',
    '**/{sitecustomize.py,usercustomize.py,renv/activate.R,compose.override.*,docker-compose.override.*}',
  ],
  // Say where packages come from and what runs when they are installed or built.
  'package managers and build tools': [
    '**/{.npmrc,.yarnrc,.yarnrc.yml,.pnpmfile.*,pnpmfile.js,.pnp.*,bunfig.toml,.bunfig.toml}',
    '**/{pip.conf,pip.ini,.pypirc,poetry.toml,uv.toml,.pdm.toml,.condarc,.gemrc,nuget.config,.terraformrc}',
    '**/{rust-toolchain,rust-toolchain.toml,gradlew,gradlew.bat,mvnw,mvnw.cmd,.sbtopts,.jvmopts,.mill-jvm-opts}',
    '**/{.bazelrc,.bazelversion,.bazeliskrc,tools/bazel,.buckconfig}',
    '**/.{yarn,cargo,mvn,gradle,bundle,swiftpm,moon,buckconfig.d}/**',
    'gradle',
    '**/gradle/wrapper/**',
  ],
  // Gates find their programs there before those of the image.
  'dependencies in the tree': [
    '**/{node_modules,bower_components,jspm_packages,.venv,venv,.virtualenv,__pypackages__,.tox,.nox,.pixi}/**',
    '**/{Pods,_opam,.opam,.luarocks,site-packages}/**',
    'vendor/**',
    '**/vendor/{bin,bundle,composer}/**',
  ],
  // Say what they may overlook.
  'scanners of secrets and vulnerabilities': [
    '**/{.snyk,.trivyignore,.trivyignore.yaml,.gitleaksignore,.gitleaks.toml,.semgrepignore,.secrets.baseline}',
    '**/{.talismanrc,.bandit,.nsprc,.whitesource,.grype.yaml,osv-scanner.toml,.safety-policy.yml,audit-ci.json}',
    '**/.{checkov,semgrep}.{yml,yaml}',
  ],
  // Say what is done next, and what counts as done.
  PRDs: [
    '**/prd.json',
    '{PRD,IMPLEMENTATION_PLAN,fix_plan,@fix_plan,PROMPT,PROMPT_*,@AGENT}.md',
    '{tasks.json,.repos.json,ralph.sh,ralph.yml,.ralphrc,scripts,scripts/ralph}',
    'scripts/ralph/*.{sh,md}',
    '.{daedalus,hank,ralph,ralph-tui,ralphy,swanson,taskmaster}/**',
  ],
  halo: ['{halo.toml,.halo/**}'],
} as const satisfies Record<string, readonly string[]>;
