import { AttemptReader, lastGates, type AttemptRecord } from '../../core/journal/attempts.ts';
import type { CommandResult, JournalEvent } from '../../core/journal/events.ts';
import { plainReason } from '../../core/failure/plain-reason.ts';
import type { RunState } from '../../core/run/state.ts';
import { safeLine, safeOutput } from '../../core/text/safe-text.ts';
import { testsText } from '../../core/test-report/test-report.ts';

/** The full output of a failed gate is an artifact. */
const MAX_TAIL_LINES = 20;

interface Ended {
  event: JournalEvent & { type: 'story.ended' };
  attempt: AttemptRecord;
}

/** The content of progress.md: one section for each ended story, for users and for the next agent. */
export function progressText(state: RunState, events: readonly JournalEvent[]): string {
  const landed = state.stories.filter((story) => story.progress === 'passed').length;
  const under = state.stories.filter((story) => story.progress === 'in_progress').map(({ id }) => safeLine(id));
  const inProgress = under.length === 0 ? '' : ` In progress: ${under.join(', ')}.`;
  const head = `# Progress: ${safeLine(state.project)}\n\nRun ${state.runId}: ${landed} of ${state.stories.length} stories landed.${inProgress}\n`;
  const titles = new Map(state.stories.map((story) => [story.id, story.title]));
  return (
    head +
    [...endedStories(events).values()].map((ended) => section(ended, titles.get(ended.event.story) ?? '')).join('')
  );
}

function section({ event, attempt }: Ended, title: string): string {
  const { tests } = attempt;
  const unchanged =
    event.verdict === 'passed' ? [`- commit: none, ${event.described ? 'dry run' : 'no change needed'}`] : [];
  const commit = event.commit === undefined ? unchanged : [`- commit: ${event.commit}`];
  const facts = [
    `- verdict: ${event.verdict} (${plainReason(event.stopReason, event.failure)}), attempt ${event.attempt}`,
    ...commit,
    ...lastGates(attempt).flatMap((gate) => [
      `- gate \`${safeLine(gate.command)}\`: ${gateResult(gate)}`,
      ...tailOf(gate),
    ]),
    ...(tests === undefined ? [] : [`- tests: ${testsText(tests)}`]),
  ];
  return `\n## ${safeLine(`${event.story}: ${title}`)}\n\n${facts.join('\n')}\n\n${quoteTrimmed(event.summary)}\n`;
}

/** The last output lines of a failed gate, indented. */
function tailOf({ tail = '' }: CommandResult): string[] {
  const lines = quoteTrimmed(tail).split('\n').slice(-MAX_TAIL_LINES);
  return tail.trim() === '' ? [] : ['', ...lines.map((line) => `  ${line}`), ''];
}

/** Quotes text of the agent, so that it cannot pass for a heading written by halo. */
function quoteTrimmed(text: string): string {
  return safeOutput(text)
    .trim()
    .split('\n')
    .map((line) => `> ${line}`.trimEnd())
    .join('\n');
}

function gateResult({ exitCode, ms }: CommandResult): string {
  const seconds = `${(ms / 1000).toFixed(1)} s`;
  if (exitCode === 0) return `passed in ${seconds}`;
  return exitCode === undefined ? `stopped after ${seconds}` : `exit ${exitCode} after ${seconds}`;
}

/** The newest end of each story with what its attempt said until then, oldest first. */
function endedStories(events: readonly JournalEvent[]): Map<string, Ended> {
  const last = new Map<string, Ended>();
  const reader = new AttemptReader();
  for (const event of events) {
    const attempt = reader.read(event);
    if (event.type === 'story.ended' && attempt !== undefined) last.set(event.story, { event, attempt });
  }
  return last;
}
