import { newRepository } from '../repository/new-repository.ts';
import { OK, scripted, type TestHalo } from './halo.ts';

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

/** What a reviewer does in each story, and what the agent writes. */
export type ReviewedStories = Record<string, readonly [review: string, code: string]>;

/** Runs stories, one after the other, whose changes are reviewed. */
export async function runReviewed(halo: TestHalo, stories: ReviewedStories) {
  const repository = newRepository({ 'README.md': 'x\n' });
  const ids = Object.keys(stories);
  const branches = (at: 0 | 1) =>
    `case "$(grep -oE '${ids.join('|')}' /tmp/prompt | head -n 1)" in ${Object.entries(stories)
      .map(([id, scripts]) => `${id}) ${scripts[at]} ;;`)
      .join('\n')}\nesac`;
  const agent = reviewedAgent(branches(1), branches(0));
  const settings = scripted(agent, ['true'], [...REVIEW_SETTINGS, 'run.on_failure=continue', 'run.parallel=1']);
  const state = await halo.run(
    repository.root,
    ids.map((id) => ({ id })),
    settings,
  );
  return { repository, state, events: halo.journal(state.runId) };
}
