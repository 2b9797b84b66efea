import { defined } from '../../lib/guards.ts';
import { commandEnd } from '../../core/transcript/excerpt.ts';
import { lastGates, type AttemptRecord } from '../../core/journal/attempts.ts';
import { questionLines } from '../../core/run/questions.ts';
import { nextSteps, toCommands } from '../../core/run/next-steps.ts';
import { isDone, type RunState, type StoryState } from '../../core/run/state.ts';
import { formatElapsed } from '../../core/text/format-elapsed.ts';
import { safeLine } from '../../core/text/safe-text.ts';
import type { Paint } from '../../core/transcript/transcript-line.ts';
import { padToWidth, truncateToWidth, wrapIndented } from '../../lib/string-width.ts';
import { bodyHeight, findRun, type TopState } from './model.ts';
import {
  listedFacts,
  outcomeFacts,
  runFacts,
  storyFacts,
  storyToShow,
  type Fact,
  type FactKind,
} from '../../view/facts.ts';
import { runWords, timeText } from '../../view/run-words.ts';
import { attemptText, cellOf, isWorking, workText } from '../../view/story-words.ts';
import { whyStoryWaits } from '../../view/waiting.ts';

const LABEL_WIDTH = 9;
/** From this height on, the text of the selected story is shown below the table. */
const ROOMY_HEIGHT = 30;
const MAX_STEPS = 4;
const MAX_FACTS = 3;
/** Facts of a run that other lines or views show, or for which there is no room. */
const LEFT_OUT: readonly FactKind[] = [
  ...(['project', 'stories', 'settings', 'user', 'priority', 'batch', 'time', 'snapshot'] as const),
];

/** A line of the panel. */
type Row = Pick<Fact, 'label' | 'value' | 'tone'>;

/** The state of a run above its stories: story, attempt, gates, branch, cost, and why it waits. */
export function runPanel(state: TopState, runId: string, paint: Paint): string[] {
  const run = findRun(state, runId);
  if (run === undefined) return [];
  const { now, width } = state;
  const view = state.view?.state.runId === runId ? state.view : undefined;
  const story = storyToShow(run);
  const words = runWords({ ...run, ...defined({ heldBy: view?.heldBy, engines: view?.engines }) });
  const done = run.stories.filter(isDone).length;
  const progress = `${done} of ${run.stories.length} stories, ${timeText(run, now)}`;
  const facts: Row[] = [
    {
      label: 'state',
      value: `${cellOf(words).text}   ${bar(done, run.stories.length)} ${progress}`,
      tone: words.tone,
    },
    ...(run.status === 'ended' && run.detail !== undefined ? [{ label: '', value: safeLine(run.detail, 400) }] : []),
    ...(story === undefined ? [] : [{ label: 'story', value: storyText(story, run, now) }]),
    ...gateFacts(story && state.run?.attempts[story.id]),
    ...(story === undefined ? [] : outcomeFacts(story)),
    ...factsOfStories(run, story).slice(0, MAX_FACTS),
    ...runFacts({ ...view, state: run }, now).filter(({ kind }) => !LEFT_OUT.includes(kind)),
    ...waitingStory(run, now),
    ...(run.status !== 'ended'
      ? []
      : toCommands(nextSteps(run))
          .slice(0, MAX_STEPS)
          .map(({ command, why }, index): Row => ({
            label: index === 0 ? 'next' : '',
            value: `${command}   ${why}`,
          }))),
  ];
  return facts.map(({ label, value, tone = 'plain' }) => {
    const room = Math.max(1, width - LABEL_WIDTH - 3);
    return `  ${paint('quiet', label.padEnd(LABEL_WIDTH))}${paint(tone, truncateToWidth(value, room))}`.trimEnd();
  });
}

function storyText(story: StoryState, run: RunState, now: string): string {
  const { id, title, attempts } = story;
  const attempt = isWorking(story, run) && attempts > 1 ? '' : `, ${attemptText(story, run)}`;
  return `${safeLine(id, 30)}  ${workText(story, run, now)}${attempt}   ${safeLine(title)}`;
}

/** The facts of this story, then those of the others with their ids. */
function factsOfStories({ stories }: RunState, story: StoryState | undefined): Row[] {
  const others = stories.filter((each) => each !== story);
  const named = others.flatMap((each) =>
    listedFacts(each).map((fact) => ({ ...fact, value: `${safeLine(each.id, 30)}: ${fact.value}` })),
  );
  return [...(story === undefined ? [] : storyFacts(story).filter(({ passing }) => !passing)), ...named];
}

function gateFacts(attempt: AttemptRecord | undefined): Row[] {
  if (attempt === undefined) return [];
  const ended = lastGates(attempt);
  const { running } = attempt;
  const texts = [
    ...ended.map((gate) => `${commandEnd(gate).mark} ${safeLine(gate.command, 60)} ${formatElapsed(gate.ms)}`),
    ...(running?.kind === 'gate' && running.command !== undefined ? [`… ${safeLine(running.command, 60)}`] : []),
  ];
  if (texts.length === 0) return [];
  const tone = ended.some((gate) => commandEnd(gate).tone === 'bad') ? 'bad' : 'plain';
  return [{ label: 'gates', value: texts.join('   '), tone }];
}

/** Why a story waits for another reason than its run does. */
function waitingStory(run: RunState, now: string): Row[] {
  const story = run.stories.find(({ waiting }) => waiting !== undefined);
  const why = story && whyStoryWaits(story, run, now);
  return why === undefined
    ? []
    : [{ label: 'waiting', value: `${safeLine(story?.id ?? '', 30)}: ${why}`, tone: 'warn' }];
}

/** `[=====-----]`, readable without color. */
function bar(done: number, of: number): string {
  const filled = of === 0 ? 0 : Math.round((done / of) * 10);
  return `[${'='.repeat(filled)}${'-'.repeat(10 - filled)}]`;
}

/** The description and criteria of a story, for terminals with room below the table. */
export function storyDetails(state: TopState, storyId: string | undefined, paint: Paint): string[] {
  const story = state.run?.prd?.stories.find(({ id }) => id === storyId);
  if (story === undefined || state.height < ROOMY_HEIGHT) return [];
  const width = Math.max(10, state.width - 6);
  const text = [story.description, ...story.acceptance.map((each) => `- ${each}`)].filter((each) => each !== '');
  const lines = text.flatMap((each) => wrapIndented(safeLine(each, 2000), width));
  if (lines.length === 0) return [];
  const title = truncateToWidth(`${safeLine(story.id, 30)}  ${safeLine(story.title)}`, width);
  return ['', `  ${paint('strong', padToWidth(title, width).trimEnd())}`, ...lines.map((line) => `    ${line}`)];
}

/** The question that the user answers now, and the answer to confirm, below the view. */
export function answerPanel(state: TopState, paint: Paint): string[] {
  const { inputLine, question, width } = state;
  const action = inputLine?.kind === 'answer' ? inputLine.action : question?.action;
  if (action?.name !== 'answer') return [];
  const story = findRun(state, action.runId)?.stories.find(({ id }) => id === action.story);
  const most = Math.max(1, Math.floor(bodyHeight(state) / 2) - 2);
  const wrapped = (text: string) => wrapIndented(safeLine(text, 4000), Math.max(10, width - 4)).slice(0, most);
  return [
    paint('quiet', '-'.repeat(Math.max(1, width))),
    `  ${paint('warn', `${safeLine(story?.id ?? '', 40)} asks`)}`,
    ...[story?.summary ?? '', ...(story === undefined ? [] : questionLines(story))]
      .flatMap(wrapped)
      .map((line) => `    ${line}`),
    ...(question === undefined
      ? []
      : [`  ${paint('strong', 'your answer')}`, ...wrapped(action.text ?? '').map((line) => `    ${line}`)]),
  ];
}
