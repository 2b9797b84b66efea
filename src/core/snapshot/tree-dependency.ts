import { findReadingPackage, PACKAGE_LOCKS } from './reading-packages.ts';

/**
 * The folders whose manifests npm reads, from the text of its lockfile in the root folder, which is ''. Manifests elsewhere
 * belong to examples or other projects: npm refuses a lockfile that lacks a workspace, as pnpm does not. Undefined if the
 * lockfile lists no folders, as those of npm 6 do. https://docs.npmjs.com/cli/configuring-npm/package-lock-json
 */
export function listLockedFolders(text: string): Set<string> | undefined {
  const packages = readObject(text)?.packages;
  if (typeof packages !== 'object' || packages === null) return undefined;
  return new Set(Object.keys(packages).filter((key) => !/(?:^|\/)node_modules\//.test(key)));
}

/**
 * Why a file makes an install depend on the whole tree; undefined if it does not. `text`: its content. `runsScripts`: the
 * command runs the scripts of packages.
 */
export function findTreeDependency(path: string, text: string, runsScripts: boolean): string | undefined {
  const name = path.slice(path.lastIndexOf('/') + 1);
  if (PACKAGE_LOCKS.test(name)) return runsScripts ? findReadingPackage(path, text) : undefined;
  // Without the escapes of its strings.
  const manifest = name === 'package.json' ? readObject(text) : undefined;
  const plain = manifest === undefined ? text : JSON.stringify(manifest);
  const rule = RULES.find((each) => each.paths.test(path) && each.pattern.test(plain));
  if (rule !== undefined) return `${path} ${rule.why}`;
  if (/\.(?:txt|in)$/.test(name) && !hasHashes(text)) return `${path} has a line without a hash`;
  return name === 'package.json' && runsScripts ? describeScripts(path, text) : undefined;
}

const RULES: readonly { paths: RegExp; pattern: RegExp; why: string }[] = [
  {
    paths: /(?:^|\/)package\.json$/,
    pattern: /"(?:file|portal|link|exec):|"inject(?:ed|WorkspacePackages)"/,
    why: 'installs a folder or an archive of the repository',
  },
  {
    paths: /(?:^|\/)\.npmrc$/,
    pattern:
      /^[ \t]*["']?(?:script-shell|shell|node-options|git|init-module|node-gyp|python|onload-script|globalconfig|userconfig|install-links|pnpmfile|global-pnpmfile|merge-git-branch|lockfile-dir)\b/im,
    why: 'names further programs or files',
  },
  {
    paths: /(?:^|\/)\.npmrc$/,
    pattern: /^[ \t]*["']?inject-workspace-packages\b/im,
    why: 'copies packages of the repository',
  },
  {
    // Names of settings in any place, so that their notation does not matter.
    paths: /(?:^|\/)pnpm-workspace\.yaml$/,
    pattern:
      /inject-?workspace-?packages|injected|pnpmfile|script-?shell|node-?options|config-?dependencies|git-?branch-?lockfile|lockfile-?dir/i,
    why: 'copies packages of the repository, or names further programs or files',
  },
  {
    paths: /(?:^|\/)pnpm-workspace\.yaml$/,
    pattern: /(?:^|[\s"'{,:])(?:file|link|portal|exec):|:(?:[ \t]+["']?|["'])(?:\.{0,2}|~)\//m,
    why: 'installs a folder or an archive of the repository',
  },
  {
    paths: /(?:^|\/)\.yarnrc\.yml$/,
    pattern: /(?:^|[\s-])["']?(?:yarnPath|path)["']?[ \t]*:[ \t]*(?![ \t]|["']?\.yarn\/)/,
    why: 'names a program outside of .yarn',
  },
  {
    paths: /(?:^|\/)\.yarnrc\.yml$/,
    pattern: /lockfileFilename|injectEnvironmentFiles/,
    why: 'names further files',
  },
  {
    paths: /(?:^|\/)\.yarnrc$/,
    pattern:
      /^[ \t]*["']?(?:yarn-path["']?[ \t]+(?!["']?(?:\.\/)?\.yarn\/)|script-shell|--(?:[\w-]+\.)?(?:cwd|script-shell|use-yarnrc))/m,
    why: 'names further programs or files',
  },
  {
    paths: /(?:^|\/)\.bundle\/config$/,
    pattern:
      /^[ \t]*["']?BUNDLE_(?!(?:CLEAN|DEPLOYMENT|DISABLE_SHARED_GEMS|FORCE_RUBY_PLATFORM|FROZEN|JOBS|PATH|RETRY|TIMEOUT|WITH|WITHOUT)["']?[ \t]*:)/m,
    why: 'may name further files',
  },
  {
    paths: /(?:^|\/)\.cargo\/config(?:\.toml)?$/,
    pattern: /\b(?:include|path|credential-(?:provider|alias)|global-credential-providers)\b/,
    why: 'names further programs or files',
  },
  {
    paths: /(?:^|\/)rust-toolchain(?:\.toml)?$/,
    pattern: /^[ \t]*path[ \t]*=/m,
    why: 'names a toolchain of the repository',
  },
  {
    paths: /(?:^|\/)pyproject\.toml$/,
    pattern: /^[ \t]*(?:\[[ \t]*(?:build-system|tool\.uv\.sources)\b|package[ \t]*=[ \t]*true)/m,
    why: 'builds a package of the repository',
  },
  {
    paths: /(?:^|\/)(?:Gemfile|gems\.rb)$/,
    pattern:
      /\b(?:require|require_relative|load|autoload|gemspec|plugin|path|File|Dir|IO|Kernel|Process|Open3|Pathname|const_get|open|popen|spawn|fork|system|binding|(?:instance_|class_|module_)?(?:eval|exec)|eval_gemfile|(?:public_|__)?send(?:__)?|readlines?)\b|`|%x|\bfile\b(?!: *["']\.ruby-version["'])/,
    why: 'reads further files',
  },
  {
    paths: /\.(?:txt|in)$/,
    pattern: /^[ \t]*(?:-[rcef]|--(?:requirement|constraint|editable|find-links)\b|file:|\.{0,2}\/)|@ *file:/m,
    why: 'names further files',
  },
];

/** Whether pip installs exactly what a requirements file says: it then checks all hashes, without `--require-hashes` too. */
function hasHashes(text: string): boolean {
  const lines = text.replace(/\\\r?\n/g, ' ').split(/\r?\n/);
  const requirements = lines
    .map((line) => line.replace(/(?:^|\s)#.*$/, '').trim())
    .filter((line) => /^[^-]/.test(line));
  return requirements.every((line) => /\s--hash[= ]/.test(line));
}

/** The scripts that npm, pnpm and Yarn run when they install. */
const INSTALL_SCRIPTS = [
  'preinstall',
  'install',
  'postinstall',
  'prepublish',
  'preprepare',
  'prepare',
  'postprepare',
  'dependencies',
];

function describeScripts(path: string, text: string): string | undefined {
  const scripts = readScripts(text);
  if (scripts === undefined) return `${path} cannot be read`;
  const script = INSTALL_SCRIPTS.find((name) => Object.hasOwn(scripts, name));
  return script === undefined ? undefined : `${path} has the script ${script}`;
}

function readScripts(text: string): object | undefined {
  const manifest = readObject(text);
  if (manifest === undefined) return undefined;
  const { scripts = {} } = manifest;
  return typeof scripts === 'object' ? (scripts ?? undefined) : undefined;
}

function readObject(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}
