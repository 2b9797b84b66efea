import { lastGates, type AttemptRecord } from '../../core/journal/attempts.ts';
import { questionLines } from '../../core/run/questions.ts';
import type { RunView } from '../../api/operations/runs.ts';
import { plainReason } from '../../core/failure/plain-reason.ts';
import { nextSteps, toCommands } from '../../core/run/next-steps.ts';
import { decisiveStory, isDone, type RunState, type StoryState } from '../../core/run/state.ts';
import { formatElapsed, msBetween } from '../../core/text/format-elapsed.ts';
import { safeLine } from '../../core/text/safe-text.ts';
import type { Paint } from '../../core/transcript/transcript-line.ts';
import { isRecord } from '../../lib/guards.ts';
import { padToWidth, truncateToWidth, wrapIndented } from '../../lib/string-width.ts';
import { usageText } from '../../view/usage-text.ts';
import { bodyHeight, findRun, type TopState } from './model.ts';
import { storyFacts, type Fact } from '../../view/facts.ts';
import { runWords, timeText } from '../../view/run-words.ts';
import { cellOf, storyWords } from '../../view/story-words.ts';
import { whyStoryWaits, whyRunWaits, type WaitingRun } from '../../view/waiting.ts';

const LABEL_WIDTH = 9;
/** From this height on, the text of the selected story is shown below the table. */
const ROOMY_HEIGHT = 30;
const MAX_STEPS = 3;
const MAX_FACTS = 3;

/** The state of a run above its stories: story, attempt, gates, branch, cost, and why it waits. */
export function runPanel(state: TopState, runId: string, paint: Paint): string[] {
  const run = findRun(state, runId);
  if (run === undefined) return [];
  const { now, width } = state;
  const view = state.view?.state.runId === runId ? state.view : undefined;
  const story = currentStory(run);
  const words = runWords({ ...run, ...(view?.heldBy !== undefined && { heldBy: view.heldBy }) });
  const done = run.stories.filter(isDone).length;
  const progress = `${done} of ${run.stories.length} stories, ${timeText(run, now)}`;
  const waits = waitingTexts({ ...view, state: run }, now);
  const facts: Fact[] = [
    {
      label: 'state',
      value: `${cellOf(words).text}   ${bar(done, run.stories.length)} ${progress}`,
      tone: words.tone,
    },
    ...(run.status === 'ended' && run.detail !== undefined ? [{ label: '', value: safeLine(run.detail, 400) }] : []),
    ...(story === undefined ? [] : [{ label: 'story', value: storyText(story, run, now) }]),
    ...gateFacts(story && state.run?.attempts[story.id]),
    ...failureFacts(story),
    ...(story === undefined ? [] : storyFacts(story).slice(0, MAX_FACTS)),
    { label: 'branch', value: branchText(run) },
    ...worktreeFacts(run, view),
    {
      label: 'prd',
      value: `${safeLine(run.prdPath)}${run.agent === undefined ? '' : `   agent ${safeLine(run.agent, 20)}`}`,
    },
    ...(run.usage.requests === 0 ? [] : [{ label: 'used', value: usageText(run.usage) }]),
    ...waits.map((value): Fact => ({ label: 'waiting', value, tone: 'warn' })),
    ...(run.status !== 'ended'
      ? []
      : toCommands(nextSteps(run))
          .slice(0, MAX_STEPS)
          .map(({ command, why }, index): Fact => ({
            label: index === 0 ? 'next' : '',
            value: `${command}   ${why}`,
          }))),
  ];
  return facts.map(({ label, value, tone = 'plain' }) => {
    const room = Math.max(1, width - LABEL_WIDTH - 3);
    return `  ${paint('quiet', label.padEnd(LABEL_WIDTH))}${paint(tone, truncateToWidth(value, room))}`.trimEnd();
  });
}

/** The story that explains the end of the run; while it is open, the one that runs, asks a person or has failed. */
export function currentStory(run: RunState): StoryState | undefined {
  const { status, stories } = run;
  if (status === 'ended') return decisiveStory(run);
  for (const progress of ['in_progress', 'needs_human', 'failed'] as const) {
    const found = stories.find((story) => story.progress === progress);
    if (found !== undefined) return found;
  }
  return undefined;
}

function storyText(story: StoryState, run: RunState, now: string): string {
  const { id, title, attempts, startedAt, progress } = story;
  const active = progress === 'in_progress' && run.status !== 'ended';
  const time = active && startedAt !== undefined ? `, ${formatElapsed(msBetween(startedAt, now))}` : '';
  const attempt = `attempt ${Math.max(1, attempts)} of ${Math.max(run.maxAttempts, attempts)}`;
  return `${safeLine(id, 30)}  ${storyWords(story, run, now).text}, ${attempt}${time}   ${safeLine(title)}`;
}

function gateFacts(attempt: AttemptRecord | undefined): Fact[] {
  if (attempt === undefined) return [];
  const ended = lastGates(attempt);
  const { running } = attempt;
  const texts = [
    ...ended.map(
      ({ command, exitCode, ms }) => `${exitCode === 0 ? '✓' : '✗'} ${safeLine(command, 60)} ${formatElapsed(ms)}`,
    ),
    ...(running?.kind === 'gate' && running.command !== undefined ? [`… ${safeLine(running.command, 60)}`] : []),
  ];
  if (texts.length === 0) return [];
  const tone = ended.some(({ exitCode }) => exitCode !== 0) ? 'bad' : 'plain';
  return [{ label: 'gates', value: texts.join('   '), tone }];
}

/** Why the last attempt failed, or why a person is asked. */
function failureFacts(story: StoryState | undefined): Fact[] {
  if (story?.summary === undefined || story.progress === 'passed') return [];
  const reason = story.stopReason === undefined ? '' : `${plainReason(story.stopReason, story.lastFailure)}  `;
  const label = story.progress === 'needs_human' ? 'asks' : 'failed';
  const options = questionLines(story).map((line): Fact => ({ label: '', value: safeLine(line, 300), tone: 'warn' }));
  return [{ label, value: `${reason}${safeLine(story.summary, 400)}`, tone: 'warn' }, ...options];
}

function branchText({ repo, runId, tip, landed }: RunState): string {
  const from = repo.branch === undefined ? repo.base.slice(0, 7) : safeLine(repo.branch, 60);
  const at = tip === repo.base ? 'no commit yet' : tip.slice(0, 7);
  const onto = landed === undefined ? '' : `, landed on ${safeLine(landed.branch, 60)}`;
  return `${from} → halo/${runId}  ${at}${onto}   ${safeLine(repo.source)}`;
}

/** Where the result is checked out, with `[land] mode = "worktree"`. */
function worktreeFacts(run: RunState, view: RunView | undefined): Fact[] {
  const config = view?.record['config'];
  const land = isRecord(config) ? config['land'] : undefined;
  if (view === undefined || !isRecord(land) || land['mode'] !== 'worktree') return [];
  const path = safeLine(view.dir.replace(/runs\/(?=[^/]+$)/, 'worktrees/'));
  if (run.status === 'ended') return run.stopReason === 'SUCCESS' ? [{ label: 'worktree', value: path }] : [];
  return [{ label: 'worktree', value: `${path} at the end` }];
}

function waitingTexts(view: WaitingRun, now: string): string[] {
  const { state } = view;
  const story = state.stories.find(({ waiting }) => waiting !== undefined);
  const why = story && whyStoryWaits(story, state, now);
  return [...whyRunWaits(view), ...(why === undefined ? [] : [`${safeLine(story?.id ?? '', 30)}: ${why}`])];
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
