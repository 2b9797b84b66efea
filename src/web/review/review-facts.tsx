import { commandEnd } from '../../core/transcript/excerpt.ts';
import type { JSX } from 'preact';
import { formatUsd } from '../../core/budget.ts';
import { findDoubts, isTestPath, type StoryReview } from '../../core/review/review.ts';
import type { StoryState } from '../../core/run/state.ts';
import { hasLostTests } from '../../core/test-report/test-report.ts';
import { formatElapsed } from '../../core/text/format-elapsed.ts';
import { safeText } from '../../core/text/safe-text.ts';
import { Fact } from './facts/fact.tsx';
import { Counts } from './diff-file.tsx';
import { findFilePlace } from './criteria-list.tsx';
import type { PatchFile } from '../../core/review/read-patch.ts';
import type { Place } from './review-state.ts';

interface ReviewFactsProps {
  /** The story, or those of the run that have a commit. */
  reviews: readonly StoryReview[];
  held: StoryState['held'];
  files: readonly PatchFile[];
  onShow: (place: Place) => void;
}

const MAX_NAMED = 12;
/** Findings that are drawn in another way. */
const DRAWN = ['tests', 'review'];

/** What a reviewer has to see before the diff. */
export function ReviewFacts({ reviews, held, files, onShow }: ReviewFactsProps): JSX.Element {
  const single = reviews.length === 1 ? reviews[0] : undefined;
  const prefix = ({ id }: StoryReview) => (single === undefined ? `${id}: ` : '');
  const changed = files.map(({ path, added, removed, hunks }) => ({ path, added, removed, hunks: hunks.length }));
  const drawn: readonly string[] = held !== undefined && held.paths.length > 0 ? [...DRAWN, 'protected'] : DRAWN;
  const findings = reviews.flatMap((review) => [
    ...review.findings.filter(({ kind }) => !drawn.includes(kind)).map(({ text }) => `${prefix(review)}${text}`),
    ...(single === undefined ? [] : findDoubts(review, changed)),
  ]);
  return (
    <>
      {held !== undefined && held.paths.length > 0 && (
        <Fact title={protectedTitle(held.paths)} tone="warn">
          <p>These files control programs outside of the sandbox. Read their changes first.</p>
          <NameList
            names={held.paths}
            draw={(path) => {
              const place = findFilePlace(files, path);
              if (place === undefined) return <code>{safeText(path)}</code>;
              return (
                <button type="button" class="link" onClick={() => onShow(place)}>
                  <code>{safeText(path)}</code>
                </button>
              );
            }}
          />
        </Fact>
      )}
      <TestFacts reviews={reviews} files={files} prefix={prefix} onShow={onShow} />
      {findings.slice(0, MAX_NAMED).map((text) => (
        <Fact key={text} title={safeText(text)} tone="warn" />
      ))}
      {findings.length > MAX_NAMED && (
        <Fact title={`${findings.length - MAX_NAMED} more findings`} tone="warn">
          <ul>
            {findings.slice(MAX_NAMED).map((text) => (
              <li key={text}>{safeText(text)}</li>
            ))}
          </ul>
        </Fact>
      )}
      {single !== undefined && <GateFacts review={single} />}
      <Fact
        title={
          <>
            {files.length} {files.length === 1 ? 'file' : 'files'} <Counts file={sumOf(files)} />
            {single?.usage.costUsd !== undefined && ` ${formatUsd(single.usage.costUsd)}`}
          </>
        }
      >
        <dl>
          <dt>Files</dt>
          <dd>
            {files.length}, {files.filter(({ path }) => isTestPath(path)).length} of them tests
          </dd>
          <dt>Lines</dt>
          <dd>
            <Counts file={sumOf(files)} />
          </dd>
          {single !== undefined && <AttemptFacts review={single} />}
        </dl>
      </Fact>
    </>
  );
}

/** Names as many as fit into the line. */
function protectedTitle([first = '', ...more]: readonly string[]): string {
  return `Protected: ${safeText(first)}${more.length === 0 ? '' : ` and ${more.length} more`}`;
}

function AttemptFacts({ review }: { review: StoryReview }): JSX.Element {
  const { agent, model, attempt, usage, ms } = review;
  return (
    <>
      {(agent ?? model) !== undefined && (
        <>
          <dt>Agent</dt>
          <dd>{safeText([agent, model].filter((name) => name !== undefined).join(', '))}</dd>
        </>
      )}
      <dt>Attempt</dt>
      <dd>{attempt}</dd>
      <dt>Cost</dt>
      <dd>
        {usage.costUsd === undefined ? 'unknown' : formatUsd(usage.costUsd)}
        {attempt > 1 && usage.costUsd !== undefined && <span class="soft"> of {attempt} attempts</span>}
      </dd>
      {ms !== undefined && (
        <>
          <dt>Time</dt>
          <dd>
            {formatElapsed(ms)}
            {attempt > 1 && <span class="soft"> of attempt {attempt}</span>}
          </dd>
        </>
      )}
    </>
  );
}

function GateFacts({ review: { gates, commit } }: { review: StoryReview }): JSX.Element {
  const failed = gates.filter((gate) => commandEnd(gate).tone === 'bad').length;
  // Nothing of a failed attempt is good news.
  const tone = failed > 0 ? 'bad' : gates.length === 0 ? 'warn' : commit === undefined ? undefined : 'good';
  const title =
    gates.length === 0 ? 'No gate ran' : failed > 0 ? `${failed} of ${gates.length} gates failed` : 'All gates passed';
  return (
    <Fact title={title} tone={tone} isOpen={failed > 0}>
      <ul>
        {gates.map(({ command, exitCode, ms }, index) => (
          <li key={index} class="line">
            <code>{safeText(command)}</code>
            <span class={exitCode === 0 ? 'good' : 'bad'}>exit code {exitCode}</span>
            <span class="soft">{formatElapsed(ms)}</span>
          </li>
        ))}
      </ul>
    </Fact>
  );
}

interface TestFactsProps extends Pick<ReviewFactsProps, 'reviews' | 'files' | 'onShow'> {
  prefix: (review: StoryReview) => string;
}

function TestFacts({ reviews, files, prefix, onShow }: TestFactsProps): JSX.Element {
  const deleted = files.filter(({ path, status }) => status === 'removed' && isTestPath(path));
  const known = reviews.filter(({ tests }) => tests !== undefined);
  const lost = known.flatMap((review) => {
    const { removed = [], skipped = [], emptied = [] } = review.tests ?? {};
    return [
      ...removed.map((name) => `${prefix(review)}removed: ${name}`),
      ...skipped.map((name) => `${prefix(review)}skipped: ${name}`),
      ...emptied.map((name) => `${prefix(review)}without assertions: ${name}`),
    ];
  });
  const isLost = deleted.length > 0 || known.some(({ tests }) => tests !== undefined && hasLostTests(tests));
  const unread = known.flatMap((review) => (review.tests?.unread ?? []).map((why) => `${prefix(review)}${why}`));
  const isCompared = known.length > 0 && unread.length === 0;
  const title = isLost
    ? 'Tests removed or weakened'
    : isCompared
      ? 'No test removed or weakened'
      : known.length > 0
        ? 'Test reports not read'
        : 'Tests not compared';
  return (
    <Fact title={title} tone={isLost ? 'bad' : isCompared ? 'good' : 'warn'} isOpen={isLost}>
      {known.map((review) => (
        <p key={review.id}>
          {prefix(review)}
          {review.tests?.before} tests before, {review.tests?.after} after
        </p>
      ))}
      {known.length === 0 && <p>The gates report no tests that could be compared with those of the base.</p>}
      <NameList names={[...lost, ...unread]} />
      <NameList
        names={deleted.map(({ path }) => path)}
        draw={(path) => {
          const place = findFilePlace(files, path);
          return (
            <>
              deleted file:{' '}
              <button type="button" class="link" onClick={() => place !== undefined && onShow(place)}>
                <code>{safeText(path)}</code>
              </button>
            </>
          );
        }}
      />
    </Fact>
  );
}

interface NameListProps {
  names: readonly string[];
  draw?: (name: string) => JSX.Element;
}

function NameList({ names, draw }: NameListProps): JSX.Element | null {
  if (names.length === 0) return null;
  const more = names.length - MAX_NAMED;
  return (
    <ul>
      {names.slice(0, MAX_NAMED).map((name, index) => (
        <li key={index}>{draw?.(name) ?? safeText(name)}</li>
      ))}
      {more > 0 && <li class="soft">and {more} more</li>}
    </ul>
  );
}

function sumOf(files: readonly PatchFile[]): { added: number; removed: number } {
  return files.reduce((sum, file) => ({ added: sum.added + file.added, removed: sum.removed + file.removed }), {
    added: 0,
    removed: 0,
  });
}
