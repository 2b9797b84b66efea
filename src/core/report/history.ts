import { formatUsd } from '../budget.ts';
import type { CommandResult, JournalEvent } from '../journal/events.ts';
import { isCovered, type CheckedClaim } from '../review/criteria.ts';
import { formatElapsed, msBetween } from '../text/format-elapsed.ts';
import { safeLine } from '../text/safe-text.ts';
import type { TestChanges } from '../test-report/test-report.ts';
import { exitText } from '../transcript/excerpt.ts';
import { testsText } from '../transcript/story-lines.ts';
import { summarizeRun } from './run-summary.ts';

/** What the events between the start and the end of an attempt say about it. */
interface Attempted {
  gates: CommandResult[];
  tests?: TestChanges;
  claims: readonly CheckedClaim[];
}

const MAX_TEXT_LENGTH = 500;

/**
 * The content of history.md: a section for each ended attempt, oldest first, with its result, time, model, cost, gates,
 * tests and criteria. A criterion is ticked if the story passed and a test that ran is named for it.
 */
export function historyText(events: readonly JournalEvent[]): string {
  const attempts = new Map(summarizeRun(events).attempts.map((each) => [attemptKey(each), each]));
  const open = new Map<string, Attempted>();
  let prd: (JournalEvent & { type: 'run.created' | 'run.replanned' }) | undefined;
  const sections: string[] = [];
  for (const event of events) {
    if (event.type === 'run.created' || event.type === 'run.replanned') prd = event;
    else if (event.type === 'story.started') open.set(event.story, { gates: [], claims: [] });
    else if (event.type === 'story.ended') {
      const known = attempts.get(attemptKey(event));
      const story = prd?.prd.stories.find(({ id }) => id === event.story);
      const { gates, tests, claims } = open.get(event.story) ?? { gates: [], claims: [] };
      const cost = known?.usage.costUsd === undefined ? '' : `, ${formatUsd(known.usage.costUsd)}`;
      const models = (known?.models ?? []).map((model) => `, ${safeLine(model)}`).join('');
      const lasted = formatElapsed(msBetween(known?.startedAt ?? event.at, event.at));
      sections.push(
        [
          `## ${utc(event.at)} - ${safeLine(event.story)} ${event.verdict.replace('_', ' ')}`,
          '',
          ...(story === undefined ? [] : [`- title: ${safeLine(story.title, MAX_TEXT_LENGTH)}`]),
          ...(prd === undefined ? [] : [`- PRD: ${safeLine(prd.prdPath)}`]),
          `- attempt: ${event.attempt}, ${lasted}${models}${cost}`,
          `- result: ${event.stopReason}: ${safeLine(event.summary, MAX_TEXT_LENGTH)}`,
          ...(event.commit === undefined ? [] : [`- commit: ${event.commit}`]),
          ...gates.map(
            ({ command, exitCode }) =>
              `- gate: \`${safeLine(command)}\` ${exitCode === 0 ? 'passed' : exitText(exitCode)}`,
          ),
          ...(tests === undefined ? [] : [`- tests: ${testsText(tests)}`]),
          ...(story?.acceptance ?? []).map((text, index) => {
            const claim = claims.find(({ n }) => n === index + 1);
            const tick = event.verdict === 'passed' && isCovered(claim) ? 'x' : ' ';
            return `- [${tick}] ${safeLine(text, MAX_TEXT_LENGTH)}`;
          }),
          '',
        ].join('\n'),
      );
    } else if ('story' in event) addFacts(open.get(event.story), event);
  }
  return `# History\n${sections.map((section) => `\n${section}`).join('')}`;
}

function addFacts(attempt: Attempted | undefined, event: JournalEvent): void {
  if (attempt === undefined) return;
  // After a merge the gates run again.
  if (event.type === 'phase.started' && event.phase === 'gates') attempt.gates = [];
  if (event.type === 'gate.ended') attempt.gates.push(event);
  if (event.type === 'tests.compared') attempt.tests = event;
  if (event.type === 'criteria.claimed') attempt.claims = event.criteria;
}

function attemptKey({ story, attempt }: { story: string; attempt: number }): string {
  return JSON.stringify([story, attempt]);
}

function utc(at: string): string {
  return `${at.slice(0, 16).replace('T', ' ')} UTC`;
}
