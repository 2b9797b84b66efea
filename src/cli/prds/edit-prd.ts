import { createHash } from 'node:crypto';
import { constants, copyFile, lstat, readdir, realpath, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { HaloError } from '../../core/failure/errors.ts';
import { findTemplateTexts } from '../../core/prd/prd-template.ts';
import type { Prd } from '../../core/prd/prd.ts';
import { safeLine } from '../../core/safe-text.ts';
import { readRegularFile } from '../../lib/read-file.ts';
import type { Cli } from '../cli.ts';
import type { Define } from '../define.ts';
import { refuseOutside, requireNamedPrd } from '../options/named-prds.ts';
import { readPrd } from '../options/read-prd.ts';

const MOST_BYTES = 8 * 1024 * 1024;

/** Drafts as git's rules for files to ignore name them. */
export const DRAFT_FILES = 'prd.draft-*.json';

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
  await refuseOutside(path, cli.cwd);
  const before = Buffer.from((await readPrd(path, cli)).bytes);
  const draft = draftOf(path, before);
  if (await goesOn(draft, path)) await cli.note('going on with the draft of the last edit');
  else await copyFile(path, draft, constants.COPYFILE_EXCL);
  // What Ctrl-C means while the editor is open is for the editor to say.
  const off = cli.onStop(() => undefined);
  try {
    await cli.services.editFile(draft);
    const saved = await takeOver(draft, { name, path, before, cli });
    if (saved === undefined) return await cli.note('nothing changed');
    const count = saved.stories.length;
    await cli.note(`saved ${safeLine(name)}: ${count} ${count === 1 ? 'story' : 'stories'}`);
    const places = findTemplateTexts(saved);
    if (places.length > 0)
      await cli.note(`${cli.paintErr('warn', 'warning:')} placeholders are left: ${safeLine(places.join('; '), 500)}`);
  } finally {
    off();
    if ((await readIfThere(draft))?.equals(before)) await rm(draft);
  }
}

/**
 * The copy that is edited; it stays when what was written cannot be a PRD. Its name holds what the PRD said when it was
 * begun: it may be saved over that alone, whoever died meanwhile.
 */
function draftOf(path: string, before: Buffer): string {
  const digest = createHash('sha256').update(before).digest('hex').slice(0, 8);
  return join(dirname(path), DRAFT_FILES.replace('*', digest));
}

/** Whether the draft is there already. Throws USAGE when there is one of a PRD that said something else. */
async function goesOn(draft: string, path: string): Promise<boolean> {
  const folder = dirname(path);
  const drafts = (await readdir(folder)).filter((file) => /^prd\.draft-[0-9a-f]{8}\.json$/.test(file));
  const other = drafts.map((file) => join(folder, file)).find((each) => each !== draft);
  if (other === undefined) return drafts.length > 0 && (await isOwnFile(draft));
  throw new HaloError('USAGE', `${path} has changed since the draft ${other} was begun.`, {
    hint: 'Take what you need from the draft, delete it, and edit again.',
  });
}

/** A link in its place would have the editor write elsewhere. Throws USAGE. */
async function isOwnFile(draft: string): Promise<true> {
  if ((await lstat(draft)).isFile()) return true;
  throw new HaloError('USAGE', `${draft} is no regular file.`, { hint: 'Remove it, and edit again.' });
}

interface Edited {
  name: string;
  path: string;
  before: Buffer;
  cli: Cli;
}

/** Saves the draft when it can be read; gives what it says, or undefined when that is nothing new. */
async function takeOver(draft: string, { name, path, before, cli }: Edited): Promise<Prd | undefined> {
  const after = await readIfThere(draft);
  if (after === undefined || after.equals(before)) return undefined;
  const prd = await cli.services.parsePrd({ path: draft, bytes: after, as: 'daedalus' }).catch((error: unknown) => {
    if (!(error instanceof HaloError)) throw error;
    const stays = `${path} is as it was; \`halo prd edit ${name}\` goes on with what you wrote.`;
    throw new HaloError(error.code, error.message, { hint: `${error.hint ?? ''} ${stays}`.trim(), cause: error });
  });
  if ((await readIfThere(path))?.equals(before) !== true)
    throw new HaloError('PRD_UNREADABLE', `${path} was changed by somebody else meanwhile, such as a run.`, {
      hint: `It stays as it is. Take what you need from ${draft}, delete it, and edit again.`,
    });
  await rename(draft, await realpath(path));
  return prd;
}

/** Some editors remove what they are told to forget. */
async function readIfThere(path: string): Promise<Buffer | undefined> {
  return readRegularFile(path, MOST_BYTES).catch(() => undefined);
}
