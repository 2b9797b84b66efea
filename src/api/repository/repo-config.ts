import { join } from 'node:path';
import type { Host } from '../../config/config.ts';
import { processEnv } from '../../config/environment/host.ts';
import {
  findRepoConfig,
  MAX_CONFIG_BYTES,
  parseConfigFile,
  readConfigFile,
  readConfigText,
  type ConfigFile,
} from '../../config/load/config-file.ts';
import { readHomeFiles } from '../../config/load/home-files.ts';
import type { RequestRights } from '../../config/load/file-layers.ts';
import { resolveConfig, type ResolvedConfig } from '../../config/resolve.ts';
import { HaloError } from '../../core/failure/errors.ts';
import { inspectRepo, readFileAt, type RepoInfo } from '../../git/repository/inspect-repo.ts';
import type { ShownSetting } from '../operations/schemas.ts';
import { DEFAULT_ORIGIN, type Setting } from '../../config/settings.ts';
import { findCredentials } from '../../core/text/address-credentials.ts';
import { isInside } from '../../lib/fs.ts';
import { CONFIG_PARTS, type ReadPart } from '../joined.ts';

interface ConfigQuery {
  host: Host;
  /** Any folder, absolute; outside of a repository there is no repository file. */
  folder: string;
  profile: string | undefined;
  set: string[];
  /** The settings come from a request, with the rights of its sender. */
  request?: RequestRights | undefined;
  /** The file of the repository, if `folder` is not its checkout. */
  file?: ConfigFile | undefined;
}

/** The settings that a run of this repository would have. Throws CONFIG_INVALID, USAGE. */
export async function readConfig({ host, folder, profile, set, request, file }: ConfigQuery): Promise<ResolvedConfig> {
  return resolveConfig({
    ...(await readHomeFiles(host.home)),
    repo: file ?? (await findFileOf(folder)),
    profile,
    env: processEnv(),
    set,
    request,
    cwd: folder,
  });
}

/** The names of the profiles that the files of a folder define. Throws CONFIG_INVALID. */
export async function listProfiles({ host, folder }: Pick<ConfigQuery, 'host' | 'folder'>): Promise<string[]> {
  const files = [await readConfigFile(join(host.home, 'config.toml')), await findFileOf(folder)];
  const names = files.flatMap((file) => Object.keys((file?.table['profiles'] as object | undefined) ?? {}));
  return [...new Set(names)].sort();
}

/** The file for a folder; none outside of a repository. One without commits may have a file. */
async function findFileOf(folder: string): Promise<ConfigFile | undefined> {
  const facts = await inspectRepo(folder).catch((error: unknown) => {
    if (error instanceof HaloError && error.code === 'NOT_A_GIT_REPO') return undefined;
    return unlessEmpty(error) ?? { root: folder };
  });
  return facts && findConfigFile(facts);
}

/** The file of a repository on this machine: in its checkout or, if it is bare, in its commit. Throws CONFIG_INVALID. */
export async function findConfigFile(
  facts: Pick<RepoInfo, 'root' | 'gitDir' | 'head'> | { root: string },
): Promise<ConfigFile | undefined> {
  const isBare = 'gitDir' in facts && facts.gitDir === facts.root;
  if (isBare) return readConfigAt(facts.gitDir, facts.head, facts.root);
  const { root } = facts;
  return withParts(await findRepoConfig(root), async (path, maxBytes) => {
    const file = join(root, path);
    const text = await readConfigText(file, maxBytes);
    if (text === undefined || (await isInside(root, file))) return text;
    throw new HaloError('CONFIG_INVALID', `${file} is a link that leads out of the repository.`, {
      hint: 'Replace the link with the file itself.',
    });
  });
}

async function withParts(file: ConfigFile | undefined, read: ReadPart): Promise<ConfigFile | undefined> {
  let whole = file;
  for (const join of CONFIG_PARTS) whole &&= await join(whole, read);
  return whole;
}

/** `halo.toml` in a commit; messages name the repository `source`. Throws CONFIG_INVALID. */
export async function readConfigAt(gitDir: string, commit: string, source: string): Promise<ConfigFile | undefined> {
  const text = await readFileAt({ gitDir, commit, path: 'halo.toml', maxBytes: MAX_CONFIG_BYTES });
  const file = text === undefined ? undefined : parseConfigFile(`${source}:halo.toml`, text);
  return withParts(file, (path, maxBytes) => readFileAt({ gitDir, commit, path, maxBytes }));
}

/** A repository without commits has a configuration, but no facts yet. */
export function unlessEmpty(error: unknown): undefined {
  if (error instanceof HaloError && error.code === 'NO_COMMITS') return undefined;
  throw error;
}

/** Addresses of endpoints, variables of sandboxes, commands that print secrets, and files and patterns of secrets. */
const HIDDEN = /^(?:notify|env|secrets)\.|_command$|(?:^|[._])headers(?:$|[._])/;

/** The settings of this machine, without a repository, in the order of the reference. Throws CONFIG_INVALID. */
export async function readShownSettings(host: Host): Promise<ShownSetting[]> {
  const { settings } = await readConfig({ host, folder: host.home, profile: undefined, set: [] });
  return settings.map(toShownSetting);
}

function toShownSetting({ key, value = null, origin }: Setting): ShownSetting {
  const isHidden = HIDDEN.test(key) || findCredentials(JSON.stringify(value)).length > 0;
  if (!isHidden || value === null || origin === DEFAULT_ORIGIN) return { key, value, origin };
  return { key, value: null, origin, hidden: true };
}
