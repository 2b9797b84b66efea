import { constants } from 'node:fs';
import { readdir, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import type { Host } from '../../config/config.ts';
import { guessGates, GUESS_FILES } from '../../config/guess.ts';
import { findRepoConfig } from '../../config/load/config-file.ts';
import { renderTemplate } from '../../config/output/init-template.ts';
import { programsOf, registriesOf } from '../../core/command-needs.ts';
import { HaloError, toHaloError } from '../../core/failure/errors.ts';
import { findNotIgnored } from '../../git/ignored.ts';
import { inspectRepo } from '../../git/repository/inspect-repo.ts';
import { isInside } from '../../lib/inside.ts';
import { FileRefused, readRegularText } from '../../lib/read-file.ts';
import { discoverPrd } from './discover-prd.ts';
import { readConfig, unlessEmpty } from './repo-config.ts';
import { warnOfContents } from '../submit/base-warnings.ts';

export interface Initialised {
  /** Of the file that was written. */
  path: string;
  /** What was guessed. */
  setup: string[];
  gates: string[];
  /** What setup may reach. */
  registries: string[];
  hosts: string[];
  /** What stands in the way of it, a sentence each. */
  warnings: string[];
  /** The PRD in a usual place, from the top of the repository. */
  prd: string | undefined;
}

export interface Init {
  host: Host;
  folder: string;
  force: boolean;
  /** Which of these programs an image lacks. Throws where nobody can say. */
  missingIn: (image: string, programs: readonly string[]) => Promise<string[]>;
}

/** Writes a commented halo.toml into the repository that `folder` belongs to. Throws NOT_A_GIT_REPO, CONFIG_INVALID. */
export async function initConfig({ host, folder, force, missingIn }: Init): Promise<Initialised> {
  const facts = await inspectRepo(folder).catch(unlessEmpty);
  const root = facts?.root ?? folder;
  const found = await findRepoConfig(root);
  if (found !== undefined && !force)
    throw new HaloError('CONFIG_INVALID', `There is a configuration already: ${found.path}.`, {
      hint: 'Edit it, or overwrite it with --force.',
    });
  const path = found?.path ?? join(root, 'halo.toml');
  const files = await readRootFiles(root);
  const guess = guessGates(files);
  const flag = found === undefined ? NEW : OVER;
  await writeFile(path, renderTemplate(guess), { flag }).catch(async (cause: NodeJS.ErrnoException) => {
    if (cause.code === 'ELOOP' || !(await isInside(root, path)))
      throw new HaloError('CONFIG_INVALID', `${path} is a link; halo writes through none.`, {
        hint: 'Remove it.',
        cause,
      });
    throw new HaloError('DISK_FAILED', `${path} cannot be written (${cause.code ?? cause.message}).`, { cause });
  });
  const { setup, gates, hosts, keeps } = guess;
  const { config } = await readConfig({ host, folder: root, profile: undefined, set: [] });
  const warnings = [
    ...(await warnOfTools(config.image, programsOf([...setup, ...gates]), missingIn)),
    ...(await warnOfKept(root, keeps)),
    ...(facts === undefined ? [] : await warnOfContents({ gitDir: facts.gitDir, commit: facts.head })),
  ];
  const prd = await discoverPrd({ repo: root, hint: '' }).then((at) => relative(root, at), unlessNoPrd);
  return { path, setup, gates, registries: registriesOf(setup), hosts, warnings, prd };
}

async function warnOfTools(image: string, programs: string[], missingIn: Init['missingIn']): Promise<string[]> {
  if (programs.length === 0) return [];
  const missing = await missingIn(image, programs).catch((error: unknown) => toHaloError(error));
  if (missing instanceof HaloError)
    return [
      `Whether the image ${image} has ${programs.join(', ')} could not be looked up: ${asClause(missing.message)}`,
    ];
  if (missing.length === 0) return [];
  const are = missing.length === 1 ? 'is' : 'are';
  return [`${missing.join(', ')} ${are} not in the image ${image}: set \`image\` to one that has it (docs/images.md).`];
}

/** What setup installs must be ignored, because everything else that is not tracked is gone before the gates. */
async function warnOfKept(root: string, keeps: readonly string[]): Promise<string[]> {
  const open = await findNotIgnored(root, keeps);
  if (open.length === 0) return [];
  const lines = open.map((path) => `/${path}/`).join(' and ');
  return [`Add ${lines} to .gitignore: what setup puts there is removed before the gates unless git ignores it.`];
}

function asClause(message: string): string {
  return message.endsWith('.') ? message : `${message}.`;
}

function unlessNoPrd(error: unknown): undefined {
  if (error instanceof HaloError && error.code === 'PRD_UNREADABLE') return undefined;
  throw error;
}

const { O_CREAT, O_EXCL, O_NOFOLLOW, O_NONBLOCK, O_TRUNC, O_WRONLY } = constants;
/** A link in the place of the file, as a repository may bring it, leads elsewhere. */
const NEW = O_WRONLY | O_CREAT | O_EXCL;
const OVER = O_WRONLY | O_TRUNC | O_NOFOLLOW | O_NONBLOCK;

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
