import { HaloError } from '../../core/failure/errors.ts';
import type { JournalEntry } from '../../core/journal/events.ts';
import { MAX_URL, type PlannedFeedback } from '../../core/pulls/pull-review.ts';
import type { Feedback, FeedbackComment } from '../../core/review/feedback.ts';
import { assertAllowed, canContinueAfter, canSendBack, refused } from '../../core/run/actions.ts';
import type { StoryDecisionResult } from '../../core/run/control-result.ts';
import { commitToReview, openFeedback } from '../../core/run/reviewed-story.ts';
import { storyOf, type RunState, type StoryState } from '../../core/run/state.ts';
import { safeLine, safeText } from '../../core/text/safe-text.ts';
import { openHeldRepository } from '../../git/commit/held-commits.ts';
import { readParent } from '../../git/commit/read-commits.ts';
import { mirrorPath } from '../../git/mirror/mirror.ts';
import { listFiles } from '../../git/objects/trees.ts';
import { readBytesAt } from '../../git/repository/inspect-repo.ts';
import { defined } from '../../lib/guards.ts';
import { withIntactMirror } from '../repository/with-intact-mirror.ts';
import { continueRun } from '../run/continue-run.ts';
import type { RunKeeper } from '../worker-context.ts';
import type { ControlRequest } from './control-run.ts';

const MAX_FEEDBACK = 8000;

/** Feedback on the commit of a story. It needs a text or a comment. */
export interface GivenFeedback {
  storyId: string;
  text?: string | undefined;
  comments?: readonly GivenComment[] | undefined;
  /**
   * It comes from a pull request, not from `by` at halo. The lines of its comments are of `commit`; what is not there any more
   * is not quoted.
   */
  review?: Pick<PlannedFeedback, 'source' | 'author' | 'url' | 'commit' | 'base'>;
}

/**
 * Sends the commit of a story back: the story is started again, with the feedback in its prompt. The commit is held for
 * approval, and the next attempt continues with its change, or it has landed on the branch of the run, and the next attempt
 * adds a commit. Safe to repeat. Throws USAGE for unusable texts, STORY_NOT_FOUND, and CONTROL_REFUSED if there is no commit
 * to change, or someone else has decided on it.
 */
export async function giveFeedback(
  keeper: RunKeeper,
  request: ControlRequest,
  given: GivenFeedback,
): Promise<StoryDecisionResult> {
  const { runId, by } = request;
  const text = toFeedbackText(given);
  const state = await keeper.store.readState(runId);
  const story = storyOf(state, given.storyId);
  const repeated = findRepeated(story, { by, text, comments: given.comments });
  const commit = repeated?.commit ?? requireCommit(state, story);
  const changed =
    repeated === undefined &&
    (await record(keeper, {
      ...given,
      runId,
      by,
      text,
      commit,
      comments: await readQuotes(keeper, state, given, commit),
    }));
  const goesOn = (await continueRun(keeper, request)) !== 'ended';
  return { story: story.id, commit, changed, landed: false, goesOn };
}

interface QuotedFeedback extends Omit<GivenFeedback, 'comments' | 'text'>, Pick<Feedback, 'by' | 'text' | 'commit'> {
  runId: string;
  comments: FeedbackComment[];
}

/** Returns false if the same feedback was given in the meantime. */
function record({ store }: RunKeeper, given: QuotedFeedback): Promise<boolean> {
  const { runId, by, text, comments, commit, review } = given;
  return store.transact(runId, (now) => {
    const story = storyOf(now, given.storyId);
    if (findRepeated(story, given) !== undefined) return { entries: [], result: false };
    // Another worker has read the same review.
    if (review !== undefined && story.feedback?.some(({ url }) => url === safeLine(review.url, MAX_URL)))
      return { entries: [], result: false };
    if (requireCommit(now, story) !== commit)
      throw refused(`Story ${story.id} has a different commit now.`, 'Read its diff again.');
    const source = review && {
      source: review.source,
      author: safeLine(review.author, 100),
      url: safeLine(review.url, MAX_URL),
    };
    const attemptRef = { story: story.id, attempt: story.attempts };
    const entry: JournalEntry = { type: 'feedback.given', ...attemptRef, commit, text, comments, by, ...source };
    assertAllowed(canContinueAfter(now, entry));
    return { entries: [entry], result: true };
  });
}

async function readQuotes(
  { home, log }: RunKeeper,
  { repo, tip }: RunState,
  { comments = [], review }: GivenFeedback,
  commit: string,
): Promise<FeedbackComment[]> {
  return withIntactMirror({ home, repo, tip }, async () => {
    const gitDir = await openHeldRepository(mirrorPath(home, repo.mirror));
    return review === undefined
      ? quoteComments(comments, { gitDir, commit })
      : quoteReview(comments, { gitDir, commit: review.commit ?? commit, base: review.base ?? repo.base }, (error) =>
          log.warn({ err: error }, 'lines of a review cannot be read'),
        );
  });
}

function toFeedbackText({ text = '', comments = [] }: GivenFeedback): string {
  const feedback = safeText(text.replace(/\r\n?/g, '\n')).trim();
  if (feedback === '' && comments.length === 0)
    throw new HaloError('USAGE', 'The feedback is empty.', { hint: 'Enter a text, or comment on lines of the diff.' });
  if (feedback.length > MAX_FEEDBACK)
    throw new HaloError('USAGE', `The feedback has ${feedback.length} characters; the limit is ${MAX_FEEDBACK}.`, {
      hint: 'Move parts of it into comments on lines, or into the PRD.',
    });
  return feedback;
}

/** The same feedback of the same person, if the next attempt has not ended yet. */
function findRepeated(
  story: StoryState,
  { by, text, comments = [] }: Pick<Feedback, 'by' | 'text'> & { comments?: readonly GivenComment[] | undefined },
): Feedback | undefined {
  const last = openFeedback(story);
  if (last?.by !== by || last.text !== text || last.comments.length !== comments.length) return undefined;
  const isSame = last.comments.every(({ path, side, line, endLine = line, text: said }, index) => {
    const other = comments[index];
    if (other === undefined || safeText(other.text.replace(/\r\n?/g, '\n')).trim() !== said) return false;
    const { side: otherSide = 'new', endLine: otherEnd = other.line } = other;
    return other.path === path && otherSide === side && other.line === line && otherEnd === endLine;
  });
  return isSame ? last : undefined;
}

/** The commit that feedback on the story is about. Throws CONTROL_REFUSED. */
function requireCommit(state: RunState, story: StoryState): string {
  assertAllowed(canSendBack(state, story));
  return commitToReview(story) as string;
}

/** A comment as a user gives it: halo reads the quoted lines from the commit. */
interface GivenComment {
  path: string;
  text: string;
  /** Default: `new`. */
  side?: FeedbackComment['side'] | undefined;
  line?: number | undefined;
  /** Default: `line`. */
  endLine?: number | undefined;
}

const MAX_COMMENTS = 50;
const MAX_COMMENT = 4000;
const MAX_QUOTED_LINES = 40;
const MAX_QUOTE = 2000;
const MAX_FILE_BYTES = 2 * 1024 * 1024;

/**
 * Adds to each comment the lines that it is about, from the commit or, for the old side, from its parent or `base`. Throws USAGE for
 * a comment on a file or a line that is not there, or without a text.
 */
async function quoteComments(
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
