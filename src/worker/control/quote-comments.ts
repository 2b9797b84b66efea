import { HaloError } from '../../core/failure/errors.ts';
import type { FeedbackComment } from '../../core/review/feedback.ts';
import { safeLine, safeText } from '../../core/text/safe-text.ts';
import { readParent } from '../../git/commit/read-commits.ts';
import { listFiles } from '../../git/objects/trees.ts';
import { readBytesAt } from '../../git/repository/inspect-repo.ts';
import { defined } from '../../lib/guards.ts';

/** A comment as a user gives it: halo reads the quoted lines from the commit. */
export interface GivenComment {
  path: string;
  text: string;
  /** Default: `new`. */
  side?: FeedbackComment['side'] | undefined;
  line?: number | undefined;
  /** Default: `line`. */
  endLine?: number | undefined;
}

export const MAX_COMMENTS = 50;
export const MAX_COMMENT = 4000;
const MAX_QUOTED_LINES = 40;
const MAX_QUOTE = 2000;
const MAX_FILE_BYTES = 2 * 1024 * 1024;

/**
 * Adds to each comment the lines that it is about, from the commit or, for the old side, from its parent or `base`. Throws USAGE for
 * a comment on a file or a line that is not there, or without a text.
 */
export async function quoteComments(
  comments: readonly GivenComment[],
  { gitDir, commit, base }: { gitDir: string; commit: string; base?: string },
): Promise<FeedbackComment[]> {
  if (comments.length > MAX_COMMENTS)
    throw new HaloError('USAGE', `There are ${comments.length} comments; the limit is ${MAX_COMMENTS}.`);
  const quoted: FeedbackComment[] = [];
  for (const { path, side = 'new', line, endLine, text } of comments) {
    const at = { gitDir, commit: side === 'new' ? commit : (base ?? (await readParent(gitDir, commit))), path };
    const quote = await readQuote(at, { line, endLine });
    const last = endLine === line ? undefined : endLine;
    quoted.push({ path, side, ...defined({ line, endLine: last, quote }), text: commentText(text, path) });
  }
  return quoted;
}

/**
 * The same for comments on a pull request: without the lines where they cannot be read, because others changed the branch.
 * `onFault`: hears why git failed.
 */
export async function quoteReview(
  comments: readonly GivenComment[],
  at: { gitDir: string; commit: string; base: string },
  onFault: (error: unknown) => void,
): Promise<FeedbackComment[]> {
  const quoted: FeedbackComment[] = [];
  for (const comment of comments) {
    const { path, side = 'new', line, endLine, text } = comment;
    const plain = { path, side, ...defined({ line, endLine }), text: commentText(text, path) };
    const [found = plain] = await quoteComments([comment], at).catch((error: unknown) => {
      // Lines that are not there are no fault.
      if (!(error instanceof HaloError) || error.code !== 'USAGE') onFault(error);
      return [plain];
    });
    quoted.push(found);
  }
  return quoted;
}

async function readQuote(
  at: { gitDir: string; commit: string; path: string },
  { line, endLine = line }: Pick<GivenComment, 'line' | 'endLine'>,
): Promise<string | undefined> {
  const { commit, path } = at;
  const name = safeLine(path);
  const files = await listFiles(at, (file) => file.path === path);
  if (!files.some(({ mode }) => mode.startsWith('100')))
    throw new HaloError('USAGE', `${name} is not a file of the commit ${commit.slice(0, 7)}.`, {
      hint: 'Use a path of the diff, relative to the top of the repository, as in `src/a.ts:12-14`.',
    });
  if (line === undefined) return undefined;
  if (endLine === undefined || endLine < line)
    throw new HaloError('USAGE', `A comment on ${name} ends before line ${line}.`);
  const bytes = (await readBytesAt({ ...at, maxBytes: MAX_FILE_BYTES, truncate: true })) ?? Buffer.alloc(0);
  const lines = bytes
    .toString('utf8')
    .replace(/\r?\n$/, '')
    .split(/\r?\n/);
  if (endLine > lines.length)
    throw new HaloError(
      'USAGE',
      `${name} has ${lines.length} lines in the commit ${commit.slice(0, 7)}, not ${endLine}.`,
    );
  const quoted = lines.slice(line - 1, Math.min(endLine, line - 1 + MAX_QUOTED_LINES)).join('\n');
  return safeText(quoted).slice(0, MAX_QUOTE);
}

function commentText(given: string, path: string): string {
  const text = safeText(given.replace(/\r\n?/g, '\n')).trim();
  if (text !== '' && text.length <= MAX_COMMENT) return text;
  const why = text === '' ? 'is empty' : `has ${text.length} characters; the limit is ${MAX_COMMENT}`;
  throw new HaloError('USAGE', `A comment on ${safeLine(path)} ${why}.`);
}
