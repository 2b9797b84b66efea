import type { JSX } from 'preact';
import { isTested } from '../../../core/review/criteria.ts';
import { findDoubts, type StoryReview } from '../../../core/review/review.ts';
import { safeLine } from '../../../core/text/safe-text.ts';
import { readText, runPath, useLoaded } from '../../page/read-server.ts';
import { Fact } from './fact.tsx';
import { readPatch, toChangedFiles } from '../../../core/review/read-patch.ts';

/** Stories whose diffs are read, and how many at the same time. */
const [MAX_READ, PARALLEL] = [60, 4];

interface StoryDoubtsProps {
  runId: string;
  /** Of the stories that landed. */
  reviews: readonly StoryReview[];
}

/** Reasons to look twice at single stories of a run, with links to their reviews. */
export function StoryDoubts({ runId, reviews }: StoryDoubtsProps): JSX.Element | null {
  const read = reviews.slice(0, MAX_READ);
  const { value } = useLoaded(`${runId} ${read.map(({ id, commit }) => `${id} ${commit}`).join()}`, (signal) =>
    readDoubts(runId, read, signal),
  );
  const found = reviews.flatMap((review) => {
    const doubts = [...doubtsOfCriteria(review), ...(value?.get(review.id) ?? [])];
    return doubts.length === 0 ? [] : [{ id: review.id, doubts }];
  });
  const unread = reviews.length - read.length;
  const notes = (
    <>
      {value === undefined && <p>Reading the diffs of the stories …</p>}
      {unread > 0 && <p>The diffs of {unread} more stories were not read.</p>}
    </>
  );
  if (found.length === 0) return value !== undefined && unread === 0 ? null : <div class="soft">{notes}</div>;
  return (
    <Fact title="To check in the stories" tone="warn" isOpen>
      <ul class="story-doubts">
        {found.map(({ id, doubts }) => (
          <li key={id}>
            <a href={`#/run/${runId}/diff/${encodeURIComponent(id)}`}>{safeLine(id, 60)}</a>:{' '}
            {doubts.map((each) => safeLine(each, 500)).join(' ')}
          </li>
        ))}
      </ul>
      {notes}
    </Fact>
  );
}

function doubtsOfCriteria({ criteria }: StoryReview): string[] {
  const tested = criteria.filter(isTested).length;
  return tested === criteria.length ? [] : [`${tested} of ${criteria.length} criteria with tests that ran.`];
}

/** The doubts about each story that need its own diff. */
async function readDoubts(
  runId: string,
  reviews: readonly StoryReview[],
  signal: AbortSignal,
): Promise<Map<string, string[]>> {
  const found = new Map<string, string[]>();
  const open = [...reviews];
  const work = async (): Promise<void> => {
    for (let review = open.shift(); review !== undefined && !signal.aborted; review = open.shift())
      found.set(review.id, await readDoubtsOf(runId, review, signal));
  };
  await Promise.all(Array.from({ length: PARALLEL }, work));
  return found;
}

async function readDoubtsOf(runId: string, review: StoryReview, signal: AbortSignal): Promise<string[]> {
  try {
    const patch = await readText(runPath(runId, `/diff?story=${encodeURIComponent(review.id)}`), signal);
    return findDoubts(review, toChangedFiles(readPatch(patch).files));
  } catch {
    return ['Its diff cannot be read.'];
  }
}
