import { join } from 'node:path';
import type { Config, Host } from '../../config/config.ts';
import { processEnv } from '../../config/environment/host.ts';
import { parseConfigFile, readConfigFile, type ConfigFile } from '../../config/load/config-file.ts';
import { resolveConfig } from '../../config/resolve.ts';
import { HaloError } from '../../core/failure/errors.ts';
import { readParents } from '../../git/commit/read-commits.ts';
import { readFileAt } from '../../git/repository/inspect-repo.ts';

/** The configuration that the run of a commit should have had, as far as this machine knows. */
export interface Expected {
  origin: string;
  config: Config;
  /** Why the file of the base commit is ignored. */
  fault?: string;
}

/**
 * The settings that a run from the base of a commit would have on this machine: `config.toml`, the configuration file in that
 * base, and variables. Throws CONFIG_INVALID if the settings of this machine are invalid.
 */
export async function expectSettings(
  host: Host,
  { gitDir, commit, folder }: { gitDir: string; commit: string; folder: string },
): Promise<Expected> {
  const own = { home: await readConfigFile(join(host.home, 'config.toml')), env: processEnv(), cwd: folder };
  const origin = 'halo.toml';
  try {
    const repo = await readRepoConfigAt(gitDir, (await readParents(gitDir, commit))[0]);
    return { origin, config: resolveConfig({ ...own, repo }).config };
  } catch (error) {
    if (!(error instanceof HaloError) || error.code !== 'CONFIG_INVALID') throw error;
    return { origin, config: resolveConfig(own).config, fault: error.message };
  }
}

/** Reads the configuration file in a commit. Throws CONFIG_INVALID, and GIT_FAILED if it is too large. */
async function readRepoConfigAt(gitDir: string, commit: string | undefined): Promise<ConfigFile | undefined> {
  if (commit === undefined) return undefined;
  const files = ['halo.toml', '.halo/config.toml'].map(async (path) => {
    const text = await readFileAt({ gitDir, commit, path, maxBytes: 1024 * 1024 });
    return text === undefined ? [] : [parseConfigFile(`${commit.slice(0, 12)}:${path}`, text)];
  });
  const [first, second] = (await Promise.all(files)).flat();
  if (second !== undefined) throw new HaloError('CONFIG_INVALID', 'The base commit has two configuration files.');
  return first;
}
