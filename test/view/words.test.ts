import { ageText, whenText } from '../../src/view/ages.ts';
import { describe, expect, it } from 'vitest';
import type { RunView } from '../../src/api/operations/runs.ts';
import type { Cli } from '../../src/cli/cli.ts';
import { statusPage } from '../../src/cli/output/status-page.ts';
import { NO_USAGE } from '../../src/core/agent.ts';
import type { JournalEntry } from '../../src/core/journal/events.ts';
import type { StopReason } from '../../src/core/failure/stop-reason.ts';
import type { RunState } from '../../src/core/run/state.ts';
import { toRunView } from '../../src/mcp/tools/run-view.ts';
import { paintPlain } from '../../src/tui/paint.ts';
import { frameOf } from '../../src/tui/top/frame.ts';
import { openState } from '../../src/tui/top/model.ts';
import { update } from '../../src/tui/top/update.ts';
import { renderView } from '../../src/tui/view.ts';
import { cellOf, storyFigures, storyWords, workText } from '../../src/view/story-words.ts';
import { NO_WORKER, whyRunWaits, whyStoryWaits, type WaitingRun } from '../../src/view/waiting.ts';
import { runWords, timeText } from '../../src/view/run-words.ts';
import {
  asked,
  attempted,
  COMMIT,
  created,
  failed,
  failing,
  gateFailure,
  held,
  passed,
  stateOf,
  succeeded,
} from '../support/journal.ts';

const NOW = '2030-01-01T00:05:00.000Z';
const story = 'US-001';
const ref = { story, attempt: 1 };
const run = created('r1', 2);
const started: JournalEntry = { type: 'run.started' };
const of = (...entries: JournalEntry[]) => stateOf(run, started, ...entries);
const unmarked = (status: 'done' | 'skipped') => ({
  ...run,
  prd: { ...run.prd, stories: run.prd.stories.map((each, index) => (index === 0 ? { ...each, status } : each)) },
});
const dependent = {
  ...run,
  prd: {
    ...run.prd,
    stories: run.prd.stories.map((each) => ({ ...each, dependsOn: each.id === story ? ['US-002'] : [] })),
  },
};
const retry: JournalEntry = {
  ...{ type: 'retry.scheduled', ...ref, class: 'gate', rule: 'hint', nth: 1, of: 2, why: 'the gate is red' },
  notBefore: '2030-01-01T00:06:00.000Z',
};
const postponed: JournalEntry = {
  ...{ type: 'story.postponed', ...ref, model: 'm', by: 'provider', why: 'no quota' },
  notBefore: '2030-01-01T02:00:00.000Z',
};
const withoutCommit = passed(story).map((entry) =>
  entry.type === 'story.ended' ? { ...entry, commit: undefined } : entry,
) as JournalEntry[];
const stopped: JournalEntry = { type: 'story.stopped', ...ref, usage: NO_USAGE };
const paused: JournalEntry = { type: 'run.paused', by: 'ann', now: true };
const given: JournalEntry = { type: 'approval.given', ...ref, commit: COMMIT, by: 'ann' };
const sentBack: JournalEntry = { type: 'feedback.given', ...ref, commit: COMMIT, text: 'No.', comments: [], by: 'ann' };

const AGENT_FAILURE = { ...gateFailure('halt'), class: 'agent' as const };

/** A story that fits the terminal of each surface. */
const STATES: [words: string, RunState][] = [
  ['pending', of()],
  ['waiting for US-002', stateOf(dependent)],
  ['gates', of(...attempted(story))],
  ['starting', of(...attempted(story).slice(0, 1))],
  ['interrupted until it is resumed', of(...attempted(story), paused, stopped)],
  ['retrying in 1m 00s', of(...failed(story), retry)],
  ['waiting for 1h 55m', of(...attempted(story).slice(0, 1), postponed)],
  [
    'waiting for a worker',
    of(...attempted(story).slice(0, 1), { ...postponed, notBefore: '2030-01-01T00:04:00.000Z' }),
  ],
  ['failed: npm test', of(...failed(story))],
  ['needs a human', of(...asked(story))],
  ['waiting for approval', of(...held(story))],
  ['approved, not landed', of(...held(story), given)],
  ['sent back', of(...held(story), sentBack)],
  ['no change needed', of(...withoutCommit)],
  ['described', { ...of(...withoutCommit), dry: true }],
  ['done before', stateOf(unmarked('done'))],
  ['skipped', stateOf(unmarked('skipped'))],
  ['not selected', stateOf({ ...run, selected: ['US-002'] })],
  ['cancelled', of({ type: 'story.cancelled', ...ref, by: 'ann' })],
  ['interrupted', of(...attempted(story), { type: 'run.ended', stopReason: 'INFRASTRUCTURE', detail: '' })],
];

describe('the words for the state of a story', () => {
  it.each(STATES)('are "%s" on every surface', (words, state) => {
    const first = state.stories.find(({ id }) => id === story);
    if (first === undefined) throw new Error('no story');
    const shown = storyWords(first, state, NOW);
    expect(shown.text).toBe(words);
    const view: RunView = { state, workers: 1, draining: 0, dir: '/halo/runs/r1', record: {} };
    const cli = { paint: paintPlain, terminal: { shown: false } } as unknown as Cli;
    const rowIn = (lines: string[]) => lines.find((line) => line.includes('US-001') && line.includes('Story number 1'));
    const opened = update(openState({ now: NOW, width: 140, height: 40, where: '' }), {
      ...{ type: 'listed', runs: [state], older: 0 },
    } as const);
    const top = update(opened, { type: 'key', key: 'enter' });
    const frame = renderView({ state, recent: [], now: NOW, width: 120, height: 40, paint: paintPlain, dir: '/' });
    const surfaces = {
      'halo run': rowIn(frame),
      'halo top': rowIn(frameOf(top, paintPlain).toReversed()),
    };
    for (const [surface, line] of Object.entries(surfaces)) expect(line, surface).toContain(shown.text);
    expect(surfaces['halo top']).toContain(cellOf(shown).text);
    // These two read the time themselves.
    if (first.waiting !== undefined) return;
    expect(rowIn(statusPage(view, cli)), 'halo status').toContain(shown.text);
    expect(
      toRunView(view).stories.find(({ id }) => id === story),
      'MCP',
    ).toMatchObject({ state: shown.text });
  });
});

describe('the time of a story', () => {
  const again = attempted(story, 2);
  it.each<[string, RunState, string, string]>([
    ['is that of its phase, beside it', of(...attempted(story)), 'gates 4m 49s', '4m 49s'],
    ['is that of its start before a phase', of(...attempted(story).slice(0, 1)), 'starting 4m 58s', '4m 58s'],
    [
      'is that of its phase in a later attempt, whose own time follows',
      of(...failed(story), ...again),
      'gates 4m 36s, attempt 2 of 2 for 4m 45s',
      '4m 36s',
    ],
    ['stops with a pause', of(...attempted(story), paused, stopped), 'interrupted until it is resumed', '-'],
    ['counts nothing while it waits to be retried', of(...failed(story), retry), 'retrying in 1m 00s', '-'],
    [
      'counts nothing until a worker takes it again',
      of(...attempted(story), stopped),
      'interrupted until a worker continues it',
      '-',
    ],
    ['is that of all of its attempts at the end', of(...passed(story)), 'passed', '12.0s'],
  ])('%s', (_what, state, text, time) => {
    const first = state.stories.find(({ id }) => id === story)!;
    expect(workText(first, state, NOW)).toBe(text);
    expect(storyFigures(first, state, NOW).time).toBe(time);
  });
});

describe('the words for the state of a run', () => {
  const paused: JournalEntry = { type: 'run.paused', by: 'ann', now: false };
  const needing = { ...run, after: ['r0'] };
  const over: JournalEntry = { type: 'need.changed', run: 'r0', now: 'failed', stopReason: 'GATE_FAILED' };
  const cancelled: JournalEntry = { type: 'run.ended', stopReason: 'USER_ABORT', detail: 'cancelled by ann' };
  const rejected: JournalEntry = { type: 'run.rejected', by: 'ann', tip: COMMIT, reason: 'no' };
  const failedRun = (stopReason: StopReason): JournalEntry => ({ type: 'run.ended', stopReason, detail: '', story });
  const crashed = failing(failed(story), { stopReason: 'ENGINE_ERROR', failure: AGENT_FAILURE });
  const unchanged = [run, started, ...withoutCommit, { ...succeeded('r1').at(-1)! }];
  const landed: JournalEntry = { type: 'run.landed', branch: 'main', from: COMMIT, to: COMMIT };

  it.each<[string, string, RunState & { heldBy?: string; engines?: string[] }, string[]]>([
    ['· queued', 'a new run', stateOf(run), []],
    ['» running', 'a run with an attempt', of(...attempted(story)), []],
    [
      '· waiting: fleet.max = 2',
      'a limit',
      { ...of(), heldBy: 'fleet.max = 2' },
      ['fleet.max = 2 is reached: the next'],
    ],
    [
      '· waiting: no engine',
      'a label that no engine has',
      { ...of(), engineLabels: ['gpu'], engines: [] },
      ['no engine with the label "gpu" is configured'],
    ],
    ['· waiting', 'a run that needs another one', stateOf(needing), ['run r0 has not ended']],
    ['· blocked', 'a run whose need failed', stateOf(needing, over), ['run r0 ended with GATE_FAILED']],
    ['‖ paused', 'a pause', of(paused), ['paused by ann: `halo resume r1` resumes it']],
    ['‖ pausing', 'a pause of a run that works', of(...attempted(story), paused), ['paused by ann']],
    ['✓ landed', 'a landed result', stateOf(...succeeded('r1'), landed), []],
    ['✓ done', 'a result that no commit belongs to', stateOf(...unchanged), []],
    ['✓ done, not landed', 'a result that no branch has', stateOf(...succeeded('r1')), []],
    ['✗ rejected', 'a rejected result', stateOf(...succeeded('r1'), rejected), []],
    ['- cancelled', 'a run that a person wanted to end', of(...attempted(story), cancelled), []],
    ['✗ failed: npm test', 'a gate, by its command', of(...failed(story), failedRun('GATE_FAILED')), []],
    ['✗ failed: npm test', 'used up attempts, by the last', of(...failed(story), failedRun('ATTEMPTS_EXHAUSTED')), []],
    ['✗ failed: agent', 'a program of the agent that failed', of(...crashed, failedRun('ATTEMPTS_EXHAUSTED')), []],
    ['✗ failed: circuit open', 'a breaker', of(...failed(story), failedRun('CIRCUIT_OPEN')), []],
    ['✗ failed: infrastructure', 'the machine', of(failedRun('INFRASTRUCTURE')), []],
    ['? needs a human', 'a question', of(...asked(story)), []],
    ['✓ plan: done', 'a plan', { ...stateOf(...succeeded('r1')), dry: true, planning: true }, []],
  ])('are "%s" for %s, with the reason for a wait', (words, _what, state, reasons) => {
    expect(cellOf(runWords(state)).text).toBe(words);
    const { heldBy, engines } = state;
    const waits = whyRunWaits({ state, draining: 0, ...(heldBy && { heldBy }), ...(engines && { engines }) });
    expect(waits).toEqual(reasons.map((reason) => expect.stringContaining(reason) as string));
  });
});

it.each<[string, string | undefined, Omit<WaitingRun, 'state'>, string[]?]>([
  ['a worker that would take it', undefined, { workers: 1 }],
  ['a worker of its engine', undefined, { workers: 1, engines: ['local', 'b'] }],
  ['no worker at all', NO_WORKER, { workers: 0 }],
  ['only workers that drain', 'all workers are draining', { workers: 0, draining: 1 }],
  [
    'only drained workers of its engine',
    'all workers of the engine b, which may run it, are draining: resume one with `halo engine resume b`',
    { workers: 0, draining: 1, engines: ['b'] },
  ],
  [
    'only drained workers of the engine of the environment',
    'all workers of the engine local, which may run it, are draining: resume one with `halo worker resume`',
    { workers: 0, draining: 1, engines: ['local'] },
  ],
  ['only workers whose engine is away', 'no engine that may run it answers', { workers: 0, away: 1, draining: 1 }],
  [
    'workers of other engines only',
    'no worker of the engine b is running: start `halo up`, or `halo worker --engine b`',
    { workers: 0, engines: ['b'] },
  ],
  ['no worker of any of its engines', 'of the engines local, b is running', { workers: 0, engines: ['local', 'b'] }],
  [
    'a label that no engine has',
    'no engine with the label "gpu" is configured for its user and repository: add one to [[engines]]',
    { engines: [] },
    ['gpu'],
  ],
])('a run that could continue, with %s, waits for: %s', (_what, words, view, labels) => {
  const state = { ...of(), ...(labels && { engineLabels: labels }) };
  const waits = whyRunWaits({ state, ...view });
  expect(waits).toEqual(words === undefined ? [] : [expect.stringContaining(words) as string]);
});

it.each([
  ['2030-01-01T00:04:00.000Z', '1m ago'],
  ['2029-12-31T00:05:01.000Z', '23h ago'],
  ['2029-12-19T08:00:00.000Z', '19 Dec 2029'],
])('a run that ended at %s ended %s', (endedAt, when) => {
  expect(whenText({ createdAt: '2029-01-01T00:00:00.000Z', endedAt }, NOW)).toBe(when);
  expect(whenText({ createdAt: endedAt }, NOW)).toBe(when);
});

it('an age is rounded, and a date from a day on', () => {
  const ages = [
    '2030-01-01T00:05:09.000Z',
    '2030-01-01T00:04:18.800Z',
    '2029-12-30T17:26:00.000Z',
    '2029-12-19T08:00:00.000Z',
  ];
  expect(ages.map((at) => ageText(at, NOW))).toEqual(['0s ago', '41s ago', '30 Dec 2029', '19 Dec 2029']);
});

describe('the time of a run', () => {
  it.each<[string, RunState, string]>([
    ['counts while a story runs', of(...attempted(story)), '4m 58s'],
    ['counts while a story waits for its retry', of(...failed(story), retry), '4m 57s'],
    ['does not count while it waits for a person', of(...asked(story)), '11.0s'],
    ['does not count while it is paused', of(...attempted(story), paused, stopped), '12.0s'],
    ['does not count before the first story', of(), '-'],
  ])('%s', (_what, state, expected) => expect(timeText(state, NOW)).toBe(expected));
});

describe('why a story waits', () => {
  it.each<[string, RunState, string | undefined]>([
    ['an approval', of(...held(story)), 'for approval of abcdef0, which changes protected paths'],
    ['an answer', of(...asked(story)), 'for an answer'],
    ['a worker', of(...held(story), given), 'for a worker that lands the approved commit'],
    ['a retry', of(...failed(story), retry), 'attempt 2 of 3 in 1m 00s: the gate is red'],
    ['a model', of(...attempted(story).slice(0, 1), postponed), 'for 1h 55m: no quota'],
    ['another story', stateOf(dependent), 'waiting for US-002'],
    ['nothing while it works', of(...attempted(story)), undefined],
  ])('is %s', (_what, state, expected) => {
    const first = state.stories.find(({ id }) => id === story);
    expect(first && whyStoryWaits(first, state, NOW)).toBe(expected);
  });
});
