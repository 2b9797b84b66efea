import { formatUsd } from '../budget.ts';
import { attemptMs, AttemptReader, lastGates, totalUsage, type AttemptRecord } from '../journal/attempts.ts';
import type { CommandResult } from '../journal/event-parts.ts';
import type { JournalEvent } from '../journal/events.ts';
import { isTested } from '../review/criteria.ts';
import { testsOfCriterion, type LockedTests } from '../review/tests-first.ts';
import { formatElapsed } from '../text/format-elapsed.ts';
import { PROGRESS } from '../run/progress.ts';
import { safeLine } from '../text/safe-text.ts';
import { exitText } from '../transcript/excerpt.ts';
import { testsText } from '../test-report/test-report.ts';

const MAX_TEXT_LENGTH = 500;

/**
 * The content of history.md: a section for each ended attempt, oldest first, with its result, time, model, cost, gates,
 * tests and criteria. A criterion is ticked if the story passed and a locked test, or a test that ran, is named for it; all
 * are, if the locked tests are not named by criterion but are at least as many.
 */
export function historyText(events: readonly JournalEvent[]): string {
  const reader = new AttemptReader();
  let prd: (JournalEvent & { type: 'run.created' | 'run.replanned' }) | undefined;
  const sections: string[] = [];
  for (const event of events) {
    if (event.type === 'run.created' || event.type === 'run.replanned') prd = event;
    const attempt = reader.read(event);
    if (event.type === 'story.ended' && attempt !== undefined) sections.push(sectionOf(event, attempt, prd));
  }
  return `# History\n${sections.map((section) => `\n${section}`).join('')}`;
}

function sectionOf(
  event: JournalEvent & { type: 'story.ended' },
  attempt: AttemptRecord,
  prd: (JournalEvent & { type: 'run.created' | 'run.replanned' }) | undefined,
): string {
  const { tests, claims, locked, unproven, usage } = attempt;
  const story = prd?.prd.stories.find(({ id }) => id === event.story);
  const gates = lastGates(attempt);
  const acceptance = story?.acceptance ?? [];
  const { costUsd } = totalUsage(usage);
  const cost = costUsd === undefined ? '' : `, ${formatUsd(costUsd)}`;
  const models = usage.flatMap(({ model }) => (model === undefined ? [] : `, ${safeLine(model)}`)).join('');
  const lasted = formatElapsed(attemptMs(attempt, event.at));
  return [
    `## ${utc(event.at)} - ${safeLine(event.story)} ${PROGRESS[event.verdict].word}`,
    '',
    ...(story === undefined ? [] : [`- title: ${safeLine(story.title, MAX_TEXT_LENGTH)}`]),
    ...(prd === undefined ? [] : [`- PRD: ${safeLine(prd.prdPath)}`]),
    `- attempt: ${event.attempt}, ${lasted}${models}${cost}`,
    `- result: ${event.stopReason}: ${safeLine(event.summary, MAX_TEXT_LENGTH)}`,
    ...(event.commit === undefined ? [] : [`- commit: ${event.commit}`]),
    ...gates.map(
      ({ command, exitCode }) => `- gate: \`${safeLine(command)}\` ${exitCode === 0 ? 'passed' : exitText(exitCode)}`,
    ),
    ...(locked === undefined || unproven ? [] : describeLocked(locked, gates[0])),
    ...(tests === undefined ? [] : [`- tests: ${testsText(tests)}`]),
    ...acceptance.map((text, index) => {
      const claim = claims.find(({ n }) => n === index + 1);
      const own = testsOfCriterion(locked, { n: index + 1, of: acceptance.length });
      const proven = isTested({ ...(claim && { claim }), ...(own && !unproven && { locked: own }) });
      return `- [${event.verdict === 'passed' && proven ? 'x' : ' '}] ${safeLine(text, MAX_TEXT_LENGTH)}`;
    }),
    '',
  ].join('\n');
}

/** As `locked tests: 3 of 3 passed`, once the first gate has run them. */
function describeLocked({ cases }: LockedTests, gate: CommandResult | undefined): string[] {
  const failed = gate?.exitCode === 0 ? 0 : gate?.failed?.count;
  if (cases.length === 0 || failed === undefined || failed > cases.length) return [];
  return [`- locked tests: ${cases.length - failed} of ${cases.length} passed`];
}

function utc(at: string): string {
  return `${at.slice(0, 16).replace('T', ' ')} UTC`;
}
