import { copyFile, readFile, realpath, rename, rm, stat, utimes } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { HaloError } from '../../core/errors.ts';
import { safeLine } from '../../core/safe-text.ts';
import type { Cli } from '../cli.ts';
import type { Define } from '../define.ts';
import { requireNamedPrd } from '../named-prds.ts';

/** The copy that is being edited; it stays when what was written cannot be a PRD. */
export const DRAFT_FILE = 'prd.draft.json';

export const defineEdit: Define = (command, cli) => {
  command
    .summary('change a PRD in your editor')
    .description(
      'Opens the stories of a PRD in $VISUAL or $EDITOR and checks them before they are saved. What cannot be run stays in a draft beside the PRD, which the next edit goes on with.',
    )
    .helpOption('-h, --help', 'show help')
    .argument('[name]', 'the PRD; may be left out where there is only one')
    .addHelpText('after', HELP)
    .action((name: string | undefined) => edit(name, cli));
};

const HELP = `
Examples:
  halo prd edit checkout
  EDITOR='code --wait' halo prd edit checkout

Exit codes:
  0 saved, or nothing changed    2 wrong usage    6 it cannot be run, and why

See also: halo prd validate, halo prd status`;

async function edit(wanted: string | undefined, cli: Cli): Promise<void> {
  const { name, path } = await requireNamedPrd(cli.cwd, wanted);
  const draft = join(dirname(path), DRAFT_FILE);
  const { mtimeMs } = await stat(path);
  const before = await readFile(path);
  if (await goesOn(draft, { path, mtimeMs })) await cli.note('going on with the draft of the last edit');
  else await copyFile(path, draft);
  try {
    await cli.services.editFile(draft);
    const count = await takeOver(draft, { name, path, before, cli });
    await cli.note(count === undefined ? 'nothing changed' : `saved ${safeLine(name)}: ${count} stories`);
  } finally {
    await settleDraft(draft, { before, mtimeMs });
  }
}

/** A draft has the time of the PRD that it began with: it may be saved over that one alone. Throws USAGE. */
async function goesOn(draft: string, { path, mtimeMs }: { path: string; mtimeMs: number }): Promise<boolean> {
  const there = await stat(draft).catch(() => undefined);
  if (there === undefined) return false;
  if (Math.abs(there.mtimeMs - mtimeMs) < 2) return true;
  throw new HaloError('USAGE', `${path} has changed since the draft of the last edit was begun.`, {
    hint: `Take what you need from ${draft}, delete it, and edit again.`,
  });
}

interface Edited {
  name: string;
  path: string;
  before: Buffer;
  cli: Cli;
}

/** Saves the draft when it can be run; gives the number of its stories, or undefined when it says nothing new. */
async function takeOver(draft: string, { name, path, before, cli }: Edited): Promise<number | undefined> {
  const after = await readFile(draft);
  if (after.equals(before)) return undefined;
  const prd = await cli.services.parsePrd({ path: draft, bytes: after, as: 'daedalus' }).catch((error: unknown) => {
    if (!(error instanceof HaloError)) throw error;
    const stays = `${path} is as it was; \`halo prd edit ${name}\` goes on with what you wrote.`;
    throw new HaloError(error.code, error.message, { hint: `${error.hint ?? ''} ${stays}`.trim(), cause: error });
  });
  if (!(await readFile(path)).equals(before))
    throw new HaloError('PRD_UNREADABLE', `${path} was changed by somebody else meanwhile, such as a run.`, {
      hint: `It stays as it is. Take what you need from ${draft}, delete it, and edit again.`,
    });
  await rename(draft, await realpath(path));
  return prd.stories.length;
}

/** A draft that says nothing new goes, another one is kept with the time of the PRD that it began with. */
async function settleDraft(draft: string, { before, mtimeMs }: { before: Buffer; mtimeMs: number }): Promise<void> {
  const left = await readFile(draft).catch(() => undefined);
  if (left === undefined) return;
  if (left.equals(before)) await rm(draft);
  else await utimes(draft, mtimeMs / 1000, mtimeMs / 1000);
}
