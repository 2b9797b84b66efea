import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Host } from '../config/config.ts';
import { guessGates, GUESS_FILES } from '../config/guess.ts';
import { processEnv } from '../config/host.ts';
import { findRepoConfig, readConfigFile } from '../config/load.ts';
import { resolveConfig, type ResolvedConfig } from '../config/resolve.ts';
import { renderTemplate } from '../config/template.ts';
import { HaloError } from '../core/errors.ts';
import { inspectRepo } from '../git/repo.ts';

export interface ConfigQuery {
  host: Host;
  /** Any folder, absolute; one outside of every repository has no file of its own. */
  folder: string;
  profile: string | undefined;
  set: string[];
}

/** The settings that a run of this repository would have. Throws CONFIG_INVALID, USAGE. */
export async function readConfig({ host, folder, profile, set }: ConfigQuery): Promise<ResolvedConfig> {
  const root = await findRoot(folder).catch(unlessOutside);
  return resolveConfig({
    home: await readConfigFile(join(host.home, 'config.toml')),
    repo: root === undefined ? undefined : await findRepoConfig(root),
    profile,
    env: processEnv(),
    set,
    cwd: folder,
  });
}

export interface Initialised {
  /** Of the file that was written. */
  path: string;
  /** What was guessed. */
  setup: string[];
  gates: string[];
}

/** Writes a commented halo.toml into the repository that `folder` belongs to. Throws NOT_A_GIT_REPO, CONFIG_INVALID. */
export async function initConfig(options: { folder: string; force: boolean }): Promise<Initialised> {
  const root = await findRoot(options.folder);
  const found = await findRepoConfig(root);
  if (found !== undefined && !options.force)
    throw new HaloError('CONFIG_INVALID', `There is a configuration already: ${found.path}.`, {
      hint: 'Edit it, or write it anew with --force.',
    });
  const path = found?.path ?? join(root, 'halo.toml');
  const guess = guessGates(await readRootFiles(root));
  await writeFile(path, renderTemplate(guess)).catch((cause: NodeJS.ErrnoException) => {
    throw new HaloError('DISK_FAILED', `${path} cannot be written (${cause.code ?? cause.message}).`, { cause });
  });
  return { path, setup: guess.setup, gates: guess.gates };
}

/** Top of the checkout; `folder` itself for a repository without commits. */
async function findRoot(folder: string): Promise<string> {
  try {
    return (await inspectRepo(folder)).root;
  } catch (error) {
    if (error instanceof HaloError && error.code === 'NO_COMMITS') return folder;
    throw error;
  }
}

function unlessOutside(error: unknown): undefined {
  if (error instanceof HaloError && error.code === 'NOT_A_GIT_REPO') return undefined;
  throw error;
}

async function readRootFiles(root: string): Promise<Map<string, string>> {
  const files = new Map<string, string>();
  for (const entry of await readdir(root, { withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const wanted = GUESS_FILES.includes(entry.name);
    files.set(entry.name, wanted ? await readFile(join(root, entry.name), 'utf8') : '');
  }
  return files;
}
