import { createHash } from 'node:crypto';
import { constants, copyFile, lstat, readdir, realpath, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { HaloError } from '../../core/failure/errors.ts';
import { findTemplateTexts } from '../../core/prd/prd-template.ts';
import { DRAFT_FILES } from '../../core/prd/prd-names.ts';
import type { Prd } from '../../core/prd/prd.ts';
import { safeLine } from '../../core/text/safe-text.ts';
import { readRegularFile } from '../../lib/fs.ts';
import type { Cli, Define } from '../cli.ts';
import { assertInRepository, parsePrdFile, readPrd, requireNamedPrd } from '../options/read-prd.ts';

const MAX_BYTES = 8 * 1024 * 1024;

export const defineEdit: Define = (command, cli) => {
  command
    .summary('edit a PRD in your editor')
    .description(
      'Opens the stories of a PRD in $VISUAL or $EDITOR and validates them before saving. Invalid content stays in a draft next to the PRD, and the next edit continues with it.',
    )
    .argument('[name]', 'the PRD (default: the only named PRD)')
    .addHelpText('after', HELP)
    .action((name: string | undefined) => editPrd(name, cli));
};

const HELP = `
Examples:
  halo prd edit checkout
  EDITOR='code --wait' halo prd edit checkout

Exit codes:
  0 saved, or nothing changed    2 wrong usage    6 not valid

See also: halo prd validate, halo prd status`;

/** Edits a PRD and saves it if it is valid. */
export async function editPrd(wanted: string | undefined, cli: Cli): Promise<void> {
  const { name, path } = await requireNamedPrd(cli.cwd, wanted);
  await assertInRepository(path, cli.cwd);
  const before = Buffer.from((await readPrd(path, cli)).bytes);
  const draft = draftOf(path, before);
  if (await isContinued(draft, path)) await cli.note('continuing with the draft of the last edit');
  else await copyFile(path, draft, constants.COPYFILE_EXCL);
  // The editor handles Ctrl-C while it is open.
  const off = cli.onStop(() => undefined);
  try {
    await cli.services.editFile(draft);
    const saved = await saveDraft(draft, { name, path, before });
    if (saved === undefined) return await cli.note('nothing changed');
    const count = saved.stories.length;
    await cli.note(`saved ${safeLine(name)}: ${count} ${count === 1 ? 'story' : 'stories'}`);
    const places = findTemplateTexts(saved);
    if (places.length > 0)
      await cli.note(`${cli.paintErr('warn', 'warning:')} placeholders remain: ${safeLine(places.join('; '), 500)}`);
  } finally {
    off();
    if ((await tryReadFile(draft))?.equals(before)) await rm(draft);
  }
}

/**
 * The copy that is edited. It stays if the result is not a valid PRD. Its name contains a digest of the PRD at the start
 * of the edit, because it may replace only that content, also after a crash.
 */
function draftOf(path: string, before: Buffer): string {
  const digest = createHash('sha256').update(before).digest('hex').slice(0, 8);
  return join(dirname(path), DRAFT_FILES.replace('*', digest));
}

/** True if the draft already exists. Throws USAGE if there is a draft of the PRD before a change. */
async function isContinued(draft: string, path: string): Promise<boolean> {
  const folder = dirname(path);
  const drafts = (await readdir(folder)).filter((file) => /^prd\.draft-[0-9a-f]{8}\.json$/.test(file));
  const other = drafts.map((file) => join(folder, file)).find((each) => each !== draft);
  if (other === undefined) {
    if (drafts.length > 0) await assertRegularFile(draft);
    return drafts.length > 0;
  }
  throw new HaloError('USAGE', `${path} has changed since the draft ${other} was created.`, {
    hint: 'Copy what you need from the draft, delete it, and edit again.',
  });
}

/** Throws USAGE for a link, because the editor would write to its target. */
async function assertRegularFile(draft: string): Promise<void> {
  if ((await lstat(draft)).isFile()) return;
  throw new HaloError('USAGE', `${draft} is not a regular file.`, { hint: 'Remove it and edit again.' });
}

interface Edited {
  name: string;
  path: string;
  before: Buffer;
}

/** Saves a valid draft and returns it; undefined if nothing has changed. */
async function saveDraft(draft: string, { name, path, before }: Edited): Promise<Prd | undefined> {
  const after = await tryReadFile(draft);
  if (after === undefined || after.equals(before)) return undefined;
  const prd = await parsePrdFile({ path: draft, bytes: after }, 'daedalus').catch((error: unknown) => {
    if (!(error instanceof HaloError)) throw error;
    const stays = `${path} is unchanged; \`halo prd edit ${name}\` continues with your draft.`;
    throw new HaloError(error.code, error.message, { hint: `${error.hint ?? ''} ${stays}`.trim(), cause: error });
  });
  if ((await tryReadFile(path))?.equals(before) !== true)
    throw new HaloError('PRD_UNREADABLE', `${path} was changed by another process during the edit.`, {
      hint: `Copy what you need from ${draft}, delete it, and edit again. Your edit was not saved.`,
    });
  await rename(draft, await realpath(path));
  return prd;
}

/** Undefined if the file does not exist; some editors remove discarded files. */
async function tryReadFile(path: string): Promise<Buffer | undefined> {
  return readRegularFile(path, MAX_BYTES).catch(() => undefined);
}
