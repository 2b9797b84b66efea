import { formatUsd } from '../budget.ts';
import type { CommandResult, JournalEvent } from '../journal/events.ts';
import { isTested, type CheckedClaim } from '../review/criteria.ts';
import type { LockedTests } from '../review/tests-first.ts';
import { formatElapsed, msBetween } from '../text/format-elapsed.ts';
import { safeLine } from '../text/safe-text.ts';
import { exitText } from '../transcript/excerpt.ts';
import { testsText, type TestChanges } from '../test-report/test-report.ts';
import { summarizeRun } from './run-summary.ts';

/** What the events between the start and the end of an attempt say about it. */
interface Attempted {
  gates: CommandResult[];
  tests?: TestChanges;
  claims: readonly CheckedClaim[];
  locked?: LockedTests;
  /** Locked tests did not run and pass, whatever their command exited with. */
  unproven?: boolean;
}

const MAX_TEXT_LENGTH = 500;

/**
 * The content of history.md: a section for each ended attempt, oldest first, with its result, time, model, cost, gates,
 * tests and criteria. A criterion is ticked if the story passed and a locked test, or a test that ran, is named for it; all
 * are, if the locked tests are not named by criterion but are at least as many.
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
      const { gates, tests, claims, locked, unproven } = open.get(event.story) ?? { gates: [], claims: [] };
      const acceptance = story?.acceptance ?? [];
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
          ...(locked === undefined || unproven ? [] : describeLocked(locked, gates[0])),
          ...(tests === undefined ? [] : [`- tests: ${testsText(tests)}`]),
          ...acceptance.map((text, index) => {
            const isOfIt = ({ n }: { n: number }) => n === index + 1;
            const claim = claims.find(isOfIt);
            const { cases = [], criteria } = locked ?? {};
            const own =
              criteria === undefined && cases.length >= acceptance.length ? cases : criteria?.find(isOfIt)?.tests;
            const proven = isTested({ ...(claim && { claim }), ...(own && !unproven && { locked: own }) });
            const tick = event.verdict === 'passed' && proven;
            return `- [${tick ? 'x' : ' '}] ${safeLine(text, MAX_TEXT_LENGTH)}`;
          }),
          '',
        ].join('\n'),
      );
    } else if ('story' in event) addFacts(open.get(event.story), event);
  }
  return `# History\n${sections.map((section) => `\n${section}`).join('')}`;
}

/** As `locked tests: 3 of 3 passed`, once the first gate has run them. */
function describeLocked({ cases }: LockedTests, gate: CommandResult | undefined): string[] {
  const failed = gate?.exitCode === 0 ? 0 : gate?.failed?.count;
  if (cases.length === 0 || failed === undefined || failed > cases.length) return [];
  return [`- locked tests: ${cases.length - failed} of ${cases.length} passed`];
}

function addFacts(attempt: Attempted | undefined, event: JournalEvent): void {
  if (attempt === undefined) return;
  // After a merge the gates run again.
  if (event.type === 'phase.started' && event.phase === 'gates') attempt.gates = [];
  if (event.type === 'gate.ended') attempt.gates.push(event);
  if (event.type === 'tests.compared') attempt.tests = event;
  if (event.type === 'tests.locked') attempt.locked = event;
  if (event.type === 'tests.judged' && event.step === 'green') attempt.unproven = true;
  if (event.type === 'criteria.claimed') attempt.claims = event.criteria;
}

function attemptKey({ story, attempt }: { story: string; attempt: number }): string {
  return JSON.stringify([story, attempt]);
}

function utc(at: string): string {
  return `${at.slice(0, 16).replace('T', ' ')} UTC`;
}
