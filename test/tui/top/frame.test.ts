import { readFileSync, writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { RunView } from '../../../src/api/operations/runs.ts';
import type { ListedRun } from '../../../src/api/runs/limited-runs.ts';
import type { JournalEntry } from '../../../src/core/journal/events.ts';
import { groupCosts } from '../../../src/features/reports/core/cost-report.ts';
import { stringWidth } from '../../../src/lib/string-width.ts';
import { readDiff } from '../../../src/tui/diff/read-diff.ts';
import { paintColor } from '../../../src/tui/paint.ts';
import { frameOf } from '../../../src/tui/top/frame.ts';
import { KEYS, keyLabel } from '../../../src/tui/top/key-table.ts';
import { VIEWS, type TopEvent } from '../../../src/tui/top/model.ts';
import { asked, created, failed, stateOf, succeeded } from '../../support/journal.ts';
import {
  after,
  DONE,
  followed,
  HELD,
  listed,
  linesOf,
  PRDS,
  RUN,
  RUNNING,
  start,
  textOf,
  typing,
} from './top-world.ts';

const PATCH = 'diff --git a/a.ts b/a.ts\n--- a/a.ts\n+++ b/a.ts\n@@ -1,2 +1,2 @@\n same\n-old\n+new\u202e\n';
const WORKER = {
  ...({ id: 'any-1', takes: 'any', host: 'build-1', pid: 4711, since: '2030-01-01T00:00:00.000Z' } as const),
  draining: false,
};

function viewOf(state: ListedRun, workers = 1): RunView {
  const record = { config: { gates: ['npm test'], retry: { attempts: 2 }, land: { mode: 'branch' } } };
  return { state, workers, record, dir: `/home/me/.halo/runs/${state.runId}` };
}

const diffRead = { type: 'diff-read', runId: RUN, story: undefined, read: readDiff(Buffer.from(PATCH)) } as const;

describe('at 80x24', () => {
  it('runs shows state, progress and the running story of each run, active ones first', () => {
    expect(textOf(after(start(), listed()))).toMatchInlineSnapshot(`
      "
       halo  1 active of 3 runs  ? 1 waiting for you (g i)  …e/me/.halo  00:05:00 UTC
       runs
        PROJECT  RUN              STATE               STORIES  WHEN    NOW
      > shop     0tbq1aaaaaaaaaa  » running           1/3      5m ago  US-002 gates 4…
        shop     0tbq3cccccccccc  ? needs a human     0/1      4m ago  -
        shop     0tbq2bbbbbbbbbb  ✓ done, not landed  1/1      4m ago  -

       Enter open  m message  p pause  Esc back  : command  / filter  ? help  q quit
      "
    `);
  });

  it('runs counts the runs that are too old to be listed, and names the command that lists them', () => {
    const [head, path] = textOf(after(start({ width: 100 }), listed(undefined, 9_500)))
      .trim()
      .split('\n');
    expect(head).toContain('1 active of 9503 runs');
    expect(path).toContain('runs   9500 older: halo ls');
  });

  it('stories shows loop state, story, iteration, gates, branch and PRD above the stories', () => {
    expect(textOf(after(start(), listed(), 'enter', followed(RUN, RUNNING)))).toMatchInlineSnapshot(`
      "
       halo  1 active of 3 runs  ? 1 waiting for you (g i)  …e/me/.halo  00:05:00 UTC
       runs > stories 0tbq1aaaaaaaaaa
        state    » running   [===-------] 1 of 3 stories, 4m 57s
        story    US-002  gates 4m 36s, attempt 1 of 2   Story number 2
        gates    … npm test
        repo     /home/me/shop (main)
        prd      /home/me/shop/prd.json
        used     12.3k tokens in (4.0k cached), 678 out, 3 requests
        commits  0123456..abcdef0 on halo/0tbq1aaaaaaaaaa

        STORY   STATE      ATTEMPTS  TIME    UPDATED  COMMIT   TITLE
        US-001  ✓ passed   1/2       12.0s   4m ago   abcdef0  Story number 1
      > US-002  » gates    1/2       4m 36s  4m ago   -        Story number 2
        US-003  · pending  -         -       -        -        Story number 3

       Enter open  m message  p pause  Esc back  : command  / filter  ? help  q quit
      "
    `);
  });

  it('stories names the worktree of a run that is checked out', () => {
    const state = stateOf(...succeeded(DONE));
    const record = { config: { land: { mode: 'worktree' } } };
    const view = { state, record, workers: 1, dir: `/home/me/.halo/runs/${DONE}` };
    const shown = after(start(), listed([state]), 'enter', { type: 'viewed', settings: [], view });
    expect(textOf(shown)).toContain(`worktree /home/me/.halo/worktrees/${DONE}\n`);
    const running = stateOf(...RUNNING);
    const other = { ...view, state: running, dir: `/home/me/.halo/runs/${RUN}` };
    const open = after(start(), listed([running]), 'enter', { type: 'viewed', settings: [], view: other });
    expect(textOf(open)).toContain(`worktrees/${RUN} at the end`);
    const branch = { ...view, record: { config: { land: { mode: 'branch' } } } };
    expect(textOf(after(shown, { type: 'viewed', settings: [], view: branch }))).not.toContain('worktree');
  });

  it('prds shows the PRDs of the repository, ready or with their newest run', () => {
    const shown = after(start({ width: 100 }), listed(), 'g', 'p', { type: 'prds-listed', prds: PRDS }, 'down');
    expect(textOf(shown)).toMatchInlineSnapshot(`
      "
       halo  1 active of 3 runs  ? 1 waiting for you (g i)  /home/me/.halo                   00:05:00 UTC
       runs > prds
        PRD       STATE            DONE  RUN              NEXT  PROJECT
        prd.json  ? needs a human  1/1   0tbq3cccccccccc  -     shop
      > checkout  · ready          0/2   -                A     shop
        broken    ! invalid        ?     -                -     broken is not JSON.

       Enter open  s start  n new  e edit  l logs  d diff  Esc back  : command  / filter  ? help  q quit
      "
    `);
  });

  it('logs shows what the agent did, with the newest line at the end', () => {
    expect(
      textOf(
        after(
          start(),
          listed(),
          followed(RUN, RUNNING),
          ':',
          ...typing(`logs ${RUN}`),
          'enter',
          followed(RUN, RUNNING),
        ),
      ),
    ).toMatchInlineSnapshot(`
      "
       halo  1 active of 3 runs  ? 1 waiting for you (g i)  …e/me/.halo  00:05:00 UTC
       runs > logs 0tbq1aaaaaaaaaa   lines: all, following
          0.0s            run      0tbq1aaaaaaaaaa  3 stories of shop, /home/me/shop
                                   at 0123456
          1.0s  US-001    story    attempt 1, on 0123456
          3.0s  US-001    prepare  done    0.4s
          5.0s  US-001    agent    Looking at the tests first.
          6.0s  US-001    agent    $ npm test
          7.0s  US-001    agent    exit 1: npm test
                                     2 failed
          8.0s  US-001    agent    edited  src/cart.ts
          9.0s  US-001    agent    done    3.0s
         12.0s  US-001    gate     ok      1.2s    npm test
         13.0s  US-001    story    PASSED  abcdef0  Adds the cart.
         14.0s  US-002    story    attempt 1, on 0123456
         16.0s  US-002    prepare  done    0.4s
         18.0s  US-002    agent    Looking at the tests first.
         19.0s  US-002    agent    $ npm test
         20.0s  US-002    agent    exit 1: npm test
                                     2 failed
         21.0s  US-002    agent    edited  src/cart.ts
         22.0s  US-002    agent    done    3.0s

       m message  p pause  i interrupt  Esc back  : command  / filter  ? help  q quit
      "
    `);
  });

  it('diff shows warnings, and hidden characters as code points', () => {
    expect(textOf(after(start(), listed(), 'd', diffRead))).toMatchInlineSnapshot(`
      "
       halo  1 active of 3 runs  ? 1 waiting for you (g i)  …e/me/.halo  00:05:00 UTC
       runs > diff 0tbq1aaaaaaaaaa
      warning: 1 hidden character in 1 file: a.ts:2 (shown as <U+…>)
       diff --git a/a.ts b/a.ts
       --- a/a.ts
       +++ b/a.ts
       @@ -1,2 +1,2 @@
        same
       -old
       +new<U+202E>

       m message  p pause  i interrupt  Esc back  : command  / filter  ? help  q quit
      "
    `);
  });

  it('inbox shows what waits for a decision', () => {
    expect(textOf(after(start(), listed(), 'g', 'i'))).toMatchInlineSnapshot(`
      "
       halo  1 active of 3 runs  ? 1 waiting for you (g i)  …e/me/.halo  00:05:00 UTC
       runs > inbox
        WAITS FOR   RUN              STORY   SINCE   PROJECT  WHAT
      > ? approval  0tbq3cccccccccc  US-001  4m ago  shop     the gates pass, but it …
        + land      0tbq2bbbbbbbbbb  -       4m ago  shop     1/1 stories, not on you…

       Enter open  a approve  X reject  Esc back  : command  / filter  ? help  q quit
      "
    `);
  });

  it('inbox contains a question until a newer run of the PRD has done the story, and no question of a task', () => {
    const questions = (...runs: ListedRun[]) =>
      textOf(after(start(), listed(runs), 'g', 'i')).match(/\? answer/g)?.length;
    const waiting = stateOf(created(HELD, 1), ...asked('US-001'));
    const newer = { ...stateOf(...succeeded(DONE)), createdAt: '2030-01-01T00:01:00.000Z' };
    expect(questions(waiting)).toBe(1);
    expect(questions(newer, waiting)).toBeUndefined();
    expect(questions({ ...newer, prdPath: '/home/me/shop/other.json' }, waiting)).toBe(1);
    expect(questions(waiting, { ...newer, createdAt: '2029-12-31T00:00:00.000Z' })).toBe(1);
    expect(questions({ ...waiting, task: true })).toBeUndefined();
  });

  it('spend shows totals, and the runs that used most first', () => {
    const days = ['2030-01-01', '2029-12-26', '2029-12-25'];
    const costs = days.map((day, index) => ({
      ...{ runId: RUN, story: 'US-001', attempt: 1, repo: '/home/me/shop', user: 'me', day },
      usage: { requests: 1, inputTokens: 1000, cachedTokens: 0, outputTokens: 10 ** index, costUsd: 0.25 },
    }));
    const reported: TopEvent = { type: 'costs-reported', costs: groupCosts(costs, 'day') };
    expect(textOf(after(start(), listed(), 'g', 's'))).toContain('Reading the costs …');
    expect(textOf(after(start(), listed(), 'g', 's', reported))).toMatchInlineSnapshot(`
      "
       halo  1 active of 3 runs  ? 1 waiting for you (g i)  …e/me/.halo  00:05:00 UTC
       runs > spend
        today (UTC)         $0.25      1.0k tokens
        last 7 days         $0.50      2.0k tokens
        all                 $0.75      3.1k tokens   3 runs without a known price

        RUN              COST  TOKENS IN  CACHED  OUT  REQUESTS  STATE
      > 0tbq3cccccccccc  -     12.3k      4.0k    678  3         ? needs a human
        0tbq1aaaaaaaaaa  -     12.3k      4.0k    678  3         » running
        0tbq2bbbbbbbbbb  -     12.3k      4.0k    678  3         ✓ done, not landed

       Enter open  a approve  X reject  Esc back  : command  / filter  ? help  q quit
      "
    `);
  });

  it('workers shows processes, and running and waiting stories', () => {
    expect(textOf(after(start(), listed(), 'g', 'w', { type: 'workers-listed', outages: [], workers: [WORKER] })))
      .toMatchInlineSnapshot(`
        "
         halo  1 active of 3 runs  ? 1 waiting for you (g i)  …e/me/.halo  00:05:00 UTC
         runs > workers
          » worker build-1:4711  takes any run, for 5m

          RUN              STORY   STATE      TIME    USER  PROJECT  WHY
        > 0tbq1aaaaaaaaaa  US-002  » gates    4m 36s  me    shop     -
          0tbq1aaaaaaaaaa  US-003  · pending  -       me    shop     -

         Enter open  m message  p pause  Esc back  : command  / filter  ? help  q quit
        "
      `);
  });

  it('settings shows the settings of the run', () => {
    expect(
      textOf(
        after(start(), listed(), ',', {
          type: 'viewed',
          view: viewOf(stateOf(...RUNNING)),
          settings: [
            ['limits.memory', '"4g"'],
            ['land.mode', '"branch"'],
          ],
        }),
      ),
    ).toMatchInlineSnapshot(`
      "
       halo  1 active of 3 runs  ? 1 waiting for you (g i)  …e/me/.halo  00:05:00 UTC
       runs > settings 0tbq1aaaaaaaaaa
        limits.memory  "4g"
        land.mode      "branch"

       m message  p pause  i interrupt  Esc back  : command  / filter  ? help  q quit
      "
    `);
  });
});

describe('with more room', () => {
  const failedRun: JournalEntry[] = [
    created(RUN, 2),
    { type: 'run.started' },
    ...failed('US-001'),
    { type: 'run.ended', stopReason: 'GATE_FAILED', detail: 'US-001: npm test exited with 1', story: 'US-001' },
  ];

  it('a failed run names its reason and the next steps at 120x40', () => {
    const state = after(
      start({ width: 120, height: 40 }),
      listed([stateOf(...failedRun)]),
      'enter',
      followed(RUN, failedRun),
    );
    expect(textOf(state)).toMatchInlineSnapshot(`
      "
       halo  0 active of 1 run  /home/me/.halo                                                                   00:05:00 UTC
       runs > stories 0tbq1aaaaaaaaaa
        state    ✗ failed: npm test   [----------] 0 of 2 stories, 12.0s
                 US-001: npm test exited with 1
        story    US-001  failed: npm test, attempt 1 of 2   Story number 1
        gates    ✗ npm test 1.2s
        failed   GATE_FAILED: npm test exited with 1
        repo     /home/me/shop (main)
        prd      /home/me/shop/prd.json
        used     12.3k tokens in (4.0k cached), 678 out, 3 requests
        next     halo logs 0tbq1aaaaaaaaaa --story US-001   see what went wrong
                 halo logs 0tbq1aaaaaaaaaa --story US-001 --gate 1   read the whole log of what failed
                 halo debug 0tbq1aaaaaaaaaa US-001   try it in a copy of the attempt
                 halo retry 0tbq1aaaaaaaaaa   retry, with fresh attempts

        STORY   STATE               PRIORITY  CRITERIA  ATTEMPTS  TIME   UPDATED  COMMIT  TITLE
      > US-001  ✗ failed: npm test  1         0         1/2       12.0s  4m ago   -       Story number 1
        US-002  · pending           2         0         -         -      -        -       Story number 2

       Enter open  m message  r retry  l logs  d diff  u stories  Tab next run  Esc back  : command  / filter  ? help  q quit
      "
    `);
  });

  it('all columns and the criteria of the selected story are shown at 250x60', () => {
    const entries = RUNNING.map((entry) =>
      entry.type === 'run.created'
        ? {
            ...entry,
            prd: {
              ...entry.prd,
              stories: entry.prd.stories.map((story) => ({ ...story, acceptance: ['It adds.', '合計 is shown.'] })),
            },
          }
        : entry,
    );
    const state = after(start({ width: 250, height: 60 }), listed(), 'enter', followed(RUN, entries));
    expect(textOf(state)).toMatchInlineSnapshot(`
      "
       halo  1 active of 3 runs  ? 1 waiting for you (g i)  /home/me/.halo                                                                                                                                                                         00:05:00 UTC
       runs > stories 0tbq1aaaaaaaaaa
        state    » running   [===-------] 1 of 3 stories, 4m 57s
        story    US-002  gates 4m 36s, attempt 1 of 2   Story number 2
        gates    … npm test
        repo     /home/me/shop (main)
        prd      /home/me/shop/prd.json
        used     12.3k tokens in (4.0k cached), 678 out, 3 requests
        commits  0123456..abcdef0 on halo/0tbq1aaaaaaaaaa

        STORY   STATE      PRIORITY  CRITERIA  ATTEMPTS  TIME    UPDATED  COMMIT   TITLE
        US-001  ✓ passed   1         2         1/2       12.0s   4m ago   abcdef0  Story number 1
      > US-002  » gates    2         2         1/2       4m 36s  4m ago   -        Story number 2
        US-003  · pending  3         2         -         -       -        -        Story number 3

        US-002  Story number 2
          - It adds.
          - 合計 is shown.

       Enter open  m message  p pause  i interrupt  C cancel  l logs  d diff  u stories  Tab next run  Esc back  : command  / filter  ? help  q quit
      "
    `);
  });
});

it('workers says that a worker drains, and why stories wait then', () => {
  const shown = (busy: number) =>
    textOf(
      after(start(), listed(), 'g', 'w', {
        type: 'workers-listed',
        outages: [],
        workers: [{ ...WORKER, draining: true, busy }],
      }),
    );
  expect(shown(1)).toContain('» worker build-1:4711  drains, 1 story left, for 5m');
  expect(shown(0)).toContain('» worker build-1:4711  drained, for 5m');
  expect(shown(0)).toContain('all workers are dr…');
  expect(shown(0)).not.toContain('no worker is running');
});

describe('states without data', () => {
  it('say what to do without runs, workers and decisions', () => {
    const none = after(start(), listed([]));
    expect(textOf(none)).toContain('No runs yet. Start one with `halo run prd.json`');
    expect(textOf(after(none, 'g', 'i'))).toContain('Nothing waits for a decision.');
    expect(textOf(after(none, 'g', 'w', { type: 'workers-listed', outages: [], workers: [] }))).toContain(
      'no worker is running: start one with',
    );
    expect(textOf(after(none, 'g', 's'))).toContain('No run has used a model yet.');
    expect(textOf(after(none, 'enter'))).toContain('No run is selected.');
    expect(textOf(start())).toContain('Reading the runs …');
  });

  it('name the server that is gone and keep what was read, until it answers again', () => {
    const failure = { message: 'The halo server at http://x:1 does not answer.', hint: 'Start it with `halo serve`.' };
    const gone = after(start(), listed(), { type: 'failed', source: 'runs', failure });
    expect(linesOf(gone).at(-2)).toContain('✗ The halo server at http://x:1 does not answer. Start it');
    expect(textOf(gone)).toContain(RUN);
    expect(linesOf(after(gone, listed())).at(-2)).toBe('');
    const never = after(start(), { type: 'failed', source: 'runs', failure });
    expect(textOf(never)).not.toContain('Reading');
  });

  it('name the worker that is missing', () => {
    const state = after(start(), listed(), 'enter', followed(RUN, RUNNING), {
      type: 'viewed',
      settings: [],
      view: viewOf(stateOf(...RUNNING), 0),
    });
    expect(textOf(state)).toContain('waiting  no worker is running: start one with `halo worker`');
  });
});

/** Text of users and agents that tries to break the screen. */
const HOSTILE = 'x\u001b[2J\u001b]0;owned\u0007\u202e\r購物車カート'.repeat(40);

function hostileRuns(count: number): ListedRun[] {
  return Array.from({ length: count }, (_, index) => {
    const first = created(index === 0 ? RUN : `0tbq9${String(index).padStart(10, '0')}`, [HOSTILE, 'US-002']);
    const stories = first.prd.stories.map((story) => ({
      ...story,
      title: HOSTILE,
      description: HOSTILE,
      acceptance: [HOSTILE],
    }));
    const repo = { ...first.repo, source: `/${HOSTILE}`, branch: HOSTILE };
    return stateOf({
      ...first,
      repo,
      user: HOSTILE,
      prdPath: `/${HOSTILE}`,
      prd: { ...first.prd, project: HOSTILE, stories },
    });
  });
}

describe('every view', () => {
  const hostile = hostileRuns(30);
  const SIZES = [
    [80, 24],
    [120, 40],
    [250, 60],
    [40, 10],
    [20, 3],
  ] as const;

  it.each(SIZES)(
    'fits a terminal of %i columns and %i lines, and prints no control characters of others',
    (width, height) => {
      const [run] = hostile;
      const first = created(RUN, [HOSTILE]);
      const events: JournalEntry[] = [
        {
          ...first,
          prd: {
            ...first.prd,
            stories: first.prd.stories.map((story) => ({ ...story, title: HOSTILE, description: HOSTILE })),
          },
        },
        { type: 'story.started', story: HOSTILE, attempt: 1, epoch: 1, base: 'a'.repeat(40) },
        { type: 'agent.activity', story: HOSTILE, attempt: 1, activity: { kind: 'say', text: HOSTILE } },
        { type: 'gate.started', story: HOSTILE, attempt: 1, command: HOSTILE },
      ];
      const patch = Buffer.from(`diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-\t\t${HOSTILE}\n+${HOSTILE}\n`);
      for (const view of VIEWS) {
        const state = after(
          start({ width, height }),
          listed(hostile),
          { type: 'workers-listed', outages: [], workers: [{ ...WORKER, host: HOSTILE }] },
          ...typing(`:${view}`),
          'enter',
          followed(RUN, events),
          { type: 'viewed', settings: [], view: viewOf(run!, 0) },
          { type: 'diff-read', runId: RUN, story: undefined, read: readDiff(patch) },
          { type: 'failed', source: 'view', failure: { message: HOSTILE } },
        );
        const lines = frameOf(state, paintColor);
        expect(lines, view).toHaveLength(height);
        for (const line of lines) {
          expect(stringWidth(line), `${view}: ${line}`).toBeLessThanOrEqual(width);
          expect(line.replace(/\u001b\[(?:2|22|32|39|31|33|1|7|27)m/g, ''), view).not.toMatch(/[\p{Cc}\u202e]/u);
        }
      }
    },
  );

  it('means the same without colors: each state has a sign and a word, and the selected row a mark', () => {
    const lines = linesOf(after(start({ width: 120 }), listed()));
    expect(lines.filter((line) => line.startsWith('> '))).toHaveLength(1);
    for (const state of ['» running', '? needs a human', '✓ done']) expect(lines.join('\n')).toContain(state);
  });

  it('shows a long message on several lines, above which the selected row stays visible', () => {
    const runs = Array.from({ length: 30 }, (_, index) =>
      stateOf(created(`0tbq${String(index).padStart(11, '0')}`, 1)),
    );
    const words = Array.from({ length: 25 }, (_, index) => `word-${index}`);
    const lines = linesOf(
      after(start(), listed(runs), 'end', { type: 'refused', failure: { message: words.join(' ') } }),
    );
    expect(lines).toHaveLength(24);
    expect(
      lines
        .slice(-4, -1)
        .join(' ')
        .match(/word-\d+/g),
    ).toEqual(words);
    expect(lines.at(-5)).toContain('> shop     0tbq00000000029');
  });

  it.each(SIZES)('shows a whole question and the keys that answer it at %i columns and %i lines', (width, height) => {
    const lines = linesOf(after(start({ width, height }), listed(), 'down', 'a'));
    const message = lines.slice(2, -1).join(' ').replace(/\s+/g, ' ');
    if (width >= 80)
      expect(message).toMatch(
        /Approve abcdef0, US-001 \(Story number 1\) of run \w+, although US-001: changes protected paths: .+\? y yes, n no/,
      );
    if (height >= 10) expect(message).toContain('y yes, n no');
    expect(lines).toHaveLength(height);
  });

  it('draws a thousand runs quickly enough to scroll', () => {
    const runs = Array.from({ length: 1000 }, (_, index) =>
      stateOf(created(`0tbq${String(index).padStart(11, '0')}`, 5)),
    );
    const state = after(start(), listed(runs), 'end');
    expect(linesOf(state).filter((line) => line.includes('0tbq'))).toHaveLength(19);
    expect(linesOf(state).at(-3)).toContain('> shop     0tbq00000000999');
  });
});

describe('help', () => {
  it.each([80, 100])('shows each key and its whole meaning at %i columns', (width) => {
    const text = linesOf(after(start({ width, height: 120 }), '?'))
      .join(' ')
      .replace(/ +/g, ' ');
    for (const { keys, meaning } of KEYS) {
      expect(text).toContain(keys.map(keyLabel).join(', '));
      expect(text).toContain(meaning);
    }
    expect(text).not.toContain('…');
  });

  it('lists every key of the table', () => {
    const text = textOf(after(start({ width: 200, height: 80 }), '?'));
    for (const { keys, meaning } of KEYS) {
      expect(text).toContain(meaning);
      expect(text).toContain(keyLabel(keys[0]!));
    }
  });
});

describe('docs/dashboard.md', () => {
  const page = new URL('../../../docs/dashboard.md', import.meta.url);
  const example = () => textOf(after(start({ width: 100, height: 20 }), listed(), 'enter', followed(RUN, RUNNING)));

  it('shows a frame that halo draws', () => {
    if (process.env['HALO_TEST_RECORD'] === '1') {
      const text = readFileSync(page, 'utf8');
      writeFileSync(
        page,
        text.replace(/```text\n[\s\S]*?```/, () => `\`\`\`text${example()}\`\`\``),
      );
    }
    expect(readFileSync(page, 'utf8')).toContain(example());
  });
});
