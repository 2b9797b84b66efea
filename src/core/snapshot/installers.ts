import { posix } from 'node:path';

/** A command that installs what lockfiles say. */
export interface Installer {
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
  /** The paths of folders that it installs into. Files of the repository there are inputs: it may run them. */
  installed?: RegExp;
  /** The virtual environment that the command changes; files of the repository there require the whole tree. */
  environment?: (command: string) => string | undefined;
  /** Its lockfiles in the root folder, without which it installs something else. The first that exists counts. */
  lockfiles?: readonly string[];
  /** The lockfile lists all folders that are installed. */
  listsFolders?: true;
}

/** Long options that name files or folders begin with one of these. */
const FILE_FLAGS =
  'install-links|prefix|dir|cwd|config|directory|project|script-shell|gemfile|pnpmfile|global|userconfig|node-options|shell|find-links|env-file|build-constraint|constraint|override|use-yarnrc|lockfile-dir|require|inject-workspace-packages|git-branch-lockfile|merge-git-branch-lockfiles';
/** A long option without a separate value. */
const FLAGS = String.raw`(?: --(?!${FILE_FLAGS})[a-z][a-z-]*(?:=[\w.,:/@-]+)?)*`;
/** Options of pip without a file. */
const PIP_FLAG = String.raw`(?:-q|--(?:require-hashes|no-deps|no-cache-dir|no-color|no-compile|no-input|disable-pip-version-check|quiet|only-binary[= ]:all:))`;
const PIP_FILE = String.raw`(?:-r ?|--requirement[= ])(?:\./)?([\w-][\w./-]*\.(?:txt|in))(?= |$)`;
const NODE = {
  inspect: /(?:^|\/)(?:package\.json|\.npmrc)$/,
  // npm compiles a native package at `binding.gyp`.
  never: /(?:^|\/)(?:binding\.gyp|\.pnpmfile\.[cm]?js)$/,
};

/** Scripts of packages run the programs in `node_modules/.bin`. `npm ci` removes them first. */
const NODE_MODULES = /(?:^|\/)node_modules(?:\/|$)/;

/** The commands that halo knows. */
export const INSTALLERS: readonly Installer[] = [
  {
    command: new RegExp(`^npm (?:ci|clean-install)${FLAGS}$`),
    inputs: /(?:^|\/)(?:package\.json|package-lock\.json|npm-shrinkwrap\.json|\.npmrc)$/,
    ...NODE,
    lockfiles: ['npm-shrinkwrap.json', 'package-lock.json'],
    listsFolders: true,
  },
  {
    command: new RegExp(`^pnpm (?:i|install)${FLAGS} --frozen-lockfile${FLAGS}$`),
    inputs: /(?:^|\/)(?:package\.json|pnpm-lock\.yaml|pnpm-workspace\.yaml|\.npmrc)$|(?:^|\/)patches\//,
    inspect: /(?:^|\/)(?:package\.json|pnpm-workspace\.yaml|pnpm-lock\.yaml|\.npmrc)$/,
    installed: NODE_MODULES,
    // Manifests whose scripts are not read.
    never: /(?:^|\/)(?:binding\.gyp|\.pnpmfile\.[cm]?js|package\.(?:json5|yaml))$/,
    lockfiles: ['pnpm-lock.yaml'],
  },
  {
    command: new RegExp(`^yarn(?: install)?${FLAGS} --(?:immutable|frozen-lockfile)${FLAGS}$`),
    inputs: /(?:^|\/)(?:package\.json|yarn\.lock|\.yarnrc|\.yarnrc\.yml|\.npmrc)$|(?:^|\/)\.yarn\//,
    ...NODE,
    inspect: /(?:^|\/)(?:package\.json|\.npmrc|\.yarnrc|\.yarnrc\.yml)$/,
    installed: NODE_MODULES,
    lockfiles: ['yarn.lock'],
  },
  {
    command: new RegExp(`^uv sync${FLAGS} --(?:frozen|locked)${FLAGS}$`),
    inputs: /(?:^|\/)(?:pyproject\.toml|uv\.lock|uv\.toml|\.python-versions?)$/,
    inspect: /(?:^|\/)pyproject\.toml$/,
    lockfiles: ['uv.lock'],
  },
  {
    command: new RegExp(String.raw`^(?:[\w./-]*/)?(?:python3? -m )?pip3? install(?: ${PIP_FLAG}| ${PIP_FILE})+$`),
    environment: (command) => {
      const [program = ''] = command.split(' ', 1);
      return program.includes('/') ? posix.dirname(posix.dirname(program)) : undefined;
    },
    named: (command) => [...command.matchAll(new RegExp(` ${PIP_FILE}`, 'g'))].flatMap(([, path]) => path ?? []),
    inputs: /^$/,
    inspect: /^$/,
    never: /(?:^|\/)pip\.conf$/,
  },
  {
    command: /^python3? -m venv (?:--[a-z-]+ )*[\w./-]+$/,
    environment: (command) => command.split(' ').at(-1),
    inputs: /^$/,
    inspect: /^$/,
  },
  {
    command: new RegExp(`^cargo fetch${FLAGS}$`),
    inputs: /(?:^|\/)(?:Cargo\.toml|Cargo\.lock|rust-toolchain(?:\.toml)?)$|(?:^|\/)\.cargo\//,
    inspect: /(?:^|\/)(?:\.cargo\/config(?:\.toml)?|rust-toolchain(?:\.toml)?)$/,
    lockfiles: ['Cargo.lock'],
  },
  {
    command: /^go mod download$/,
    inputs: /(?:^|\/)go\.(?:mod|sum|work|work\.sum)$/,
    inspect: /^$/,
    // They say exactly which versions are used; without dependencies, there is only go.mod.
    lockfiles: ['go.mod', 'go.work'],
  },
  {
    command: new RegExp(`^bundle install${FLAGS}$`),
    isExact: (command, { BUNDLE_FROZEN = '', BUNDLE_DEPLOYMENT = '' }) =>
      / --(?:frozen|deployment)(?: |$)/.test(command) ||
      [BUNDLE_FROZEN, BUNDLE_DEPLOYMENT].some((value) => /^(?:1|true)$/.test(value)),
    inputs:
      /(?:^|\/)(?:Gemfile|Gemfile\.lock|gems\.rb|gems\.locked|\.ruby-version)$|(?:^|\/)(?:\.bundle|vendor\/cache)\//,
    inspect: /(?:^|\/)(?:Gemfile|gems\.rb|\.bundle\/config)$/,
    never: /\.gemspec$/,
    lockfiles: ['gems.locked', 'Gemfile.lock'],
  },
];
