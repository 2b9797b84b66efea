import { dirname } from 'node:path';
import { isOlderVersion } from '../../lib/version.ts';

/**
 * Which configuration a git process uses.
 * `sealed`: no user or system config, no hooks, no prompts, and only the named protocols.
 * `operator`: config, credential helpers and ssh of the user who runs halo, but no hooks.
 */
export type Trust = 'sealed' | 'operator';

interface GitEnvironment {
  env: Record<string, string | undefined>;
  /** Whether the environment of this process is inherited; `env` overrides it. */
  inherit: boolean;
  /** `-c` arguments that come before the command. */
  config: string[];
}

interface EnvironmentRequest {
  trust: Trust;
  /** The transports that git may use, separated by colons; none when empty. */
  protocols: string;
  /** The version of git, if it syncs what it writes to disk. */
  syncs: string | undefined;
}

/** Builds environment and configuration of a git process; `program` is its absolute path. */
export function environmentFor(program: string, { trust, protocols, syncs }: EnvironmentRequest): GitEnvironment {
  const sync = syncs === undefined ? [] : syncConfig(syncs);
  if (trust === 'operator') {
    const env = { ...OPERATOR_ENV, GIT_ALLOW_PROTOCOL: protocols };
    return { env, inherit: true, config: [...OPERATOR_CONFIG, ...sync] };
  }
  const path = [...new Set([dirname(program), '/usr/bin', '/bin'])].join(':');
  const env = { ...SEALED_ENV, PATH: path, GIT_ALLOW_PROTOCOL: protocols };
  return { env, inherit: false, config: [...SEALED_CONFIG, ...sync] };
}

/** Overrides the repository's configuration. Versions without `core.fsync` always sync packs and never sync refs. */
function syncConfig(version: string): string[] {
  return isOlderVersion(version, '2.36')
    ? asArguments(['core.fsyncObjectFiles=true'])
    : asArguments(['core.fsync=all', 'core.fsyncMethod=fsync']);
}

const SEALED_ENV = {
  HOME: '/nonexistent',
  LC_ALL: 'C',
  TZ: 'UTC',
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_CONFIG_SYSTEM: '/dev/null',
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_ATTR_NOSYSTEM: '1',
  GIT_NO_LAZY_FETCH: '1',
  GIT_NO_REPLACE_OBJECTS: '1',
  // Grafts would change the parents of commits.
  GIT_GRAFT_FILE: '/nonexistent/grafts',
  GIT_TERMINAL_PROMPT: '0',
  GIT_ASKPASS: '/bin/false',
  SSH_ASKPASS: '/bin/false',
  GIT_SSH_COMMAND: '/bin/false',
  GIT_EDITOR: ':',
  GIT_PAGER: 'cat',
  GIT_OPTIONAL_LOCKS: '0',
  GIT_LFS_SKIP_SMUDGE: '1',
};

/** Checked-out files can look like a bare repository; without this, git would read its settings from them. */
const NO_EMBEDDED = 'safe.bareRepository=explicit';

const SEALED_CONFIG = asArguments([
  NO_EMBEDDED,
  'core.hooksPath=/dev/null',
  'core.fsmonitor=false',
  'core.attributesFile=/dev/null',
  'core.protectHFS=true',
  'core.protectNTFS=true',
  'core.commitGraph=false',
  'core.bigFileThreshold=8m',
  'pack.threads=1',
  'gc.auto=0',
  'maintenance.auto=false',
  'protocol.allow=never',
  'submodule.recurse=false',
  'commit.gpgSign=false',
  'log.showSignature=false',
  // No such tree: newer versions of git would read attributes from the commit that HEAD names.
  'attr.tree=0000000000000000000000000000000000000000',
]);

/** Unsets variables that would select another repository: halo may be started from a hook. */
const OPERATOR_ENV = {
  GIT_DIR: undefined,
  GIT_WORK_TREE: undefined,
  GIT_COMMON_DIR: undefined,
  GIT_INDEX_FILE: undefined,
  GIT_OBJECT_DIRECTORY: undefined,
  GIT_ALTERNATE_OBJECT_DIRECTORIES: undefined,
  GIT_QUARANTINE_PATH: undefined,
  GIT_NAMESPACE: undefined,
  GIT_PREFIX: undefined,
  GIT_SHALLOW_FILE: undefined,
  GIT_CONFIG: undefined,
  GIT_EXTERNAL_DIFF: undefined,
  GIT_LITERAL_PATHSPECS: undefined,
  LC_ALL: 'C',
  GIT_TERMINAL_PROMPT: '0',
  GIT_OPTIONAL_LOCKS: '0',
  GIT_EDITOR: ':',
  GIT_PAGER: 'cat',
};

const OPERATOR_CONFIG = asArguments([
  NO_EMBEDDED,
  'core.hooksPath=/dev/null',
  'core.fsmonitor=false',
  'gc.auto=0',
  'maintenance.auto=false',
  'submodule.recurse=false',
]);

function asArguments(settings: string[]): string[] {
  return settings.flatMap((setting) => ['-c', setting]);
}

/** The author and committer of commits and reflog entries that halo writes for itself. */
export const HALO_IDENTITY = {
  GIT_AUTHOR_NAME: 'halo',
  GIT_AUTHOR_EMAIL: 'halo@localhost',
  GIT_COMMITTER_NAME: 'halo',
  GIT_COMMITTER_EMAIL: 'halo@localhost',
};
