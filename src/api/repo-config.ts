import { constants } from 'node:fs';
import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Host } from '../config/config.ts';
import { guessGates, GUESS_FILES } from '../config/guess.ts';
import { processEnv } from '../config/host.ts';
import { findRepoConfig, readConfigFile } from '../config/load.ts';
import { resolveConfig, type ResolvedConfig } from '../config/resolve.ts';
import { renderTemplate } from '../config/template.ts';
import { HaloError } from '../core/errors.ts';
import { inspectRepo } from '../git/repo.ts';
import { isInside } from '../lib/inside.ts';
import { FileRefused, readRegularText } from '../lib/read-file.ts';

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
  const flag = found === undefined ? NEW : OVER;
  await writeFile(path, renderTemplate(guess), { flag }).catch(async (cause: NodeJS.ErrnoException) => {
    if (cause.code === 'ELOOP' || !(await isInside(root, path)))
      throw new HaloError('CONFIG_INVALID', `${path} is a link; halo writes through none.`, {
        hint: 'Remove it.',
        cause,
      });
    throw new HaloError('DISK_FAILED', `${path} cannot be written (${cause.code ?? cause.message}).`, { cause });
  });
  return { path, setup: guess.setup, gates: guess.gates };
}

const { O_CREAT, O_EXCL, O_NOFOLLOW, O_NONBLOCK, O_TRUNC, O_WRONLY } = constants;
/** A link in the place of the file, as a repository may bring it, leads elsewhere. */
const NEW = O_WRONLY | O_CREAT | O_EXCL;
const OVER = O_WRONLY | O_TRUNC | O_NOFOLLOW | O_NONBLOCK;

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

const MOST_BYTES = 1024 * 1024;

async function readRootFiles(root: string): Promise<Map<string, string>> {
  const files = new Map<string, string>();
  for (const entry of await readdir(root, { withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const wanted = GUESS_FILES.includes(entry.name);
    const text = wanted ? await readRegularText(join(root, entry.name), MOST_BYTES).catch(unlessRefused) : '';
    files.set(entry.name, text);
  }
  return files;
}

/** What is no regular file, or very long, says nothing of gates. */
function unlessRefused(error: unknown): string {
  if (error instanceof FileRefused) return '';
  throw error;
}
