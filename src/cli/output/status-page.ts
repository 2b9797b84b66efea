import type { RunView } from '../../api/operations/runs.ts';
import { HaloError } from '../../core/failure/errors.ts';
import { possibleSteps } from '../../core/run/next-steps.ts';
import { decisiveStory, needsPerson, type RunState, type StoryState } from '../../core/run/state.ts';
import { failedTestsLines } from '../../core/test-report/failed-tests.ts';
import { safeLine } from '../../core/text/safe-text.ts';
import type { Paint } from '../../core/transcript/transcript-line.ts';
import { sleep } from '../../lib/async.ts';
import { defined } from '../../lib/guards.ts';
import { wrapIndented } from '../../lib/string-width.ts';
import { stepLines } from '../../tui/step-lines.ts';
import { Page } from '../../tui/terminal.ts';
import type { Cli } from '../cli.ts';
import { stoppable } from '../run/run-until-signal.ts';
import { table, terminalColumns, type Cell } from './table.ts';
import { listedFacts, outcomeFacts, runFacts } from '../../view/facts.ts';
import { runWords } from '../../view/run-words.ts';
import { storyFigures, storyWords } from '../../view/story-words.ts';
import { whyStoryWaits } from '../../view/waiting.ts';

const MAX_PATHS = 20;
const MAX_TEXT_LENGTH = 4_000;

/** A page with everything about one run. */
export function statusPage(view: RunView, cli: Cli): string[] {
  const now = new Date().toISOString();
  const { paint } = cli;
  const { state, dir } = view;
  const facts: [string, string][] = [
    ['run', state.runId],
    ['state', stateFact(view, paint)],
    ...runFacts(view, now).map(({ label, value, tone = 'plain' }): [string, string] => [label, paint(tone, value)]),
    ['files', dir],
  ];
  const heading = ['STORY', 'VERDICT', 'ATTEMPTS', 'TIME', 'COMMIT', 'TITLE'].map((text) => ({ text }));
  const rows = [heading, ...state.stories.map((story) => storyRow(story, state, now))];
  const steps = stepLines(
    possibleSteps(state, view.moved !== undefined),
    terminalColumns(cli) ?? Number.POSITIVE_INFINITY,
    paint,
  );
  return [
    ...facts.flatMap(([name, text]) => wrapFact(`${paint('quiet', name.padEnd(8))} ${text}`, cli)),
    '',
    ...table(rows, { paint, width: terminalColumns(cli) }),
    ...[
      ...failedTestLines(state.stories, paint),
      ...factLines(state, paint),
      ...waitingLines(state, { paint, now }),
    ].flatMap((line) => wrapFact(line, cli)),
    ...(steps.length > 0 ? [''] : []),
    ...steps,
  ];
}

const LABEL_WIDTH = 9;

/** On a terminal, a long text is wrapped and aligned; a path stays on one line. */
function wrapFact(line: string, cli: Cli): string[] {
  const width = terminalColumns(cli);
  if (width === undefined) return [line];
  const [first = '', ...rest] = wrapIndented(line, width);
  if (rest.length === 0 || !rest.join('').includes(' ')) return [line];
  const left = wrapIndented(rest.join(' ').trim(), Math.max(LABEL_WIDTH, width - LABEL_WIDTH));
  return [first, ...left.map((each) => `${' '.repeat(LABEL_WIDTH)}${each}`)];
}

/** The state in `halo ls`, with details. */
function stateFact({ state, heldBy, engines }: Pick<RunView, 'state' | 'heldBy' | 'engines'>, paint: Paint): string {
  const { tone, text } = runWords({ ...state, ...defined({ heldBy, engines }) });
  const word = paint(tone, text);
  return state.detail === undefined ? word : `${word}  ${safeLine(state.detail, MAX_TEXT_LENGTH)}`;
}

/** Facts of stories that a person should know, and what they ask; the state of the run may name the question already. */
function factLines(run: RunState, paint: Paint): string[] {
  const said = run.status === 'ended' ? decisiveStory(run) : undefined;
  const lines = run.stories.flatMap((story) => {
    const asks = needsPerson(story) && story.held === undefined ? outcomeFacts(story) : [];
    const unsaid = asks.filter(({ kind }) => story !== said || kind !== 'asks');
    return [...listedFacts(story), ...unsaid].map(
      ({ label, value, tone = 'plain' }) => `${paint(tone, label.padEnd(8))} ${safeLine(story.id)}: ${value}`,
    );
  });
  return lines.length === 0 ? [] : ['', ...lines];
}

/** Stories that wait for a person or a time, with the reasons. */
function waitingLines(run: RunState, { paint, now }: { paint: Paint; now: string }): string[] {
  const lines = run.stories.flatMap((story) => {
    const { id, held, waiting } = story;
    const why = held === undefined && waiting === undefined ? undefined : whyStoryWaits(story, run, now);
    if (why === undefined) return [];
    const paths = held?.paths ?? [];
    const shown = paths.slice(0, MAX_PATHS).map((path) => `         ${safeLine(path)}`);
    const more = paths.length - shown.length;
    return [
      `${paint('warn', 'waiting')}  ${safeLine(id)}: ${why}${shown.length === 0 ? '' : ':'}`,
      ...shown,
      ...(more > 0 ? [`         and ${more} more`] : []),
    ];
  });
  return lines.length === 0 ? [] : ['', ...lines];
}

/** The tests that failed in the last attempt of a story. */
function failedTestLines(stories: StoryState[], paint: Paint): string[] {
  return stories.flatMap(({ id, failedTests }) => {
    if (failedTests === undefined) return [];
    const { gate, count } = failedTests;
    const what = `${count} ${count === 1 ? 'test' : 'tests'} of \`${safeLine(gate, MAX_TEXT_LENGTH)}\` failed`;
    return [
      '',
      `${paint('bad', 'tests')}    ${safeLine(id)}: ${what}`,
      ...failedTestsLines(failedTests).map((line) => `${' '.repeat(LABEL_WIDTH)}${line}`),
    ];
  });
}

function storyRow(story: StoryState, run: RunState, now: string): Cell[] {
  const { attempts, time, commit } = storyFigures(story, run, now);
  return [
    { text: safeLine(story.id, 24), tone: 'strong' },
    storyWords(story, run, now),
    ...[attempts, time, commit, safeLine(story.title)].map((text) => ({ text })),
  ];
}

const EVERY_MS = 2000;

/** Shows a page and redraws it in place until Ctrl-C or its last version. Throws USAGE without a terminal. */
export async function watchPage(cli: Cli, read: () => Promise<{ lines: string[]; last: boolean }>): Promise<void> {
  if (!cli.terminal.drawable)
    throw new HaloError('USAGE', '--watch needs a terminal.', {
      hint: 'Use `halo logs -f` to follow runs without a terminal.',
    });
  const page = new Page(cli);
  try {
    await stoppable(cli, async (signal) => {
      while (!signal.aborted) {
        const { lines, last } = await read();
        page.draw(lines);
        if (last) return;
        await sleep(EVERY_MS, signal);
      }
    });
  } finally {
    page.close();
  }
}
