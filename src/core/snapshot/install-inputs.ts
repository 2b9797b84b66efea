import { findLoadingVariable, findUsedPath } from './install-env.ts';

/**
 * Which files decide what a setup command installs. Only for commands that install exactly what lockfiles say; the result
 * of any other command may depend on every file of the tree.
 */

/** What decides the result of a list of commands: the whole tree, or only some of its files. */
export type Inputs =
  | { kind: 'tree'; why: string }
  /**
   * `inspect`: files whose content can still require the whole tree, see `findTreeDependency`. `lockfile`: the lockfile of
   * the only command, if it lists the folders that the command installs, see `listLockedFolders`.
   */
  | { kind: 'files'; files: string[]; inspect: string[]; runsScripts: boolean; lockfile?: string };

interface Installer {
  /** Matches the whole command. */
  command: RegExp;
  /** Whether the command installs exactly what the lockfile says; by default, it does. */
  isExact?: (command: string, env: Readonly<Record<string, string>>) => boolean;
  /** The inputs that the command names; they are inspected. */
  named?: (command: string) => string[];
  /** Matches the paths of its inputs. */
  inputs: RegExp;
  /** Matches the paths of files that can run code of the tree or name further files. */
  inspect: RegExp;
  /** Paths that always require the whole tree. */
  never?: RegExp;
  /** Paths of lockfiles that list all folders that are installed; the first that exists counts. */
  lockfiles?: readonly string[];
}

/** Long options that name files or folders begin with one of these. */
const FILE_FLAGS =
  'install-links|prefix|dir|cwd|config|directory|project|script-shell|gemfile|pnpmfile|global|userconfig|node-options|shell|find-links|env-file|build-constraint|constraint|override|use-yarnrc|lockfile-dir|require';
/** A long option without a separate value. */
const FLAGS = String.raw`(?: --(?!${FILE_FLAGS})[a-z][a-z-]*(?:=[\w.,:/@-]+)?)*`;
/** Options of pip without a file. */
const PIP_FLAG = String.raw`(?:-q|--(?:require-hashes|no-deps|no-cache-dir|no-color|no-compile|no-input|disable-pip-version-check|quiet|only-binary[= ]:all:))`;
const PIP_FILE = String.raw`(?:-r ?|--requirement[= ])(?:\./)?([\w-][\w./-]*\.(?:txt|in))(?= |$)`;
const NODE = {
  inspect: /(?:^|\/)(?:package\.json|\.npmrc|\.yarnrc\.yml)$/,
  // npm compiles a native package at `binding.gyp`.
  never: /(?:^|\/)(?:binding\.gyp|\.pnpmfile\.[cm]?js)$/,
};

/** Installed packages, if the repository has them. */
const IGNORED = /(?:^|\/)node_modules\//;

const INSTALLERS: readonly Installer[] = [
  {
    command: new RegExp(`^npm (?:ci|clean-install)${FLAGS}$`),
    inputs: /(?:^|\/)(?:package\.json|package-lock\.json|npm-shrinkwrap\.json|\.npmrc)$/,
    ...NODE,
    lockfiles: ['npm-shrinkwrap.json', 'package-lock.json'],
  },
  {
    command: new RegExp(`^pnpm (?:i|install)${FLAGS} --frozen-lockfile${FLAGS}$`),
    inputs:
      /(?:^|\/)(?:package\.json|package\.json5|package\.yaml|pnpm-lock\.yaml|pnpm-workspace\.yaml|\.npmrc)$|(?:^|\/)patches\//,
    ...NODE,
  },
  {
    command: new RegExp(`^yarn(?: install)?${FLAGS} --(?:immutable|frozen-lockfile)${FLAGS}$`),
    inputs: /(?:^|\/)(?:package\.json|yarn\.lock|\.yarnrc|\.yarnrc\.yml|\.npmrc)$|(?:^|\/)\.yarn\//,
    ...NODE,
  },
  {
    command: new RegExp(`^uv sync${FLAGS} --(?:frozen|locked)${FLAGS}$`),
    inputs: /(?:^|\/)(?:pyproject\.toml|uv\.lock|uv\.toml|\.python-version)$/,
    inspect: /(?:^|\/)pyproject\.toml$/,
  },
  {
    command: new RegExp(String.raw`^(?:[\w./-]*/)?(?:python3? -m )?pip3? install(?: ${PIP_FLAG}| ${PIP_FILE})+$`),
    named: (command) => [...command.matchAll(new RegExp(` ${PIP_FILE}`, 'g'))].flatMap(([, path]) => path ?? []),
    inputs: /^$/,
    inspect: /^$/,
    never: /(?:^|\/)pip\.conf$/,
  },
  { command: /^python3? -m venv (?:--[a-z-]+ )*[\w./-]+$/, inputs: /^$/, inspect: /^$/ },
  {
    command: new RegExp(`^cargo fetch${FLAGS}$`),
    inputs: /(?:^|\/)(?:Cargo\.toml|Cargo\.lock|rust-toolchain(?:\.toml)?)$|(?:^|\/)\.cargo\//,
    inspect: /^$/,
  },
  { command: /^go mod download$/, inputs: /(?:^|\/)go\.(?:mod|sum|work|work\.sum)$/, inspect: /^$/ },
  {
    command: new RegExp(`^bundle install${FLAGS}$`),
    isExact: (command, { BUNDLE_FROZEN = '', BUNDLE_DEPLOYMENT = '' }) =>
      / --(?:frozen|deployment)(?: |$)/.test(command) ||
      [BUNDLE_FROZEN, BUNDLE_DEPLOYMENT].some((value) => /^(?:1|true)$/.test(value)),
    inputs: /(?:^|\/)(?:Gemfile|Gemfile\.lock|\.ruby-version)$|(?:^|\/)\.bundle\//,
    inspect: /(?:^|\/)Gemfile$/,
    never: /\.gemspec$/,
  },
];

/** The inputs of setup commands, given the paths of all files of the tree and the variables in `[env]`. */
export function selectInputs(
  setup: readonly string[],
  paths: readonly string[],
  env: Readonly<Record<string, string>>,
): Inputs {
  const variable = findLoadingVariable(env, paths);
  if (variable !== undefined) return { kind: 'tree', why: variable };
  const commands = setup
    .flatMap((command) => command.split('&&'))
    .map((command) => command.trim().replace(/\s+/g, ' '));
  const [files, inspect] = [new Set<string>(), new Set<string>()];
  const installers: Installer[] = [];
  for (const command of commands) {
    const installer = INSTALLERS.find((known) => known.command.test(command));
    const [program = ''] = command.split(' ', 1);
    if (
      installer?.isExact?.(command, env) === false ||
      installer === undefined ||
      (program.includes('/') && findUsedPath(program, paths) !== undefined)
    )
      return { kind: 'tree', why: `\`${command}\` may read any file` };
    installers.push(installer);
    const named = installer.named?.(command) ?? [];
    const missing = named.find((path) => !paths.includes(path));
    if (missing !== undefined) return { kind: 'tree', why: `${missing} is not a file of the repository` };
    for (const path of named) {
      files.add(path);
      inspect.add(path);
    }
    for (const path of paths) {
      if (IGNORED.test(path)) continue;
      if (installer.never?.test(path)) return { kind: 'tree', why: `${path} can run code of the repository` };
      if (installer.inputs.test(path)) files.add(path);
      if (installer.inspect.test(path)) inspect.add(path);
    }
  }
  const runsScripts = !commands.every((command) => / --ignore-scripts(?: |$)/.test(command));
  const found = { kind: 'files', files: [...files].sort(), inspect: [...inspect].sort(), runsScripts } as const;
  const [only, ...others] = installers;
  const lockfile = others.length > 0 ? undefined : only?.lockfiles?.find((path) => paths.includes(path));
  return lockfile === undefined ? found : { ...found, lockfile };
}

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
  const rule = RULES.find((each) => each.names.test(name));
  if (rule?.pattern.test(text)) return `${path} ${rule.why}`;
  if (/\.(?:txt|in)$/.test(name) && !hasHashes(text)) return `${path} has a line without a hash`;
  return name === 'package.json' && runsScripts ? describeScripts(path, text) : undefined;
}

const RULES: readonly { names: RegExp; pattern: RegExp; why: string }[] = [
  {
    names: /^package\.json$/,
    pattern: /"(?:file|portal|link|exec):|"injected"/,
    why: 'installs a folder or an archive of the repository',
  },
  {
    names: /^\.npmrc$/,
    pattern: /^[ \t]*(?:script-shell|shell|node-options|git|init-module|globalconfig|userconfig|install-links)\b/im,
    why: 'names further programs or files',
  },
  {
    names: /^\.yarnrc\.yml$/,
    pattern: /(?:^|[\s-])(?:yarnPath|path)[ \t]*:[ \t]*(?![ \t]|["']?\.yarn\/)/,
    why: 'names a program outside of .yarn',
  },
  {
    names: /^pyproject\.toml$/,
    pattern: /^[ \t]*(?:\[[ \t]*(?:build-system|tool\.uv\.sources)\b|package[ \t]*=[ \t]*true)/m,
    why: 'builds a package of the repository',
  },
  {
    names: /^Gemfile$/,
    pattern:
      /\b(?:require|require_relative|load|eval|eval_gemfile|gemspec|path|File|Dir|IO|Kernel|send|system|exec|instance_eval)\b|`/,
    why: 'reads further files',
  },
  {
    names: /\.(?:txt|in)$/,
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
