import * as z from 'zod';
import type { FeedbackInput } from '../../api/operations/control.ts';
import { HaloError } from '../../core/failure/errors.ts';
import { safeLine } from '../../core/text/safe-text.ts';
import { tryParseJson } from '../../lib/parse-json.ts';
import type { Cli } from '../cli.ts';
import { readMessage, readTextInput } from './read-message.ts';

export interface FeedbackFlags {
  feedback?: string;
  feedbackFile?: string;
  edit?: true;
  comment?: string[];
  comments?: string;
}

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
export function parseComments(words: readonly string[]): Comments {
  if (words.length % 2 !== 0)
    throw new HaloError('USAGE', '--comment needs a place and a text.', {
      hint: 'Use `--comment src/a.ts:12-14 "text"`, after the id of the run.',
    });
  return words.flatMap((place, index) =>
    index % 2 === 0 ? [{ ...parsePlace(place), text: words[index + 1] ?? '' }] : [],
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
    side: z.enum(['new', 'old']).optional(),
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
