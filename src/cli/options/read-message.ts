import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import * as z from 'zod';
import type { InputOf } from '../../api/operations.ts';
import { HaloError } from '../../core/failure/errors.ts';
import { safeLine, safeText } from '../../core/text/safe-text.ts';
import { readRegularFile, readStream } from '../../lib/fs.ts';
import { tryParseJson } from '../../lib/parse-json.ts';
import type { Cli } from '../cli.ts';

const MAX_BYTES = 1024 * 1024;
const SCISSORS = '# ------------------------ >8 ------------------------';

/** A text that a user writes: as an option, in a file or on stdin (`-`), or in the editor. */
interface MessageSource {
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
async function readTextInput(file: string, cli: Cli): Promise<string> {
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

export interface FeedbackFlags {
  feedback?: string;
  feedbackFile?: string;
  edit?: true;
  comment?: string[];
  comments?: string;
}

type FeedbackInput = Pick<InputOf<'reject'>, 'feedback' | 'comments'>;
type Comments = NonNullable<FeedbackInput['comments']>;

/** The feedback of the command line; undefined if there is none. `diff`: what the editor shows. Throws USAGE. */
export async function readFeedback(
  flags: FeedbackFlags,
  diff: () => Promise<string>,
  cli: Cli,
): Promise<FeedbackInput | undefined> {
  const { feedback: text, feedbackFile: file, edit, comment = [], comments: list } = flags;
  const isGiven = [text, file, edit, list].some((each) => each !== undefined) || comment.length > 0;
  if (!isGiven) return undefined;
  const comments = [...parseComments(comment), ...(list === undefined ? [] : await readComments(list, cli))];
  return {
    feedback: await readMessage({ text, file, edit }, diff, cli),
    comments: comments.length === 0 ? undefined : comments,
  };
}

/** `words`: a place and a text, in turn. A place is `path`, `path:line` or `path:line-line`. */
function parseComments(words: readonly string[]): Comments {
  if (words.length % 2 !== 0)
    throw new HaloError('USAGE', '--comment needs a place and a text.', {
      hint: 'Use `--comment src/a.ts:12-14 "text"`, after the id of the run.',
    });
  return words.flatMap((place, index) =>
    index % 2 === 0 ? [{ ...parsePlace(place), side: 'new', text: words[index + 1] ?? '' }] : [],
  );
}

function parsePlace(place: string): Pick<Comments[number], 'path' | 'line' | 'endLine'> {
  const [, path = '', line, endLine] = /^(.+?)(?::(\d+)(?:-(\d+))?)?$/s.exec(place) ?? [];
  if (path === '')
    throw new HaloError('USAGE', 'A comment names no file.', { hint: 'Use `--comment src/a.ts:12 "text"`.' });
  return {
    path,
    ...(line === undefined ? {} : { line: Number(line) }),
    ...(endLine === undefined ? {} : { endLine: Number(endLine) }),
  };
}

const Listed = z.array(
  z.strictObject({
    path: z.string().min(1),
    side: z.enum(['new', 'old']).default('new'),
    line: z.int().min(1).optional(),
    endLine: z.int().min(1).optional(),
    text: z.string(),
  }),
);

async function readComments(file: string, cli: Cli): Promise<Comments> {
  const { data, error } = Listed.safeParse(tryParseJson(await readTextInput(file, cli)));
  if (data !== undefined) return data;
  const issue = error.issues[0];
  throw new HaloError('USAGE', `${safeLine(file)} is not a list of comments: ${safeLine(issue?.message ?? '')}.`, {
    hint: 'Write JSON such as [{"path": "src/a.ts", "line": 12, "endLine": 14, "text": "…"}].',
  });
}
