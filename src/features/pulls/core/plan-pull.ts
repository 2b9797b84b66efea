import { formatUsd } from '../../../core/budget.ts';
import { describeReview, findingText, JUDGED, reviewerName } from '../../../core/review/agent-review.ts';
import { isTested, type CheckedClaim } from '../../../core/review/criteria.ts';
import { describeStart } from '../../../core/journal/start-facts.ts';
import type { Proof } from '../../../core/review/proof.ts';
import { isDone, isSelected, type RunState, type StoryState } from '../../../core/run/state.ts';
import { isIn, PROGRESS } from '../../../core/run/progress.ts';
import { safeLine } from '../../../core/text/safe-text.ts';

/** What a pull request of a run shows, and the status of each story at the newest commit. */
export interface PlannedPull {
  title: string;
  /** Markdown. */
  body: string;
  isDraft: boolean;
  statuses: { context: string; state: 'pending' | 'success' | 'failure'; description: string }[];
}

/** What the run directory knows in addition to the state of the run, by story id. */
export interface PullFacts {
  /** The acceptance criteria of the PRD. */
  criteria: ReadonlyMap<string, readonly string[]>;
  /** The proofs of landed commits. */
  proofs: ReadonlyMap<string, Proof>;
  /** What the agents claim about the criteria. */
  claims: ReadonlyMap<string, readonly CheckedClaim[]>;
}

/** Forges truncate or refuse longer texts. */
const MAX_BODY = 60_000;
const MAX_STORIES = 100;
const MAX_CRITERIA = 30;
const MAX_LINE = 200;
const MAX_TESTS = 3;
const MAX_REVIEW_FINDINGS = 20;

/**
 * The pull request of a run. Texts of the PRD, of agents and of the repository are in code spans: no mention, link, image or
 * HTML in them has an effect.
 */
export function planPull(run: RunState, facts: PullFacts): PlannedPull {
  const stories = run.stories.filter((story) => isSelected(story, run));
  const done = stories.filter(isDone).length;
  const isPartial = run.status === 'ended' && done < stories.length;
  return toPlannedPull(run, {
    title: `${safeLine(run.project, 100)}: ${done} of ${stories.length} stories (halo ${run.runId})`,
    sections: [
      `The stories of ${introduce(run)} ${stateLine(run, isPartial)}`,
      ...stories.slice(0, MAX_STORIES).map((story) => storySection(story, facts)),
      ...(stories.length > MAX_STORIES ? [`${stories.length - MAX_STORIES} more stories are not listed.`] : []),
    ],
    isDraft: run.status !== 'ended',
    statuses: stories.slice(0, MAX_STORIES).map(statusOf),
  });
}

/** With how to verify the commits, and within the limits of forges. */
export function toPlannedPull(
  { runId }: RunState,
  { title, sections, ...more }: Omit<PlannedPull, 'body'> & { sections: readonly string[] },
): PlannedPull {
  const body = [
    ...sections,
    `### Verify\n\nEach commit has a proof of its gates in \`refs/notes/halo\`. To run them again in clean containers:\n\n\`\`\`\ngit fetch origin refs/notes/halo:refs/notes/halo\nhalo verify <commit>\n\`\`\``,
    `<!-- halo:${runId} -->`,
  ].join('\n\n');
  return {
    title: title.replaceAll(/[<>@#!`]/g, ' '),
    body: body.length > MAX_BODY ? `${body.slice(0, MAX_BODY).replace(/\n[^\n]*$/, '')}\n\n…` : body,
    ...more,
  };
}

export function introduce({ runId, project, user }: RunState): string {
  return `run ${code(runId)} of ${code(project)}, submitted by ${code(user)}.`;
}

function stateLine({ status, stopReason }: RunState, isPartial: boolean): string {
  if (status !== 'ended') return 'The run has not ended: this pull request is a draft until then.';
  return isPartial ? `The run ended with ${code(stopReason ?? '')}: some stories are not done.` : 'The run has ended.';
}

/** What a person wants to know about a story. */
export function storySection(story: StoryState, facts: PullFacts): string {
  const proof = facts.proofs.get(story.id);
  const { id, title, progress, commit, attempts, summary } = story;
  const lines = [
    `- state: ${progress === 'passed' && commit === undefined ? 'needed no change' : PROGRESS[progress].word}${attempts > 1 ? `, ${attempts} attempts` : ''}`,
    ...(commit === undefined ? [] : [`- commit: ${commit}`]),
    ...(summary === undefined ? [] : [`- summary: ${code(summary)}`]),
    ...feedbackLines(story),
    ...criteriaLines(story, facts),
    ...(proof === undefined ? [] : proofLines(proof)),
    ...startLines(story),
    ...testLines(story),
    ...reviewLines(story),
  ];
  return `### ${code(id)} ${code(title)}\n\n${lines.join('\n')}`;
}

/** How often, and by whom, the story was sent back on the forge. */
function feedbackLines({ feedback = [] }: StoryState): string[] {
  const given = feedback.flatMap(({ source, author }) =>
    source === undefined || source === 'reviewer'
      ? []
      : [source === 'checks' ? 'failing checks' : `a review of ${code(author ?? '')}`],
  );
  return given.length === 0 ? [] : [`- sent back by: ${given.join(', ')}`];
}

/** The criteria as a checklist: ticked are those of a story that passed for which a test that ran is named. */
function criteriaLines({ id, progress, reviewed }: StoryState, { criteria, claims }: PullFacts): string[] {
  const claimed = claims.get(id) ?? [];
  return (criteria.get(id) ?? []).slice(0, MAX_CRITERIA).map((text, index) => {
    const claim = claimed.find(({ n }) => n === index + 1);
    const isMet = progress === 'passed' && claim !== undefined && isTested({ claim });
    const judged = reviewed?.criteria.find(({ n }) => n === index + 1)?.met;
    const evidence = isMet ? provenBy(claim) : judged === undefined ? '' : `: ${JUDGED[judged]}`;
    return `- [${isMet ? 'x' : ' '}] ${code(text)}${evidence}`;
  });
}

function provenBy({ tests }: CheckedClaim): string {
  const shown = tests.slice(0, MAX_TESTS).map(({ name }) => code(name));
  const more = tests.length - shown.length;
  return `: tested by ${shown.join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}

/** The review of another agent; its findings are texts of an agent, too. */
function reviewLines({ reviewed }: StoryState): string[] {
  if (reviewed === undefined) return [];
  return [
    `- reviewed by ${code(reviewerName(reviewed))}: ${describeReview(reviewed).replaceAll(/[<>@#!`[\]]/g, ' ')}`,
    ...reviewed.findings
      .slice(0, MAX_REVIEW_FINDINGS)
      .map((finding) => `  - ${finding.severity}: ${code(findingText(finding))}`),
  ];
}

function proofLines({ gates, tests, agent, usage, approvedBy }: Proof): string[] {
  const model = agent.model === undefined ? '' : `, ${code(agent.model)}`;
  const cost = usage.costUsd === undefined ? '' : `, ${formatUsd(usage.costUsd)}`;
  return [
    ...gates.map(
      ({ command, exitCode, ms }) => `- gate: ${code(command)} exited ${exitCode} (${Math.round(ms / 100) / 10} s)`,
    ),
    ...(tests === undefined
      ? []
      : [
          `- tests: ${tests.cases.length} written first in ${tests.files.length} files; they failed before the change and pass after it`,
        ]),
    `- agent: ${code(agent.name)}${model}, ${usage.requests} requests${cost}`,
    ...(approvedBy === undefined ? [] : [`- approved by ${code(approvedBy)}`]),
  ];
}

function startLines(story: StoryState): string[] {
  return describeStart(story).flatMap(({ kind, text, internal }) => (internal ? [] : [`- ${kind}: ${code(text)}`]));
}

function testLines({ tests }: StoryState): string[] {
  if (tests === undefined) return [];
  return [`- tests: ${tests.before} before, ${tests.after} after`];
}

export function statusOf({ id, progress, title }: StoryState): PlannedPull['statuses'][number] {
  const context = `halo/${safeLine(id, 80)}`;
  const description = safeLine(title, 120);
  if (isDone({ progress })) return { context, state: 'success', description };
  const isFailed = !isIn('open', { progress });
  return { context, state: isFailed ? 'failure' : 'pending', description };
}

/** A text in a code span. */
export function code(text: string): string {
  const line = safeLine(text, MAX_LINE).replaceAll('`', "'").trim();
  return line === '' ? '` `' : `\`${line}\``;
}
