import type { RunView } from '../../api/operations/runs.ts';
import { HaloError } from '../../core/failure/errors.ts';
import { describeKeyPause } from '../../core/failure/model-use.ts';
import { describeRestored } from '../../core/review/restored-paths.ts';
import { findStoryFindings } from '../../core/review/story-findings.ts';
import { nextSteps } from '../../core/run/next-steps.ts';
import { priorityText } from '../../core/run/priority.ts';
import type { RunState, StoryState } from '../../core/run/state.ts';
import { unmarkedAdvice } from '../../core/run/unmarked-stories.ts';
import { failedTestsLines } from '../../core/test-report/failed-tests.ts';
import { formatElapsed, formatTime, msBetween } from '../../core/text/format-elapsed.ts';
import { safeLine } from '../../core/text/safe-text.ts';
import type { Paint } from '../../core/transcript/transcript-line.ts';
import { sleep } from '../../lib/async.ts';
import { defined } from '../../lib/guards.ts';
import { wrapIndented } from '../../lib/string-width.ts';
import { listSome } from '../../lib/text.ts';
import { stepLines } from '../../tui/step-lines.ts';
import { Page } from '../../tui/terminal.ts';
import { usageText } from '../../view/usage-text.ts';
import type { Cli } from '../cli.ts';
import { stoppable } from '../run/run-until-signal.ts';
import { table, terminalColumns, type Cell } from './table.ts';
import { runWords, timeText } from '../../view/run-words.ts';
import { storyWords } from '../../view/story-words.ts';
import { whyStoryWaits, whyRunWaits } from '../../view/waiting.ts';

const MAX_PATHS = 20;
const MAX_ISSUES = 10;
const MAX_TEXT_LENGTH = 4_000;
/** Of a stack. */
const MAX_PULLS = 20;

/** A page with everything about one run. */
export function statusPage(view: RunView, cli: Cli): string[] {
  const now = new Date().toISOString();
  const { paint } = cli;
  const { state, dir } = view;
  const facts: [string, string][] = [
    ['run', state.runId],
    ['state', stateFact(view, paint)],
    ...row('project', safeLine(state.project)),
    ['repo', safeLine(`${state.repo.source}${state.repo.branch === undefined ? '' : ` (${state.repo.branch})`}`)],
    ['prd', safeLine(state.prdPath)],
    ...selectionRow(state),
    ...unmarkedRow(state, paint),
    ...settingsRows(state),
    ...decisionRow(state),
    ...whyRunWaits(view).map((text): [string, string] => ['waiting', paint('warn', text)]),
    ...submissionFacts(state),
    ['time', timeText(state, now)],
    ...row('used', usageText(state.usage)),
    ...modelRows({ state }, now),
    ...snapshotRow(state, paint),
    ...reportsRow(view, now),
    ...row('commits', commitsText({ state })),
    ...pullRows(view, now),
    ['files', dir],
  ];
  const heading = ['STORY', 'VERDICT', 'ATTEMPTS', 'TIME', 'COMMIT', 'TITLE'].map((text) => ({ text }));
  const rows = [heading, ...state.stories.map((story) => storyRow(story, state, now))];
  const steps = stepLines(nextSteps(state), terminalColumns(cli) ?? Number.POSITIVE_INFINITY, paint);
  return [
    ...facts.flatMap(([name, text]) => wrapFact(`${paint('quiet', name.padEnd(8))} ${text}`, cli)),
    '',
    ...table(rows, { paint, width: terminalColumns(cli) }),
    ...[
      ...failedTestLines(state.stories, paint),
      ...findingLines(state.stories, paint),
      ...treeLines(state.stories, paint),
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

/** Empty if there are no values. */
function row(name: string, text: string): [string, string][] {
  return text === '' ? [] : [[name, text]];
}

/** The state in `halo ls`, with details. */
function stateFact({ state, heldBy }: Pick<RunView, 'state' | 'heldBy'>, paint: Paint): string {
  const { tone, text } = runWords({ ...state, ...defined({ heldBy }) });
  const word = paint(tone, text);
  return state.detail === undefined ? word : `${word}  ${safeLine(state.detail, MAX_TEXT_LENGTH)}`;
}

/** Shown while a snapshot is being made, and if there cannot be one. */
function snapshotRow({ snapshot, stories, status }: RunState, paint: Paint): [string, string][] {
  if (snapshot === undefined || status === 'ended') return [];
  if (snapshot.state === 'refused')
    return [
      [
        'snapshot',
        paint('warn', `none, setup runs for each workspace: ${safeLine(snapshot.reason ?? '', MAX_TEXT_LENGTH)}`),
      ],
    ];
  const isBuilding = stories.some(({ id, phase }) => id === snapshot.story && (phase === 'setup' || phase === 'gates'));
  return isBuilding ? [['snapshot', `setup of ${safeLine(snapshot.story)} makes one`]] : [];
}

/** Stories that landed without being marked in the PRD file. */
function unmarkedRow({ unmarked }: RunState, paint: Paint): [string, string][] {
  return unmarked === undefined ? [] : [['unmarked', paint('warn', safeLine(unmarkedAdvice(unmarked), 500))]];
}

/** The stories that were selected at submit. */
function selectionRow({ selected, stories }: RunState): [string, string][] {
  if (selected === undefined) return [];
  const text = `${listSome(selected, MAX_PATHS)}, of ${stories.length} in the PRD`;
  return [['stories', safeLine(text, MAX_TEXT_LENGTH)]];
}

/** Settings that users changed after the run was created. */
function settingsRows({ reconfigured = [] }: RunState): [string, string][] {
  return reconfigured.map(({ by, at, set }) => [
    'settings',
    safeLine(`${set.join(', ')} (by ${by}, ${at.slice(0, 16)}Z)`, MAX_TEXT_LENGTH),
  ]);
}

/** A person's decision on the result of the run. */
function decisionRow({ decision, tip, status }: RunState): [string, string][] {
  if (decision === undefined || decision.tip !== tip || status !== 'ended') return [];
  const { verdict, by, reason } = decision;
  return [['decided', safeLine(`${verdict} by ${by}${reason === undefined ? '' : `: ${reason}`}`)]];
}

/** The user, priority and batch of the run. */
function submissionFacts({ user, priority, batch }: RunState): [string, string][] {
  const level = priorityText(priority);
  return [
    ['user', safeLine(user)],
    ...(level === undefined ? [] : [['priority', level] as [string, string]]),
    ...(batch === undefined ? [] : [['batch', `${batch.id}, as ${safeLine(batch.name)}`] as [string, string]]),
  ];
}

/** The issues that do not show the progress of their stories, and why. */
function reportsRow({ reports }: Pick<RunView, 'reports'>, now: string): [string, string][] {
  if (reports === undefined) return [];
  const { stories, why, retryAt } = reports;
  const which = stories.length === 0 ? 'issues' : `issues ${safeLine(listSome(stories, MAX_ISSUES))}`;
  const reason = why === undefined ? 'a worker reports it' : safeLine(why, MAX_TEXT_LENGTH);
  return [['reports', `${which} do not show the progress yet: ${reason}${retryText(retryAt, now)}`]];
}

function retryText(retryAt: string | undefined, now: string): string {
  return retryAt === undefined ? '' : ` Tried again at ${formatTime(retryAt, now)}.`;
}

/** The pull requests of the run, the newest last, and why they are not as they should be. */
function pullRows(
  { state, pull, unused = [] }: Pick<RunView, 'state' | 'pull' | 'unused'>,
  now: string,
): [string, string][] {
  const pages = (state.pulls ?? []).slice(-MAX_PULLS).flatMap(({ number, url, ended }) => {
    const after = ended === undefined ? '' : ` (${ended})`;
    return row('pull', `#${number} ${safeLine(url, MAX_TEXT_LENGTH)}${after}`);
  });
  const why = pull && `${safeLine(pull.why, MAX_TEXT_LENGTH)}${retryText(pull.retryAt, now)}`;
  const notes = unused.flatMap((each) => row('pull', safeLine(each, MAX_TEXT_LENGTH)));
  return [...pages, ...row('pull', why ?? ''), ...notes];
}

/** Stories whose setup or gates changed the tree. */
function treeLines(stories: StoryState[], paint: Paint): string[] {
  const lines = stories.flatMap(({ id, restored }) => {
    if (restored === undefined) return [];
    const text = `changes of setup or earlier gates were reverted before a gate: ${describeRestored(restored)}`;
    return [`${paint('warn', 'tree')}     ${safeLine(id)}: ${text}`];
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

/** Findings that a reviewer may overlook. */
function findingLines(stories: StoryState[], paint: Paint): string[] {
  const lines = stories.flatMap((story) =>
    findStoryFindings(story).map(
      ({ label, text }) => `${paint('warn', label.padEnd(8))} ${safeLine(story.id)}: ${text}`,
    ),
  );
  return lines.length === 0 ? [] : ['', ...lines];
}

function commitsText({ state }: Pick<RunView, 'state'>): string {
  if (state.tip === state.repo.base) return '';
  const range = `${state.repo.base.slice(0, 7)}..${state.tip.slice(0, 7)} on halo/${state.runId}`;
  return state.landed === undefined ? range : `${range}, landed on ${safeLine(state.landed.branch)}`;
}

function storyRow(story: StoryState, run: RunState, now: string): Cell[] {
  const until = story.progress === 'in_progress' ? (run.endedAt ?? now) : (story.endedAt ?? now);
  return [
    { text: safeLine(story.id, 24), tone: 'strong' },
    storyWords(story, run, now),
    { text: story.attempts === 0 ? '-' : String(story.attempts) },
    {
      text:
        story.startedAt === undefined || story.progress === 'pending'
          ? '-'
          : formatElapsed(msBetween(story.startedAt, until)),
    },
    { text: story.commit?.slice(0, 7) ?? '-' },
    { text: safeLine(story.title) },
  ];
}

const MAX_DETAIL_LENGTH = 200;

/** Rows about the models of an open run: delayed requests, keys that are not used, and stories with another model. */
function modelRows({ state }: Pick<RunView, 'state'>, now: string): [string, string][] {
  if (state.status === 'ended') return [];
  const keys = (state.keyPauses ?? []).filter(({ until }) => until > now);
  const others = state.stories.flatMap(({ id, progress, fallback }) =>
    progress !== 'in_progress' || fallback === undefined ? [] : [`${id} uses ${fallback.model}: ${fallback.why}`],
  );
  return [
    ...pauseRow({ state }, now),
    ...keys.map((each): [string, string] => ['key', safeLine(describeKeyPause(each, now), MAX_DETAIL_LENGTH)]),
    ...others.map((text): [string, string] => ['model', safeLine(text, MAX_DETAIL_LENGTH)]),
  ];
}

/** Shown while requests for a model are delayed. */
function pauseRow({ state }: Pick<RunView, 'state'>, now: string): [string, string][] {
  const { modelPause: pause } = state;
  // A story that waits for the model has a line of its own.
  const isShown = state.stories.some(({ waiting }) => waiting?.model !== undefined);
  if (pause === undefined || pause.until <= now || isShown) return [];
  const why = pause.why === 'rate' ? 'the configured rate is reached' : 'the provider asked for a pause';
  return [['waiting', `requests for ${safeLine(pause.model)} until ${formatTime(pause.until, now)}: ${why}`]];
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
