import { PassThrough } from 'node:stream';
import { describe, expect, it } from 'vitest';
import type { JournalEntry } from '../../src/core/journal/events.ts';
import type { FailureCause } from '../../src/core/failure/failure.ts';
import { runWords, timeText } from '../../src/view/run-words.ts';
import { foldRun } from '../../src/core/journal/fold-run.ts';
import { describeEvent } from '../../src/core/transcript/transcript.ts';
import { stringWidth } from '../../src/lib/string-width.ts';
import { AttemptTracker } from '../../src/tui/attempts.ts';
import { nextSteps, toCommands } from '../../src/core/run/next-steps.ts';
import { paintPlain } from '../../src/tui/paint.ts';
import { ProgressDisplay } from '../../src/tui/terminal.ts';
import { renderView, type ViewInput } from '../../src/tui/view.ts';
import {
  attempted,
  COMMIT,
  created,
  failed,
  failedWithTests,
  failing,
  gateFailure,
  held,
  journalOf,
  passed,
  stateOf,
  succeeded,
} from '../support/journal.ts';

function frame(entries: JournalEntry[], size: Partial<ViewInput> = {}): string[] {
  const events = journalOf(entries);
  const attempts = new AttemptTracker();
  for (const event of events) attempts.see(event);
  const state = foldRun(events);
  if (state === undefined) throw new Error('no state');
  const recent = events.flatMap((event) => describeEvent(event)).filter((line) => line.story !== '');
  const now = new Date(Date.UTC(2030, 0, 1, 0, 1, 0)).toISOString();
  return renderView({
    state,
    recent,
    failed: attempts.failed,
    now,
    width: 90,
    height: 40,
    paint: paintPlain,
    dir: '/halo/runs/r1',
    ...size,
  });
}

describe('view', () => {
  it('counts the time of a run from its start, like halo ls and halo status', () => {
    const entries: JournalEntry[] = [
      created('r1', 1),
      { type: 'run.started' },
      ...passed('US-001'),
      { type: 'run.ended', stopReason: 'SUCCESS', detail: '1 of 1 stories passed' },
    ];
    const state = foldRun(journalOf(entries));
    const listed = timeText(state!, new Date(Date.UTC(2031, 0, 1)).toISOString());
    expect(frame(entries).join('\n')).toContain(`, ${listed}`);
  });

  it('names a dry run and its described stories', () => {
    const [started, end] = passed('US-001').slice(-2);
    const described = [started!, { ...end!, described: true, commit: undefined } as unknown as JournalEntry];
    const ended: JournalEntry = { type: 'run.ended', stopReason: 'SUCCESS', detail: '1 of 1 stories described' };
    const entries = [
      { ...created('r1', 1), dry: true as const },
      { type: 'run.started' as const },
      ...described,
      ended,
    ];
    const text = frame(entries).join('\n');
    expect(text).toMatch(/dry run +US-001/);
    expect(text).not.toMatch(/^ +passed/m);
    expect(runWords(stateOf(...entries)).text).toBe('dry run: done');
  });

  it('counts only selected stories, and names the others', () => {
    const lines = frame([{ ...created('r1', 3), selected: ['US-002'] }, { type: 'run.started' }, ...passed('US-002')]);
    expect(lines.join('\n')).toMatch(/1\/1 {2}/);
    expect(lines.filter((line) => line.includes('not selected'))).toHaveLength(2);
  });

  it('shows the stories, the current activity, and the paths of the logs', () => {
    const running: JournalEntry[] = [
      created('r1', 3),
      { type: 'run.started' },
      ...passed('US-001'),
      ...attempted('US-002'),
    ];
    expect(frame(running)).toEqual([
      '',
      '  shop  /home/me/shop (main)                                                   1/3  57.0s',
      '',
      '  ✓  US-001  Story number 1                                abcdef0                  12.0s',
      '  ⠋  US-002  Story number 2                                gates                    36.0s',
      '  ·  US-003  Story number 3                                pending',
      '',
      '     agent    Looking at the tests first.',
      '     agent    $ npm test',
      '     agent    exit 1: npm test',
      '                2 failed',
      '     agent    edited  src/cart.ts',
      '     agent    done    3.0s',
      '',
      '  12.3k tokens in (4.0k cached), 678 out, 3 requests',
      '  halo logs r1 -f',
    ]);
  });

  it('shows when a story is retried, and what is approved but has not landed', () => {
    const waiting: JournalEntry[] = [
      created('r1', 2),
      { type: 'run.started' },
      ...held('US-002'),
      { type: 'approval.given', story: 'US-002', attempt: 1, commit: COMMIT, by: 'ann@desk' },
      ...failed('US-001'),
      {
        ...{
          type: 'retry.scheduled',
          story: 'US-001',
          attempt: 1,
          class: 'gate',
          rule: 'hint',
          nth: 1,
          of: 2,
          why: 'x',
        },
        notBefore: new Date(Date.UTC(2030, 0, 1, 0, 1, 23, 400)).toISOString(),
      },
    ];
    const lines = frame(waiting);
    expect(lines.find((line) => line.includes('US-001'))).toMatch(/^ {2}… {2}US-001 .+ retrying in 24s /);
    expect(lines.find((line) => line.includes('US-002'))).toContain('approved');
    const ended = frame([...waiting, { type: 'run.ended', stopReason: 'USER_ABORT', detail: 'cancelled by ann' }]);
    expect(ended.join('\n')).not.toContain('retrying');
  });

  it('shows how long a story waits for a long pause of its model', () => {
    const story = 'US-001';
    const pause = { model: 'm', by: 'provider', why: 'The model provider allows no request.' } as const;
    const notBefore = '2030-01-01T05:00:59.500Z';
    const running = [created('r1', 2), { type: 'run.started' } as const, ...attempted(story)];
    const held: JournalEntry = { type: 'story.postponed', story, attempt: 1, ...pause, notBefore };
    const line = (entries: JournalEntry[]) => frame(entries).find((each) => each.includes(story));
    expect(line([...running, held])).toMatch(/^ {2}… {2}US-001 .+ waiting for 5h 00m /);
    expect(line([...running, { ...held, notBefore: '2030-01-02T05:00:00.000Z' }])).toContain('waiting for 28h 59m');
    expect(line([...running, { ...held, notBefore: '2030-01-01T00:00:30.000Z' }])).toMatch(/ waiting for a worker /);
  });

  it('shows why the previous attempt failed below its story, wrapped, and counts attempts', () => {
    const why = `gate exited 1: ${'a long command '.repeat(8)}end`;
    const before = failed('US-001').map((event) => (event.type === 'story.ended' ? { ...event, summary: why } : event));
    const lines = frame([created('r1', 2), { type: 'run.started' }, ...before, ...attempted('US-001', 2)]);
    const at = lines.findIndex((line) => line.includes('US-001  Story'));
    expect(lines[at]).toContain('gates, attempt 2/2');
    const text = lines
      .slice(
        at + 1,
        lines.findIndex((line) => line.includes('US-002  Story')),
      )
      .join(' ');
    expect(text.replace(/\s+/g, ' ').trim()).toBe(`attempt 1 of 2 gate 12.0s ${why}`);
    const small = frame([created('r1', 2), ...before, ...attempted('US-001', 2)], { height: 12 });
    expect(small.length).toBeLessThanOrEqual(12);
    expect(small.some((line) => line.includes('US-002  Story'))).toBe(true);
  });

  it('shows a line for each failed attempt below a story until it is done', () => {
    const [first] = [{ ...created('r1', 2), attempts: 4 } as JournalEntry];
    const setup: JournalEntry = {
      type: 'story.ended',
      story: 'US-001',
      attempt: 2,
      verdict: 'failed',
      stopReason: 'TIMEOUT',
      summary: 'no output for 10m (limits.idle): npm install',
      failure: { ...gateFailure('hint'), class: 'environment' },
      usage: { requests: 0, inputTokens: 0, cachedTokens: 0, outputTokens: 0 },
    };
    const cut: JournalEntry = {
      type: 'story.disturbed',
      story: 'US-001',
      attempt: 3,
      class: 'infrastructure',
      stopReason: 'INFRASTRUCTURE',
      summary: 'the Docker Engine does not answer',
    };
    const entries = [
      first,
      ...failed('US-001'),
      ...attempted('US-001', 2).slice(0, 2),
      setup,
      ...attempted('US-001', 3).slice(0, 1),
      cut,
      ...attempted('US-001', 4),
    ];
    const kept = [
      '       attempt 1 of 4  gate               12.0s  npm test exited with 1',
      '       attempt 2 of 4  timeout             2.0s  no output for 10m (limits.idle): npm install',
      '       attempt 3 of 4  infrastructure      1.0s  the Docker Engine does not answer',
    ];
    const lines = frame(entries, { width: 110 });
    const at = lines.findIndex((line) => line.includes('US-001  Story'));
    expect(lines.slice(at + 1, at + 4)).toEqual(kept);
    expect(frame([...entries, ...passed('US-001').slice(-1)]).join('\n')).not.toContain('attempt 1 of 4');
    const again = frame([...entries, { type: 'run.retried', by: 'ann', stories: ['US-001'] }]);
    expect(again.join('\n')).not.toContain('attempt 1 of 4');
  });

  it.each([
    [80, 24, 2],
    [40, 12, 0],
    [40, 10, 0],
  ])('shows the running story before failed attempts at %ix%i', (width, height, attempts) => {
    const entries = [
      created('r1', 9),
      ...[1, 2, 3, 4, 5].flatMap((n) => passed(`US-00${n}`)),
      ...failed('US-006'),
      ...failed('US-006').map((event) => ('attempt' in event ? { ...event, attempt: 2 } : event)),
      ...attempted('US-006', 3),
    ];
    const lines = frame(entries, { width, height });
    expect(lines.filter((line) => line.includes('US-006  Story'))).toHaveLength(1);
    expect(lines.find((line) => line.includes('US-006  Story'))).toContain('gates');
    expect(lines.filter((line) => /^ {7}attempt \d/.test(line)).length).toBeGreaterThanOrEqual(attempts);
    expect(lines.length).toBeLessThanOrEqual(height);
  });

  it('shows the last output of a running command as its last line, and halo’s own lines below', () => {
    const output = [{ story: 'US-001', label: 'setup', log: 'setup/setup-1.log', text: 'added 12 of 300 packages' }];
    const notes = ['stopping after US-001: no other story starts. Ctrl-C again stops it now.'];
    const lines = frame([created('r1', 2), ...attempted('US-001')], { output, notes, width: 50 });
    const at = lines.indexOf('     setup    added 12 of 300 packages');
    expect(lines.slice(at, at + 5)).toEqual([
      '     setup    added 12 of 300 packages',
      '',
      '  stopping after US-001: no other story starts.',
      '  Ctrl-C again stops it now.',
      '',
    ]);
    const low = frame([created('r1', 2), ...attempted('US-001')], { output, notes, width: 40, height: 12 });
    expect(low.join('\n')).toContain('Ctrl-C again stops it now.');
    expect(low.some((line) => line.includes('US-001  Story'))).toBe(true);
    expect(low.length).toBeLessThanOrEqual(12);
  });

  it('shows which story another one waits for, and that it has failed', () => {
    const [first] = [created('r1', 3)];
    if (first?.type !== 'run.created') throw new Error('unexpected');
    for (const [index, needed] of [[1, 'US-001'] as const, [2, 'US-002'] as const])
      first.prd.stories[index]!.dependsOn = [needed];
    const waiting = frame([first, ...attempted('US-001')]);
    expect(waiting.find((line) => line.includes('US-002  Story'))).toContain('  waiting for US-001');
    expect(waiting.find((line) => line.includes('US-003  Story'))).toContain('  waiting for US-002');
    const stuck = frame([first, ...failed('US-001')]);
    expect(stuck.find((line) => line.includes('US-002  Story'))).toContain('  blocked by US-001');
    expect(frame([first, ...passed('US-001')]).join('\n')).not.toContain('waiting for US-001');
  });

  it('labels each line while several stories are running', () => {
    const running: JournalEntry[] = [
      created('r1', 2),
      { type: 'run.started' },
      ...attempted('US-001'),
      ...attempted('US-002').slice(0, 5),
    ];
    const lines = frame(running);
    expect(lines.filter((line) => line.includes('⠋'))).toHaveLength(2);
    expect(lines).toContain('     US-001    agent    edited  src/cart.ts');
    expect(lines).toContain('     US-002    agent    Looking at the tests first.');
  });

  it('ends with passed stories, failures with reasons, and next steps', () => {
    const ended: JournalEntry[] = [
      created('r1', 3),
      { type: 'run.started' },
      ...passed('US-001'),
      ...failed('US-002'),
      { type: 'run.ended', stopReason: 'GATE_FAILED', detail: 'US-002: npm test exited with 1', story: 'US-002' },
    ];
    const lines = frame(ended);
    expect(lines.slice(lines.findIndex((line) => line.startsWith('  GATE_FAILED')))).toEqual([
      '  GATE_FAILED  US-002 failed; 1 of 3 stories done, 24.0s',
      '',
      '  passed    abcdef0  US-001  Story number 1',
      '  failed    US-002  GATE_FAILED: npm test exited with 1',
      '  not done  US-003  Story number 3',
      '  used      24.7k tokens in (8.0k cached), 1.4k out, 6 requests',
      '  run       r1  /halo/runs/r1',
      '  next      halo logs r1 --story US-002           see what went wrong',
      '            halo logs r1 --story US-002 --gate 1  read the whole log of what failed',
      '            halo debug r1 US-002                  try it in a copy of the attempt',
      '            halo diff r1                          look at the change',
      '            halo land r1                          fast-forward main to it',
      '            halo retry r1                         retry, with fresh attempts',
      '',
    ]);
  });

  it('wraps a reason of any length, without truncation or repetition', () => {
    const why = `gate exited 1; it fails on the base commit as well: \`${'PYTHONPATH=src python3 -m pytest '.repeat(12)}\``;
    const failing = failed('US-001').map((event) =>
      event.type === 'story.ended' ? { ...event, summary: why } : event,
    );
    const end: JournalEntry = {
      type: 'run.ended',
      stopReason: 'GATE_FAILED',
      detail: `US-001: ${why}`,
      story: 'US-001',
    };
    for (const width of [60, 80, 120]) {
      const lines = frame([created('r1', 1), ...failing, end], { width });
      const report = lines.slice(lines.findIndex((line) => line.startsWith('  GATE_FAILED')));
      for (const line of report) expect(stringWidth(line), line).toBeLessThanOrEqual(width);
      expect(report.join(' ').replace(/\s+/g, ' ').split(why.replace(/\s+/g, ' '))).toHaveLength(2);
      for (const command of ['halo logs r1 --story US-001 --gate 1', 'halo retry r1'])
        expect(report.some((line) => line.includes(command))).toBe(true);
    }
  });

  it('names the failed tests with place and message', () => {
    const end: JournalEntry = {
      type: 'run.ended',
      stopReason: 'GATE_FAILED',
      detail: 'US-001: npm test exited with 1',
      story: 'US-001',
    };
    const lines = frame([created('r1', 1), ...failedWithTests('US-001'), end], { width: 80 });
    const first = lines.findIndex((line) => line.includes('✗ test'));
    expect(lines.slice(first, first + 3)).toEqual([
      '            ✗ test 1  test/page.test.js:3',
      '              is 1<U+202E>',
      '              not 0',
    ]);
    expect(lines.slice(first + 15, first + 17)).toEqual([
      '            … and 2 more',
      expect.stringMatching(/^ {2}used/),
    ]);
  });

  it('shows only the number of unfinished stories if there are many', () => {
    const lines = frame([
      created('r1', 9),
      ...passed('US-001'),
      ...failed('US-002'),
      ...passed('US-004'),
      { type: 'run.ended', stopReason: 'PARTIAL', detail: '2 of 9 stories passed' },
    ]);
    expect(lines.filter((line) => line.includes('not done'))).toEqual([
      '  not done  6 stories: US-003, US-005 to US-009',
    ]);
  });

  it('names findings for reviewers, once', () => {
    const hidden = { characters: 2, lines: 1, files: 1, places: ['a.js:3'] };
    const ref = { story: 'US-001', attempt: 1 };
    const found: JournalEntry[] = [
      { type: 'phase.started', ...ref, phase: 'import' },
      { type: 'hidden.added', ...ref, hidden },
      { type: 'secrets.suspected', ...ref, suspects: [{ path: 'k.txt', names: ['a GitHub token'] }] },
      { type: 'files.noted', ...ref, large: [{ path: 'data.bin', bytes: 3_145_728 }], locks: ['web/yarn.lock'] },
      { type: 'tests.compared', ...ref, before: 4, after: 3, removed: ['adds'], skipped: [], emptied: [] },
    ];
    const [first, ...rest] = passed('US-001');
    const end: JournalEntry = { type: 'run.ended', stopReason: 'SUCCESS', detail: '1 of 1 stories passed' };
    const landed = frame([created('r1', 1), first!, ...found, ...rest, end]).join('\n');
    expect(landed).toContain('  secret    US-001  k.txt adds a GitHub token\n');
    expect(landed).toContain('  tests     US-001  4 before, 3 after; removed: adds\n');
    expect(landed).toContain('  hidden    US-001  adds 2 hidden characters in 1 file: a.js:3\n');
    expect(landed).toContain('  large     US-001  adds data.bin (3.0 MiB)\n');
    expect(landed).toContain('  locks     US-001  changes web/yarn.lock\n');
    const waiting = held('US-001').map((event) =>
      event.type === 'story.ended'
        ? {
            ...event,
            summary: 'the gates pass, but it adds 2 hidden characters in 1 file: a.js:3',
            held: { commit: COMMIT, paths: [], named: ['hidden' as const] },
          }
        : event,
    );
    const asked = frame([created('r1', 1), ...waiting.slice(0, 3), ...found.slice(0, 2), ...waiting.slice(3)]);
    expect(asked.join('\n').split('2 hidden characters')).toHaveLength(2);
  });

  it.each([44, 60, 90, 200])('never draws beyond %i columns with any texts', (width) => {
    const [first] = [created('r1', 3)];
    if (first?.type !== 'run.created') throw new Error('unexpected');
    for (const story of first.prd.stories) story.title = '漢字のとても長い題名👩‍💻'.repeat(10);
    first.prd.project = '👍'.repeat(100);
    const lines = frame([first, ...attempted('US-001')], { width });
    for (const line of lines) expect(stringWidth(line), line).toBeLessThanOrEqual(width);
  });

  it('shows the running story on a small screen', () => {
    const many: JournalEntry[] = [
      created('r1', 9),
      ...[1, 2, 3, 4, 5].flatMap((n) => passed(`US-00${n}`)),
      ...attempted('US-006'),
    ];
    const lines = frame(many, { height: 18 });
    expect(lines.length).toBeLessThanOrEqual(18);
    expect(lines.some((line) => line.includes('US-006'))).toBe(true);
    expect(lines.some((line) => line.includes('before'))).toBe(true);
  });

  it.each([8, 10, 12, 16, 24])('shows it in a frame that fits a terminal of 40 columns and %i rows', (height) => {
    const many: JournalEntry[] = [
      created('r1', 9),
      ...[1, 2, 3, 4, 5].flatMap((n) => passed(`US-00${n}`)),
      ...attempted('US-006'),
    ];
    const lines = frame(many, { width: 40, height });
    expect(lines.some((line) => line.includes('US-006'))).toBe(true);
    if (height > 8) expect(lines.length).toBeLessThan(height);
  });
});

const MISSING_PROGRAM = { error: 'program-missing', changed: undefined, denied: false, kind: 'environment' } as const;

describe('nextSteps', () => {
  it('quotes story ids that a shell would split', () => {
    const story = "it's; rm -rf";
    const end: JournalEntry = { type: 'run.ended', stopReason: 'GATE_FAILED', detail: '', story };
    const state = foldRun(journalOf([created('r1', [story]), ...failed(story), end]));
    expect(state && toCommands(nextSteps(state))[0]?.command).toBe(String.raw`halo logs r1 --story 'it'\''s; rm -rf'`);
  });

  it('suggests resuming a run whose story was interrupted by its environment', () => {
    const story = { story: 'US-001', attempt: 1 };
    const why = { stopReason: 'MISSING_DEPENDENCY', summary: 'no key' } as const;
    const fault: JournalEntry = { type: 'story.disturbed', ...story, class: 'environment', ...why };
    const end: JournalEntry = {
      type: 'run.ended',
      stopReason: 'MISSING_DEPENDENCY',
      detail: 'US-001: no key',
      story: 'US-001',
    };
    const state = foldRun(journalOf([created('r1', 1), ...attempted('US-001'), fault, end]));
    expect(state && toCommands(nextSteps(state)).map(({ command }) => command)).toEqual([
      'halo doctor',
      'halo logs r1 --story US-001',
      'halo retry r1',
    ]);
  });

  it('suggests other tests after an implementation failed the locked ones', () => {
    const [started, ...rest] = failed('US-001');
    const locked: JournalEntry = {
      ...{ type: 'tests.locked', story: 'US-001', attempt: 1, command: 'node --test {files}', cases: ['adds'] },
      ...{ files: [{ path: 'a.test.mjs', blob: '1' }], base: COMMIT, commit: COMMIT },
    };
    const failure = { class: 'gate', rule: 'halt', sign: MISSING_PROGRAM } as const;
    const end: JournalEntry = { type: 'run.ended', stopReason: 'GATE_FAILED', detail: '', story: 'US-001' };
    const stepsOf = (entries: JournalEntry[]) => {
      const changed = failing(entries, { failure });
      return toCommands(nextSteps(stateOf(created('r1', 1), ...changed, end))).map(({ command }) => command);
    };
    expect(stepsOf([started!, locked, ...rest])).toContain('halo retry r1 --new-tests');
    expect(stepsOf([started!, ...rest])).not.toContain('halo retry r1 --new-tests');
  });

  it('suggests a new run if only a setting that is fixed for the run would help', () => {
    const sign = { error: 'network-missing', changed: undefined, denied: false, kind: 'environment' } as const;
    const failure = { class: 'environment', rule: 'halt', cause: 'network-missing', sign } as const;
    const entries = failing(failed('US-001'), { failure });
    const end: JournalEntry = { type: 'run.ended', stopReason: 'GATE_FAILED', detail: '', story: 'US-001' };
    const state = foldRun(journalOf([created('r1', 1), ...entries, end]));
    expect(state && toCommands(nextSteps(state)).at(-1)?.command).toBe('halo submit prd.json');
  });

  it.each<[string, Partial<ReturnType<typeof stateOf>>, string]>([
    ['a PRD in the repository', {}, 'halo submit prd.json'],
    ['a PRD elsewhere', { prdPath: '/home/me/my plans/a.md' }, "halo submit '/home/me/my plans/a.md'"],
    [
      'issues',
      { issues: { forge: 'github', project: 'acme/shop', label: 'for bots' } },
      "halo submit --source github:acme/shop --label 'for bots'",
    ],
    ['a PRD from stdin', { prdPath: '-' }, 'halo submit'],
    ['a process of the user', { owner: 'me-1' }, 'halo run prd.json'],
  ])('names what a new run works on: %s', (_what, more, command) => {
    const sign = { error: 'network-missing', changed: undefined, denied: false, kind: 'environment' } as const;
    const failure = { class: 'environment', rule: 'halt', cause: 'network-missing', sign } as const;
    const end: JournalEntry = { type: 'run.ended', stopReason: 'GATE_FAILED', detail: '', story: 'US-001' };
    const state = stateOf(created('r1', 1), ...failing(failed('US-001'), { failure }), end);
    expect(toCommands(nextSteps({ ...state, ...more })).at(-1)?.command).toBe(command);
  });

  it.each<[string, Parameters<typeof failing>[1], string[]]>([
    [
      'a gate that fails on the base commit as well',
      { failure: { class: 'gate', rule: 'halt', cause: 'base-fails', sign: MISSING_PROGRAM } },
      [
        'halo check: try setup and gates without an agent',
        'halo submit prd.json: start a new run, after repairing the gate or the repository and committing it',
        'halo retry r1: retry on the same commit',
      ],
    ],
    [
      'a setup command that failed',
      { failure: { class: 'environment', rule: 'halt', cause: 'setup-failed', sign: MISSING_PROGRAM } },
      ['halo check: try setup and gates without an agent', 'halo retry r1: retry, with fresh attempts'],
    ],
    [
      'a base that is broken',
      { failure: { class: 'environment', rule: 'halt', cause: 'base-broken', sign: MISSING_PROGRAM } },
      [
        'halo check: try setup and gates without an agent',
        'halo submit prd.json: start a new run, after repairing the gate or the repository and committing it',
        'halo retry r1 -c tests.broken_base=retry: retry on the same commit, and let the agent repair it',
      ],
    ],
    [
      'a program of setup that the image lacks',
      { failure: { class: 'environment', rule: 'halt', cause: 'program-missing', sign: MISSING_PROGRAM } },
      [
        'halo check: try setup and gates without an agent',
        'halo submit prd.json: start a new run, after correcting setup or the gate in halo.toml',
        'halo retry r1 -c image=…: retry in an image that has the program',
      ],
    ],
    [
      'an attempt that used up the requests of an hour',
      {
        stopReason: 'BUDGET_EXCEEDED',
        failure: { class: 'budget', rule: 'halt', limit: 'rate.gpt-5.rph', sign: MISSING_PROGRAM },
      },
      ['halo submit prd.json: start a new run, after raising rph in [rate] of config.toml'],
    ],
  ])('suggests a new run after %s, which a retry would repeat', (_name, changed, expected) => {
    const entries = failing(failed('US-001'), changed);
    const end: JournalEntry = { type: 'run.ended', stopReason: 'GATE_FAILED', detail: '', story: 'US-001' };
    const state = foldRun(journalOf([created('r1', 1), ...entries, end]));
    const steps = state === undefined ? [] : toCommands(nextSteps(state));
    expect(steps.slice(-expected.length).map(({ command, why }) => `${command}: ${why}`)).toEqual(expected);
  });

  it.each<[FailureCause, string[]]>([
    ['key-refused', ['halo logs r1 --story US-001', 'halo retry r1: retry, after fixing the key']],
    ['unknown-model', ['halo logs r1 --story US-001', 'halo retry r1 -c model.name=…: retry with another model']],
    ['unreachable', ['halo logs r1 --story US-001', 'halo retry r1: retry, when the provider can be reached']],
    ['disk-floor', ['halo doctor', 'halo logs r1 --story US-001', 'halo retry r1']],
    ['no-changes', ['halo logs r1 --story US-001', 'halo resume r1 --replan', 'halo retry r1']],
    ['gave-up', ['halo logs r1 --story US-001', 'halo resume r1 --replan', 'halo retry r1']],
  ])('matches the cause %s of a failure', (cause, expected) => {
    const sign = { error: cause, changed: undefined, denied: false, kind: 'provider' } as const;
    const end: JournalEntry = {
      type: 'story.ended',
      story: 'US-001',
      attempt: 1,
      verdict: 'failed',
      stopReason: 'ENGINE_ERROR',
      summary: 'It ended.',
      usage: { requests: 0, inputTokens: 0, cachedTokens: 0, outputTokens: 0 },
      failure: { class: 'provider', rule: 'halt', cause, sign },
    };
    const ended: JournalEntry = { type: 'run.ended', stopReason: 'ENGINE_ERROR', detail: '', story: 'US-001' };
    const state = foldRun(journalOf([created('r1', 1), ...attempted('US-001'), end, ended]));
    const steps = state === undefined ? [] : toCommands(nextSteps(state));
    expect(steps).toHaveLength(expected.length);
    for (const [index, { command, why }] of steps.entries()) expect(`${command}: ${why}`).toContain(expected[index]);
  });

  it('suggests halo run --resume for a stopped run that belongs to one process', () => {
    const [first, ...rest] = [created('r1', 2), { type: 'run.started' } as const, ...attempted('US-001')];
    if (first?.type !== 'run.created') throw new Error('unexpected');
    const stopped: JournalEntry = { type: 'run.ended', stopReason: 'USER_ABORT', detail: 'cancelled by ann' };
    const commands = (owned: object) => {
      const state = foldRun(journalOf([{ ...first, ...owned }, ...rest, stopped]));
      return state && toCommands(nextSteps(state)).map(({ command }) => command);
    };
    expect(commands({ owner: 'o1' })).toEqual(['halo run --resume r1']);
    expect(commands({})).toEqual(['halo retry r1']);
  });

  it('suggests no retry if no story could start', () => {
    const end: JournalEntry = { type: 'run.ended', stopReason: 'NOTHING_RUNNABLE', detail: 'no story is open' };
    const state = stateOf({ ...created('r1', 1), selected: ['US-009'] }, end);
    expect(toCommands(nextSteps(state)).map(({ command }) => command)).toEqual(['halo logs r1']);
  });

  it('explains how to answer a question of the agent', () => {
    const question: JournalEntry = {
      type: 'story.ended',
      story: 'US-001',
      attempt: 1,
      verdict: 'needs_human',
      stopReason: 'NEEDS_HUMAN',
      summary: 'Which currency?',
      usage: { requests: 0, inputTokens: 0, cachedTokens: 0, outputTokens: 0 },
    };
    const end: JournalEntry = {
      type: 'run.ended',
      stopReason: 'NEEDS_HUMAN',
      detail: 'Which currency?',
      story: 'US-001',
    };
    const state = foldRun(journalOf([created('r1', 1), ...attempted('US-001'), question, end]));
    expect(state && toCommands(nextSteps(state)).map(({ command }) => command)).toEqual([
      'halo logs r1 --story US-001',
      'halo answer r1 --story US-001 "…"',
      'halo resume r1 --replan',
      'halo retry r1',
    ]);
  });

  it('suggests landing only after the approval', () => {
    const [first, ...rest] = succeeded('r1');
    const entries = [{ ...first, needsApproval: true } as JournalEntry, ...rest];
    const commands = (more: JournalEntry[]) => {
      const state = foldRun(journalOf([...entries, ...more]));
      return state && toCommands(nextSteps(state)).map(({ command }) => command);
    };
    const word = { by: 'ann@desk', tip: COMMIT };
    expect(commands([])).toEqual(['halo diff r1', 'halo approve r1', 'halo reject r1']);
    expect(commands([{ type: 'run.approved', ...word }])).toEqual(['halo diff r1', 'halo land r1']);
    const { repo } = first as JournalEntry & { type: 'run.created' };
    const onNoBranch = foldRun(
      journalOf([{ ...first, repo: { ...repo, branch: undefined } } as JournalEntry, ...rest]),
    );
    expect(toCommands(nextSteps(onNoBranch!)).at(-1)?.command).toBe('git merge --ff-only halo/r1');
    const no: JournalEntry = { type: 'run.rejected', ...word, reason: 'not yet' };
    expect(commands([no])).toEqual(['halo diff r1', 'halo approve r1']);
  });
});

describe('ProgressDisplay', () => {
  it('leaves the last frame on the screen and the cursor as it was', () => {
    const screen = Object.assign(new PassThrough(), { columns: 80, rows: 24 });
    const progress = new ProgressDisplay({ screen, paint: paintPlain, dir: '/halo/runs/r1' });
    for (const event of journalOf(succeeded('r1'))) progress.show(event);
    progress.close();
    progress.close();
    const drawn = (screen.read() as Buffer).toString();
    expect(drawn).toContain('SUCCESS  1 of 1 stories passed');
    expect(drawn.split('SUCCESS')).toHaveLength(2);
  });
});
