import { safeLine } from '../text/safe-text.ts';

/** When a reviewer judges a change whose gates passed, from least to most strict: values of `review.when`. */
export const REVIEW_MODES = ['never', 'ask', 'risky', 'always'] as const;

export type ReviewMode = (typeof REVIEW_MODES)[number];

/** How often a reviewer sends one story back; then a person decides. */
export const MAX_REVIEW_ROUNDS = 2;

/** What a reviewer found in a change. Its words are not trusted. */
export interface ReviewFinding {
  /** A changed file; absent: the change as a whole. */
  path?: string;
  /** A line that the diff shows, as it is after the change. */
  line?: number;
  /** A finding that is `blocking` keeps the change from landing without a person. */
  severity: 'blocking' | 'note';
  /** The number of the criterion that it is about, from 1. */
  criterion?: number;
  text: string;
}

/** Whether a criterion is met, in the opinion of a reviewer. `n` counts from 1. */
export interface JudgedCriterion {
  n: number;
  met: 'yes' | 'no' | 'unclear';
}

/** The review of a change by an agent. */
export interface AgentReview {
  agent: string;
  /** Of the agent's program; absent if halo has not installed it, or if no reviewer started. */
  version?: string;
  model?: string;
  /** The commit whose change was judged; it may have been merged afterwards. */
  commit: string;
  findings: ReviewFinding[];
  criteria: JudgedCriterion[];
  /** Why there is no valid review: then nothing else is known. */
  failed?: string;
}

/** The findings that keep a change from landing. */
export function blockingOf<T extends Pick<ReviewFinding, 'severity'>>({ findings }: { findings: readonly T[] }): T[] {
  return findings.filter(({ severity }) => severity === 'blocking');
}

/** Whether a person should know something of a review: it has findings, or it failed. */
export function isFinding({ findings, failed }: Pick<AgentReview, 'findings' | 'failed'>): boolean {
  return findings.length > 0 || failed !== undefined;
}

/** The review of an event or a record with more fields. */
export function agentReviewOf({ agent, version, model, commit, findings, criteria, failed }: AgentReview): AgentReview {
  return {
    agent,
    commit,
    findings,
    criteria,
    ...(version !== undefined && { version }),
    ...(model !== undefined && { model }),
    ...(failed !== undefined && { failed }),
  };
}

/** What became of a review, such as `1 blocking finding, 2 notes`. */
export function describeReview(review: {
  findings: readonly Pick<ReviewFinding, 'severity'>[];
  failed?: string | undefined;
}): string {
  if (review.failed !== undefined) return `no valid review: ${safeLine(review.failed, 300)}`;
  const blocking = blockingOf(review).length;
  const notes = review.findings.length - blocking;
  const parts = [
    ...(blocking === 0 ? [] : [`${blocking} blocking ${blocking === 1 ? 'finding' : 'findings'}`]),
    ...(notes === 0 ? [] : [`${notes} ${notes === 1 ? 'note' : 'notes'}`]),
  ];
  return parts.length === 0 ? 'no findings' : parts.join(', ');
}

/** The agent of a review, such as `claude 2.1.330 (claude-sonnet-5-5)`. */
export function reviewerName({
  agent,
  version,
  model,
}: Partial<Record<'version' | 'model', string | undefined>> & { agent: string }): string {
  const program = version === undefined ? agent : `${agent} ${version}`;
  return safeLine(model === undefined ? program : `${program} (${model})`, 200);
}

/** A finding with its place on one line, such as `src/cart.js:12: text (criterion 2)`. */
export function findingText({ path, line, criterion, text }: ReviewFinding): string {
  const place = path === undefined ? '' : `${safeLine(path)}${line === undefined ? '' : `:${line}`}: `;
  const about = criterion === undefined ? '' : ` (criterion ${criterion})`;
  return `${place}${safeLine(text, 1000)}${about}`;
}

/** What the reviewer said about a criterion, as a clause. */
export const JUDGED: Record<JudgedCriterion['met'], string> = {
  yes: 'met, by the word of the reviewer',
  no: 'not met, by the word of the reviewer',
  unclear: 'unclear to the reviewer',
};
