import type { CommandResult, JournalEvent } from '../../core/journal/events.ts';
import type { RunState } from '../../core/run/state.ts';
import { safeLine, safeOutput } from '../../core/text/safe-text.ts';
import type { TestChanges } from '../../core/test-report/test-report.ts';
import { testsText } from '../../core/test-report/test-report.ts';

/** One ended attempt with the results of its gates. */
interface Ended {
  event: JournalEvent & { type: 'story.ended' };
  gates: CommandResult[];
  tests: TestChanges | undefined;
}

/** The full output of a failed gate is an artifact. */
const MAX_TAIL_LINES = 20;

/** The content of progress.md: one section for each ended story, for users and for the next agent. */
export function progressText(state: RunState, events: readonly JournalEvent[]): string {
  const last = new Map(endedAttempts(events).map((ended) => [ended.event.story, ended]));
  const landed = state.stories.filter((story) => story.progress === 'passed').length;
  const under = state.stories.filter((story) => story.progress === 'in_progress').map(({ id }) => safeLine(id));
  const inProgress = under.length === 0 ? '' : ` In progress: ${under.join(', ')}.`;
  const head = `# Progress: ${safeLine(state.project)}\n\nRun ${state.runId}: ${landed} of ${state.stories.length} stories landed.${inProgress}\n`;
  const titles = new Map(state.stories.map((story) => [story.id, story.title]));
  return head + [...last.values()].map((ended) => section(ended, titles.get(ended.event.story) ?? '')).join('');
}

function section({ event, gates, tests }: Ended, title: string): string {
  const unchanged =
    event.verdict === 'passed' ? [`- commit: none, ${event.described ? 'dry run' : 'no change needed'}`] : [];
  const commit = event.commit === undefined ? unchanged : [`- commit: ${event.commit}`];
  const facts = [
    `- verdict: ${event.verdict} (${event.stopReason}), attempt ${event.attempt}`,
    ...commit,
    ...gates.flatMap((gate) => [`- gate \`${safeLine(gate.command)}\`: ${gateResult(gate)}`, ...tailOf(gate)]),
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

function endedAttempts(events: readonly JournalEvent[]): Ended[] {
  const gates = new Map<string, CommandResult[]>();
  const tests = new Map<string, TestChanges>();
  const ended: Ended[] = [];
  for (const event of events) {
    if (event.type === 'story.started') {
      gates.set(event.story, []);
      tests.delete(event.story);
    }
    if (event.type === 'tests.compared') tests.set(event.story, event);
    if (event.type === 'gate.ended') gates.get(event.story)?.push(event);
    if (event.type === 'story.ended')
      ended.push({ event, gates: gates.get(event.story) ?? [], tests: tests.get(event.story) });
  }
  return ended;
}
