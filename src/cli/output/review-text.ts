import type { Operations } from '../../api/operations.ts';
import { formatUsd } from '../../core/budget.ts';
import { HaloError } from '../../core/failure/errors.ts';
import type { JournalEvent } from '../../core/journal/events.ts';
import { findingText, JUDGED } from '../../core/review/agent-review.ts';
import { isTested, type TestFinding } from '../../core/review/criteria.ts';
import { toChangedFiles } from '../../core/review/read-patch.ts';
import { findDoubts, reviewRun, type ChangedFile, type StoryReview } from '../../core/review/review.ts';
import { findStoryFindings } from '../../core/review/story-findings.ts';
import type { Change } from '../../core/review/flags.ts';
import { failedTestsLines } from '../../core/test-report/failed-tests.ts';
import { changesText } from '../../core/test-report/test-report.ts';
import { formatElapsed } from '../../core/text/format-elapsed.ts';
import { safeLine, safeOutput } from '../../core/text/safe-text.ts';
import { exitText } from '../../core/transcript/excerpt.ts';
import type { Paint, Tone } from '../../core/transcript/transcript-line.ts';
import { wrapIndented } from '../../lib/string-width.ts';
import type { Cli } from '../cli.ts';
import { storyFacts, type Fact } from '../../view/facts.ts';
import { storyWords } from '../../view/story-words.ts';
import { readFiles } from '../../tui/diff/read-diff.ts';

/** Facts about all stories of a run, or those in `wanted`, also over HTTP. Throws STORY_NOT_FOUND. */
export async function readReview(
  operations: Operations,
  runId: string,
  wanted?: (review: StoryReview) => boolean,
): Promise<ReviewedStory[]> {
  const events: JournalEvent[] = [];
  for await (const { event } of await operations.followEvents({ runId, after: 0, follow: false })) events.push(event);
  const reviewed: ReviewedStory[] = [];
  const found = reviewRun(events);
  for (const review of found?.stories ?? []) {
    if (wanted?.(review) === false) continue;
    const files =
      review.commit === undefined
        ? undefined
        : toChangedFiles(readFiles(await operations.readDiff({ runId, story: review.id })));
    const story = found?.state.stories.find(({ id }) => id === review.id);
    reviewed.push({
      ...{ review, files, doubts: files === undefined ? [] : findDoubts(review, files) },
      words: found && story ? storyWords(story, found.state, new Date().toISOString()).text : '',
      facts: story ? storyFacts(story) : [],
    });
  }
  return reviewed;
}

/** Prints a summary for a decision of the user to stderr; nothing if it cannot be read. */
export async function noteReview(
  operations: Operations,
  runId: string,
  { cli, story }: { cli: Cli; story?: string | undefined },
): Promise<void> {
  const wanted = ({ id, commit }: StoryReview) => commit !== undefined && (story === undefined || id === story);
  const reviewed = await readReview(operations, runId, wanted).catch((error: unknown) => {
    if (error instanceof HaloError) return [];
    throw error;
  });
  const shown = { paint: cli.paintErr, width: Math.min(100, (cli.screen.columns ?? 80) - 1) };
  for (const each of reviewed) await cli.note(...shortReviewText(each, shown));
}

const MAX_TEXT_LENGTH = 2000;
const MAX_FILES = 20;

interface ReviewedStory {
  review: StoryReview;
  /** Undefined for a story without a commit. */
  files: ChangedFile[] | undefined;
  doubts: string[];
  /** Its state. */
  words: string;
  facts: Fact[];
}

interface Shown {
  paint: Paint;
  /** In columns; lines are wrapped at it. */
  width: number;
}

/** A story with all known facts, for the person who decides on it. */
export function reviewText(story: ReviewedStory, shown: Shown): string[] {
  const { review, files, doubts, facts } = story;
  const { paint, width } = shown;
  const lines: [Tone, string][] = [];
  if (review.description !== undefined)
    return [...headLines(story, shown), ...descriptionLines(review.description, width)];
  for (const criterion of review.criteria) {
    const good = isTested(criterion);
    lines.push([good ? 'good' : 'warn', `  ${good ? '✓' : '?'} ${safeLine(criterion.text, MAX_TEXT_LENGTH)}`]);
    lines.push(['quiet', `      ${evidenceText(criterion, files)}`]);
  }
  if (review.criteria.length === 0) lines.push(['quiet', '  the PRD has no acceptance criteria for this story']);
  if (review.gates.length > 0) lines.push(['plain', `  gates    ${gatesText(review.gates)}`]);
  if (review.failedTests !== undefined)
    for (const line of failedTestsLines(review.failedTests)) lines.push(['bad', `    ${line}`]);
  if (review.tests !== undefined) lines.push(['plain', `  tests    ${testsText(review.tests)}`]);
  if (files !== undefined) lines.push(['plain', `  changed  ${changedText(files)}`]);
  const rest = otherFiles(story);
  if (rest !== '') lines.push(['plain', `  other    ${rest}`]);
  // The tests have a line above.
  for (const { label, value, tone = 'plain' } of facts.filter(({ kind }) => kind !== 'tests'))
    lines.push([tone, `  ${tone === 'plain' ? ' ' : '!'} ${label}: ${value}`]);
  for (const finding of review.reviewed?.findings ?? [])
    lines.push([
      finding.severity === 'blocking' ? 'warn' : 'plain',
      `      ${finding.severity}: ${findingText(finding)}`,
    ]);
  for (const doubt of doubts) lines.push(['warn', `  ! ${safeLine(doubt, MAX_TEXT_LENGTH)}`]);
  return [
    ...headLines(story, shown),
    ...lines.flatMap(([tone, line]) => wrapIndented(line, width).map((each) => paint(tone, each))),
  ];
}

/** What the agent of a dry run would change. */
function descriptionLines(description: string, width: number): string[] {
  const lines = safeOutput(description).trim().split('\n');
  return lines.flatMap((line) => wrapIndented(`  ${line}`.trimEnd(), width));
}

/** The same in one or two lines, for a question or a command that decides. */
function shortReviewText({ review, doubts }: ReviewedStory, { paint, width }: Shown): string[] {
  const covered = review.criteria.filter(isTested).length;
  const count = review.criteria.length;
  const criteria = count === 0 ? 'no criteria' : `${covered} of ${count} criteria with a test that ran`;
  const tests = review.tests === undefined ? [] : [`tests ${review.tests.before} → ${review.tests.after}`];
  const facts = [criteria, ...tests, ...costText(review.usage.costUsd)].join(', ');
  return [
    ...wrapIndented(`${safeLine(review.id)}  ${safeLine(review.title)}: ${facts}`, width),
    ...doubts.flatMap((doubt) =>
      wrapIndented(`  ! ${safeLine(doubt, MAX_TEXT_LENGTH)}`, width).map((line) => paint('warn', line)),
    ),
  ];
}

function headLines({ review, words }: ReviewedStory, { paint, width }: Shown): string[] {
  const { attempt, maxAttempts, agent, version, model, ms, usage, commit } = review;
  const facts = [
    review.description === undefined ? words : 'described in a dry run',
    ...(attempt === 0 ? [] : [`attempt ${attempt} of ${maxAttempts}`]),
    ...(agent === undefined ? [] : [safeLine([agent, version, model].filter((each) => each !== undefined).join(' '))]),
    ...costText(usage.costUsd),
    ...(ms === undefined ? [] : [formatElapsed(ms)]),
    ...(commit === undefined ? [] : [commit.slice(0, 7)]),
  ];
  return [
    ...wrapIndented(`${safeLine(review.id)}  ${safeLine(review.title)}`, width).map((line) => paint('strong', line)),
    ...wrapIndented(`  ${facts.join(' · ')}`, width).map((line) => paint('quiet', line)),
  ];
}

function costText(costUsd: number | undefined): string[] {
  return costUsd === undefined ? [] : [formatUsd(costUsd)];
}

/** More locked tests of a criterion are counted. */
const MAX_TESTS = 5;

/** A criterion is covered if all tests that are named for it ran. */
const FINDINGS: Record<TestFinding, string> = {
  ran: '',
  skipped: ' (skipped)',
  missing: ' (not in the test reports)',
  unknown: ' (no test report)',
};

function evidenceText(
  { claim, locked = [], judged }: StoryReview['criteria'][number],
  files: readonly ChangedFile[] | undefined,
): string {
  const shown = locked.slice(0, MAX_TESTS).map((name) => `"${safeLine(name, 200)}" (locked)`);
  const more = locked.length - shown.length;
  const own = more > 0 ? [...shown, `${more} more locked tests`] : shown;
  const tests = (claim?.tests ?? []).map(({ name, found }) => `"${safeLine(name, 200)}"${FINDINGS[found]}`);
  const named = (claim?.files ?? []).map((path) => {
    if (files === undefined) return safeLine(path);
    const file = files.find((each) => each.path === path);
    return file === undefined ? `${safeLine(path)} (not changed)` : fileText(file);
  });
  const all = [...own, ...tests];
  const word = judged === undefined ? [] : [JUDGED[judged]];
  return [all.length === 0 ? 'no test named' : all.join(', '), ...named, ...word].join(' · ');
}

function gatesText(gates: ReviewedStory['review']['gates']): string {
  return gates
    .map(({ command, exitCode, ms }) => {
      const end = exitCode === 0 ? '' : ` ${exitText(exitCode)}`;
      return `${safeLine(command, 200)} ${formatElapsed(ms)}${end}`;
    })
    .join(' · ');
}

function testsText(changes: NonNullable<ReviewedStory['review']['tests']>): string {
  const parts = changesText(changes, MAX_TEXT_LENGTH);
  return `${changes.before} → ${changes.after}, ${parts.length === 0 ? 'none removed' : parts.join('; ')}`;
}

function changedText(files: readonly ChangedFile[]): string {
  if (files.length === 0) return 'nothing';
  const sum = (of: (file: ChangedFile) => number) => files.reduce((total, file) => total + of(file), 0);
  const count = files.length === 1 ? '1 file' : `${files.length} files`;
  const hunks = sum((file) => file.hunks);
  return `${count}, ${hunks} ${hunks === 1 ? 'hunk' : 'hunks'}, +${sum((file) => file.added)} -${sum((file) => file.removed)}`;
}

/** Changes that are not named for any criterion. */
function otherFiles({ review, files = [] }: ReviewedStory): string {
  const named = new Set(review.criteria.flatMap(({ claim }) => claim?.files ?? []));
  const rest = files.filter(({ path }) => !named.has(path));
  const shown = rest.slice(0, MAX_FILES).map(fileText).join(', ');
  return rest.length > MAX_FILES ? `${shown} and ${rest.length - MAX_FILES} more` : shown;
}

function fileText({ path, added, removed }: ChangedFile): string {
  return `${safeLine(path)} +${added} -${removed}`;
}

/** Prints findings that a reviewer may have overlooked to stderr. */
export async function printFindings(changes: readonly Change[], cli: Cli): Promise<void> {
  for (const change of changes)
    for (const { kind, text } of findStoryFindings(change)) {
      const what = kind === 'tests' ? `tests of ${safeLine(change.id)}: ${text}` : `${safeLine(change.id)}: ${text}`;
      await cli.note(`${cli.paintErr('warn', 'warning:')} ${what}`);
    }
}
