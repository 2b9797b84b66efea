import type { CommandResult, JournalEvent } from '../../core/journal/events.ts';
import type { RunState } from '../../core/run-state.ts';
import { safeLine, safeOutput } from '../../core/safe-text.ts';
import type { TestChanges } from '../../core/test-report/test-report.ts';
import { testsText } from '../../core/transcript/story-lines.ts';

/** One ended attempt with what its gates said. */
interface Ended {
  event: JournalEvent & { type: 'story.ended' };
  gates: CommandResult[];
  tests: TestChanges | undefined;
}

/** Most lines of a failed gate's output; all of it is among the artifacts. */
const MOST_TAIL_LINES = 20;

/** progress.md: a section for each story that ended, as the next agent and people read it. */
export function progressText(state: RunState, events: readonly JournalEvent[]): string {
  const last = new Map(endedAttempts(events).map((ended) => [ended.event.story, ended]));
  const landed = state.stories.filter((story) => story.progress === 'passed').length;
  const under = state.stories.filter((story) => story.progress === 'in_progress').map(({ id }) => safeLine(id));
  const goesOn = under.length === 0 ? '' : ` In progress: ${under.join(', ')}.`;
  const head = `# Progress: ${safeLine(state.project)}\n\nRun ${state.runId}: ${landed} of ${state.stories.length} stories landed.${goesOn}\n`;
  const titles = new Map(state.stories.map((story) => [story.id, story.title]));
  return head + [...last.values()].map((ended) => section(ended, titles.get(ended.event.story) ?? '')).join('');
}

/** history.md: one line for each attempt, oldest first. */
export function historyText(events: readonly JournalEvent[]): string {
  return `# History\n\n${endedAttempts(events).map(historyLine).join('')}`;
}

function section({ event, gates, tests }: Ended, title: string): string {
  const unchanged = event.verdict === 'passed' ? ['- commit: none, no change needed'] : [];
  const commit = event.commit === undefined ? unchanged : [`- commit: ${event.commit}`];
  const facts = [
    `- verdict: ${event.verdict} (${event.stopReason}), attempt ${event.attempt}`,
    ...commit,
    ...gates.flatMap((gate) => [`- gate \`${safeLine(gate.command)}\`: ${gateWord(gate)}`, ...tailOf(gate)]),
    ...(tests === undefined ? [] : [`- tests: ${testsText(tests)}`]),
  ];
  return `\n## ${safeLine(`${event.story}: ${title}`)}\n\n${facts.join('\n')}\n\n${quote(event.summary)}\n`;
}

/** What a gate said last before it failed, indented below it. */
function tailOf({ tail = '' }: CommandResult): string[] {
  const lines = quote(tail).split('\n').slice(-MOST_TAIL_LINES);
  return tail.trim() === '' ? [] : ['', ...lines.map((line) => `  ${line}`), ''];
}

function historyLine({ event }: Ended): string {
  const commit = event.commit === undefined ? '' : ` ${event.commit.slice(0, 12)}`;
  const what = `${event.verdict} ${event.stopReason}${commit}`;
  return `- ${event.at} ${safeLine(event.story)} attempt ${event.attempt}: ${what}: ${safeLine(event.summary)}\n`;
}

/** Quoted, because the words are the agent's: they must not pass for a heading of ours. */
function quote(text: string): string {
  return safeOutput(text)
    .trim()
    .split('\n')
    .map((line) => `> ${line}`.trimEnd())
    .join('\n');
}

function gateWord({ exitCode, ms }: CommandResult): string {
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
