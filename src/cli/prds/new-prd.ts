import { writeFile } from 'node:fs/promises';
import { basename, dirname, join, relative } from 'node:path';
import { createFolders } from '../../lib/fs.ts';
import { HaloError } from '../../core/failure/errors.ts';
import { isPrdName, NAME_RULE, PRD_FILE, PRDS_GITIGNORE } from '../../core/prd/prd-names.ts';
import { PRD_TEMPLATE } from '../../core/prd/prd-template.ts';
import { safeLine } from '../../core/text/safe-text.ts';
import type { Cli, Define } from '../cli.ts';
import { assertInRepository, findNamedPrd, resolvePrdsFolder } from '../options/read-prd.ts';

export const defineNew: Define = (command, cli) => {
  command
    .summary('create a named PRD')
    .description(
      'Creates .halo/prds/<name>/ at the top of the repository, with prd.md for notes and prd.json for the stories. All commands that take a PRD file also take the name.',
    )
    .argument('[name]', 'letters, digits, - and _', 'main')
    .addHelpText('after', HELP)
    .action((name: string) => makePrd(name, cli));
};

const HELP = `
Examples:
  halo prd new
  halo prd new checkout && halo prd edit checkout && halo run checkout

See also: halo prd edit, halo prd status, halo run`;

async function makePrd(name: string, cli: Cli): Promise<void> {
  const folder = await createPrd(name, cli.cwd);
  await cli.print(join(relative(cli.cwd, folder) || '.', PRD_FILE));
  await cli.note(`next: halo prd edit ${safeLine(name)}`);
}

/** Creates a named PRD and returns its folder. Throws USAGE, DISK_FAILED. */
export async function createPrd(name: string, cwd: string): Promise<string> {
  if (!isPrdName(name))
    throw new HaloError('USAGE', `${JSON.stringify(name)} is not a valid name of a PRD.`, {
      hint: `Use ${NAME_RULE}.`,
    });
  const prds = await resolvePrdsFolder(cwd);
  const folder = join(prds, name);
  // Another folder of PRDs may have the name.
  const existing = await findNamedPrd(cwd, name);
  if (existing !== undefined) throw exists(existing);
  await assertInRepository(folder, cwd);
  await createFolders(folder).catch((cause: unknown) => {
    throw notMade(folder, cause);
  });
  const project = basename(dirname(dirname(prds))) || name;
  await writeNew(join(folder, PRD_FILE), scaffoldJson(project));
  // Existing files are kept.
  await writeNew(join(folder, 'prd.md'), scaffoldText(name)).catch(ignoreExisting);
  await writeNew(join(prds, '.gitignore'), PRDS_GITIGNORE).catch(ignoreExisting);
  return folder;
}

async function writeNew(path: string, text: string): Promise<void> {
  await writeFile(path, text, { flag: 'wx' }).catch((cause: unknown) => {
    if ((cause as NodeJS.ErrnoException).code !== 'EEXIST') throw notMade(path, cause);
    throw exists(path, cause);
  });
}

function exists(path: string, cause?: unknown): HaloError {
  const hint = 'Edit it with `halo prd edit`, or choose another name.';
  return new HaloError('USAGE', `The PRD ${path} already exists.`, { hint, cause });
}

function notMade(path: string, cause: unknown): HaloError {
  const { code = 'unknown' } = cause as NodeJS.ErrnoException;
  const reasons: Record<string, string> = {
    EEXIST: 'a file with that name exists',
    ENOTDIR: 'a part of the path is a file',
    EACCES: 'permission denied',
  };
  return new HaloError('DISK_FAILED', `${path} cannot be created: ${reasons[code] ?? code}.`, { cause });
}

function ignoreExisting(error: unknown): void {
  if (!(error instanceof HaloError) || error.code !== 'USAGE') throw error;
}

function scaffoldJson(project: string): string {
  const story = { ...PRD_TEMPLATE.story, priority: 1, passes: false, inProgress: false };
  const document = { project, description: PRD_TEMPLATE.description, userStories: [story] };
  return `${JSON.stringify(document, undefined, 2)}\n`;
}

function scaffoldText(name: string): string {
  return `# ${name}

## Problem

## Goal

## Not part of it

## Stories

The stories are in prd.json: small ones, each with criteria that can be checked. Lower priorities run first.
`;
}
