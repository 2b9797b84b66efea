import { OK } from './halo.ts';

/** What a reviewer in a test answers with; each criterion is met unless it says otherwise. */
export function reviewWith(
  findings: readonly Record<string, unknown>[],
  judged: readonly Record<string, unknown>[] = [{ n: 1, met: 'yes' }],
): string {
  return `cat <<'X'\n${JSON.stringify({ status: 'ok', summary: 'Read it.', findings, judged })}\nX\n`;
}

/** An agent that does `review` if it is asked for a review, and otherwise implements the story. */
export const reviewedAgent = (code: string, review: string) =>
  `cat > /tmp/prompt; if head -n 1 /tmp/prompt | grep -q '^Review one change'; then ${review}\nelse ${code}\n${OK}\nfi`;

export const REVIEW_SETTINGS = ['review.when="always"', 'review.agent="command"'];
