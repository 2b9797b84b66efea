import { posix } from 'node:path';

const WORKSPACE = '/workspace';

/** Variables with which installers load code or settings. */
const LOADS =
  /^(?:PATH|HOME|XDG_.*|NODE_OPTIONS|NODE_PATH|BASH_ENV|ENV|LD_.*|GIT_.*|PYTHON.*|RUBYOPT|RUBYLIB|BUNDLE_.*|GO(?:ENV|FLAGS|MODCACHE|PATH|WORK)|RUST.*|CARGO_.*|npm_config_.*|PNPM_.*|YARN_.*|UV_.*|PIP_.*)$/i;

/** Those of them whose value is never the name of a file. */
const SWITCHES = [
  /^PYTHON(?:DONTWRITEBYTECODE|HASHSEED|IOENCODING|UNBUFFERED|UTF8)$/,
  /^RUST_(?:BACKTRACE|LOG)$/,
  /^CARGO_(?:INCREMENTAL|NET_(?:RETRY|OFFLINE)|HTTP_(?:TIMEOUT|MULTIPLEXING)|TERM_.*)$/,
  /^BUNDLE_(?:CLEAN|DEPLOYMENT|FROZEN|JOBS|RETRY|TIMEOUT|WITH|WITHOUT)$/,
  /^UV_(?:COMPILE_BYTECODE|CONCURRENT_.*|FROZEN|HTTP_RETRIES|HTTP_TIMEOUT|LINK_MODE|LOCKED|NO_CACHE|NO_DEV|NO_PROGRESS|OFFLINE|PYTHON_DOWNLOADS|PYTHON_PREFERENCE)$/,
  /^PIP_(?:DEFAULT_TIMEOUT|DISABLE_PIP_VERSION_CHECK|NO_CACHE_DIR|NO_COLOR|NO_INPUT|ONLY_BINARY|PROGRESS_BAR|QUIET|REQUIRE_HASHES|RETRIES|ROOT_USER_ACTION|TIMEOUT)$/,
  /^YARN_(?:ENABLE_(?:COLORS|GLOBAL_CACHE|HARDENED_MODE|IMMUTABLE_CACHE|IMMUTABLE_INSTALLS|MIRROR|NETWORK|PROGRESS_BARS|SCRIPTS|TELEMETRY)|NODE_LINKER)$/,
  /^p?npm_config_(?:audit|fund|loglevel|prefer_offline|progress|update_notifier)$/i,
];

/** Those that name a folder for what is downloaded or installed. */
const FOLDERS = [
  /^(?:HOME|XDG_.*_HOME|GOMODCACHE|GOPATH|PNPM_HOME|PIP_CACHE_DIR)$/,
  /^CARGO_(?:HOME|TARGET_DIR)$/,
  /^BUNDLE_(?:APP_CONFIG|CACHE_PATH|PATH|USER_CACHE|USER_HOME)$/,
  /^UV_(?:CACHE_DIR|PROJECT_ENVIRONMENT|PYTHON_INSTALL_DIR)$/,
  /^YARN_(?:CACHE_FOLDER|GLOBAL_FOLDER)$/,
  /^p?npm_config_(?:cache|cache_dir|state_dir|store_dir)$/i,
];

/** Values that name no file, of variables that may. */
const PLAIN_VALUES: readonly { name: RegExp; value: RegExp }[] = [
  {
    name: /^GOFLAGS$/,
    value: /^(?:(?:^| )-(?:modcacherw|trimpath|v|x|p=\d+|tags=[\w,.]+|mod=(?:mod|readonly)|buildvcs=\w+))* *$/,
  },
  { name: /^GOWORK$/, value: /^off$/ },
  { name: /^UV_PYTHON$/, value: /^\d+(?:\.\d+){0,2}$/ },
  { name: /^(?:UV_(?:DEFAULT_INDEX|INDEX_URL)|PIP_INDEX_URL)$/, value: /^https?:\/\/\S+$/ },
];

/**
 * Why a variable makes an install depend on the whole tree; undefined if none does. The values are part of the key of a
 * snapshot: what counts is whether they can refer to `paths`, the files of the tree.
 */
export function findLoadingVariable(
  env: Readonly<Record<string, string>>,
  paths: readonly string[],
): string | undefined {
  for (const [name, value] of Object.entries(env)) {
    if (!LOADS.test(name) || SWITCHES.some((known) => known.test(name))) continue;
    if (PLAIN_VALUES.some((known) => known.name.test(name) && known.value.test(value))) continue;
    if (!FOLDERS.some((known) => known.test(name))) return `the variable ${name} may name any file`;
    const used = findUsedPath(value, paths);
    if (used !== undefined) return `${used} is in the folder of the variable ${name}`;
  }
  return undefined;
}

/** A file of the tree at or below a path of a sandbox, or a link on the way to it. */
export function findUsedPath(folder: string, paths: readonly string[]): string | undefined {
  const inner = posix.relative(WORKSPACE, posix.resolve(WORKSPACE, folder));
  if (inner === '') return paths[0];
  return paths.find((path) => `${path}/`.startsWith(`${inner}/`) || inner.startsWith(`${path}/`));
}
