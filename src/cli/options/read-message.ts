import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { HaloError } from '../../core/failure/errors.ts';
import { safeLine, safeText } from '../../core/text/safe-text.ts';
import { readRegularFile, readStream } from '../../lib/fs.ts';
import type { Cli } from '../cli.ts';

const MAX_BYTES = 1024 * 1024;
const SCISSORS = '# ------------------------ >8 ------------------------';

/** A text that a user writes: as an option, in a file or on stdin (`-`), or in the editor. */
export interface MessageSource {
  text?: string | undefined;
  file?: string | undefined;
  edit?: true | undefined;
}

/** The text of a user; undefined if no source is given. `about`: what the editor shows below. Throws USAGE. */
export async function readMessage(
  { text, file, edit }: MessageSource,
  about: () => Promise<string>,
  cli: Cli,
): Promise<string | undefined> {
  const given = [text, file, edit].filter((each) => each !== undefined);
  if (given.length > 1)
    throw new HaloError('USAGE', 'The text is given more than once.', { hint: 'Use a text, a file or the editor.' });
  if (edit) return readFromEditor(safeText(await about()), cli);
  return file === undefined ? text : (await readTextInput(file, cli)).trim();
}

/** A text file of the user, or stdin. Throws USAGE. */
export async function readTextInput(file: string, cli: Cli): Promise<string> {
  try {
    if (file === '-') return (await readStream(cli.stdin, MAX_BYTES)).toString('utf8');
    return (await readRegularFile(resolve(cli.cwd, file), MAX_BYTES)).toString('utf8');
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException;
    const why = code === 'ENOENT' ? 'does not exist' : `cannot be read: ${message}`;
    throw new HaloError('USAGE', `The file ${safeLine(file)} ${why}.`, { cause });
  }
}

async function readFromEditor(about: string, cli: Cli): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'halo-text-'));
  // The editor handles Ctrl-C while it is open.
  const off = cli.onStop(() => undefined);
  try {
    const path = join(folder, 'text.md');
    await writeFile(path, `\n${SCISSORS}\n# Write above this line. Everything below it is ignored.\n\n${about}\n`);
    await cli.services.editFile(path);
    const text = await readTextInput(path, cli);
    return (text.split(`${SCISSORS}\n`)[0] ?? '').trim();
  } finally {
    off();
    await rm(folder, { recursive: true, force: true });
  }
}
