import type { JSX } from 'preact';
import {
  blockingOf,
  describeReview,
  findingText,
  isFinding,
  reviewerName,
  type AgentReview,
  type ReviewFinding,
} from '../../core/review/agent-review.ts';
import { safeText } from '../../core/text/safe-text.ts';
import { Fact } from './facts/fact.tsx';
import type { Place } from './review-state.ts';

/** What another agent found in the change, with links to the lines. */
export function AgentReviewFact({
  review,
  onShow,
}: {
  review: AgentReview;
  onShow: (place: Place) => void;
}): JSX.Element {
  const { findings, failed } = review;
  const isBad = failed !== undefined || blockingOf(review).length > 0;
  const title = `Reviewed by ${reviewerName(review)}: ${describeReview(review)}`;
  if (findings.length === 0) return <Fact title={safeText(title)} tone={isFinding(review) ? 'warn' : 'good'} />;
  return (
    <Fact title={safeText(title)} tone={isBad ? 'warn' : undefined} isOpen={isBad}>
      <ul>
        {findings.map((finding, index) => {
          const { path, line, severity } = finding;
          const text = safeText(findingText(finding));
          return (
            <li key={index}>
              <span class={severity === 'blocking' ? 'warn' : 'soft'}>{severity}</span>{' '}
              {path === undefined || line === undefined ? (
                text
              ) : (
                <button type="button" class="link" onClick={() => onShow({ path, side: 'new', line })}>
                  {text}
                </button>
              )}
            </li>
          );
        })}
      </ul>
    </Fact>
  );
}

/** A finding beside the line that it is about. */
export function AgentFinding({ finding: { severity, criterion, text } }: { finding: ReviewFinding }): JSX.Element {
  return (
    <div class="said-here new">
      <p class="line">
        <b>Reviewer</b>
        <span class={severity === 'blocking' ? 'warn' : 'soft'}>{severity}</span>
        {criterion !== undefined && <span class="soft">criterion {criterion}</span>}
      </p>
      <p class="said">{safeText(text)}</p>
    </div>
  );
}
