import type { Operations } from '../../api/operations.ts';
import { HaloError } from '../../core/failure/errors.ts';
import type { JournalEvent } from '../../core/journal/events.ts';
import { findDoubts, reviewRun, type StoryReview } from '../../core/review/review.ts';
import { changedFiles } from '../diff/changed-files.ts';
import type { Cli } from '../cli.ts';
import { shortReviewText, type ReviewedStory } from './review-text.ts';

/** Facts about all stories of a run, or those in `wanted`, also over HTTP. Throws STORY_NOT_FOUND. */
export async function readReview(
  operations: Operations,
  runId: string,
  wanted?: (review: StoryReview) => boolean,
): Promise<ReviewedStory[]> {
  const events: JournalEvent[] = [];
  for await (const event of operations.follow(runId, { after: 0, follow: false })) events.push(event);
  const reviewed: ReviewedStory[] = [];
  for (const review of reviewRun(events)?.stories ?? []) {
    if (wanted?.(review) === false) continue;
    const files = review.commit === undefined ? undefined : changedFiles(await operations.diff(runId, review.id));
    reviewed.push({ review, files, doubts: files === undefined ? [] : findDoubts(review, files) });
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
