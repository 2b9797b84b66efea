import { PassThrough } from 'node:stream';
import { describe, expect, it } from 'vitest';
import type { JournalEntry, JournalEvent } from '../../src/core/journal/events.ts';
import { foldRun } from '../../src/core/journal/fold-run.ts';
import { describe as describeEvent } from '../../src/core/transcript/transcript.ts';
import { widthOf } from '../../src/lib/width.ts';
import { nextSteps } from '../../src/tui/next-steps.ts';
import { paintPlain } from '../../src/tui/paint.ts';
import { openProgress } from '../../src/tui/terminal.ts';
import { view } from '../../src/tui/view.ts';
import { attempted, COMMIT, created, failed, held, passed, succeeded } from '../support/journal.ts';

function journal(entries: JournalEntry[]): JournalEvent[] {
  return entries.map((entry, index) => ({
    v: 1,
    seq: index + 1,
    at: new Date(Date.UTC(2030, 0, 1, 0, 0, index)).toISOString(),
    ...entry,
  }));
}

function frame(entries: JournalEntry[], size: { width?: number; height?: number } = {}): string[] {
  const events = journal(entries);
  const state = foldRun(events);
  if (state === undefined) throw new Error('no state');
  const recent = events.flatMap((event) => describeEvent(event)).filter((line) => line.story !== '');
  const now = new Date(Date.UTC(2030, 0, 1, 0, 1, 0)).toISOString();
  return view({ state, recent, now, width: 90, height: 40, paint: paintPlain, dir: '/halo/runs/r1', ...size });
}

describe('view', () => {
  it('shows the stories, what goes on, and where to read more', () => {
    const running: JournalEntry[] = [
      created('r1', 3),
      { type: 'run.started' },
      ...passed('US-001'),
      ...attempted('US-002'),
    ];
    expect(frame(running)).toEqual([
      '',
      '  shop  /home/me/shop (main)                                                  1/3  1m 00s',
      '',
      '  ✓  US-001  Story number 1                                abcdef0                  12.0s',
      '  ⠋  US-002  Story number 2                                gates                    45.0s',
      '  ·  US-003  Story number 3',
      '',
      '     agent    Looking at the tests first.',
      '     agent    $ npm test',
      '     agent    exit 1: npm test',
      '                2 failed',
      '     agent    edited  src/cart.ts',
      '     agent    done    3.0s',
      '',
      '  12.3k tokens in (4.0k cached), 678 out, 3 requests',
      '  halo logs r1 -f   Ctrl-C stops it',
    ]);
  });

  it('says when a story is tried again, and what is approved and has not landed', () => {
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
    expect(lines.find((line) => line.includes('US-001'))).toMatch(/^ {2}… {2}US-001 .+ again in 24s /);
    expect(lines.find((line) => line.includes('US-002'))).toContain('approved');
    const ended = frame([...waiting, { type: 'run.ended', stopReason: 'USER_ABORT', detail: 'cancelled by ann' }]);
    expect(ended.join('\n')).not.toContain('again in');
  });

  it('keeps why the attempt before failed below its story, wrapped, and counts attempts', () => {
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
    expect(text.replace(/\s+/g, ' ').trim()).toBe(`attempt 1 failed: GATE_FAILED ${why}`);
    const small = frame([created('r1', 2), ...before, ...attempted('US-001', 2)], { height: 12 });
    expect(small.length).toBeLessThanOrEqual(12);
    expect(small.some((line) => line.includes('US-002  Story'))).toBe(true);
  });

  it('says whose each line is while several stories are under way', () => {
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

  it('ends with what landed, what failed and why, and what to do next', () => {
    const ended: JournalEntry[] = [
      created('r1', 3),
      ...passed('US-001'),
      ...failed('US-002'),
      { type: 'run.ended', stopReason: 'GATE_FAILED', detail: 'US-002: npm test exited with 1' },
    ];
    const lines = frame(ended);
    expect(lines.slice(lines.findIndex((line) => line.startsWith('  GATE_FAILED')))).toEqual([
      '  GATE_FAILED  US-002 failed; 1 of 3 stories done, 27.0s',
      '',
      '  landed    abcdef0  US-001  Story number 1',
      '  failed    US-002  GATE_FAILED  npm test exited with 1',
      '  not done  US-003  Story number 3',
      '  used      24.7k tokens in (8.0k cached), 1.4k out, 6 requests',
      '  run       r1  /halo/runs/r1',
      '  next      halo logs r1 --story US-002           see what went wrong',
      '            halo logs r1 --story US-002 --gate 1  read the whole log of what failed',
      '            halo diff r1                          look at the change',
      '            halo land r1                          fast-forward main to it',
      '            halo retry r1                         do it again, with fresh attempts',
      '',
    ]);
  });

  it('wraps the reason, however long it is, and cuts and repeats nothing of it', () => {
    const why = `gate exited 1; it fails on the base commit as well: \`${'PYTHONPATH=src python3 -m pytest '.repeat(12)}\``;
    const failing = failed('US-001').map((event) =>
      event.type === 'story.ended' ? { ...event, summary: why } : event,
    );
    const end: JournalEntry = { type: 'run.ended', stopReason: 'GATE_FAILED', detail: `US-001: ${why}` };
    for (const width of [60, 80, 120]) {
      const lines = frame([created('r1', 1), ...failing, end], { width });
      const report = lines.slice(lines.findIndex((line) => line.startsWith('  GATE_FAILED')));
      for (const line of report) expect(widthOf(line), line).toBeLessThanOrEqual(width);
      expect(report.join(' ').replace(/\s+/g, ' ').split(why.replace(/\s+/g, ' '))).toHaveLength(2);
      for (const command of ['halo logs r1 --story US-001 --gate 1', 'halo retry r1'])
        expect(report.some((line) => line.includes(command))).toBe(true);
    }
  });

  it('counts the stories that were not done, when there are many', () => {
    const lines = frame([
      created('r1', 9),
      ...passed('US-001'),
      ...failed('US-002'),
      ...passed('US-004'),
      { type: 'run.ended', stopReason: 'PARTIAL', detail: '2 of 9 stories landed' },
    ]);
    expect(lines.filter((line) => line.includes('not done'))).toEqual([
      '  not done  6 stories: US-003, US-005 to US-009',
    ]);
  });

  it('names what a reader may overlook, once', () => {
    const hidden = { characters: 2, lines: 1, files: 1, places: ['a.js:3'] };
    const ref = { story: 'US-001', attempt: 1 };
    const found: JournalEntry[] = [
      { type: 'phase.started', ...ref, phase: 'import' },
      { type: 'hidden.added', ...ref, hidden },
      { type: 'secrets.suspected', ...ref, suspects: [{ path: 'k.txt', names: ['a GitHub token'] }] },
      { type: 'tests.compared', ...ref, before: 4, after: 3, removed: ['adds'], skipped: [], emptied: [] },
    ];
    const [first, ...rest] = passed('US-001');
    const end: JournalEntry = { type: 'run.ended', stopReason: 'SUCCESS', detail: '1 of 1 stories landed' };
    const landed = frame([created('r1', 1), first!, ...found, ...rest, end]).join('\n');
    expect(landed).toContain('  secret    US-001  k.txt adds a GitHub token\n');
    expect(landed).toContain('  tests     US-001  4 before, 3 after; removed: adds\n');
    expect(landed).toContain('  hidden    US-001  adds 2 hidden characters in 1 file: a.js:3\n');
    const waiting = held('US-001').map((event) =>
      event.type === 'story.ended'
        ? { ...event, summary: 'the gates pass, but it adds 2 hidden characters in 1 file: a.js:3' }
        : event,
    );
    const asked = frame([created('r1', 1), ...waiting.slice(0, 3), ...found.slice(0, 2), ...waiting.slice(3)]);
    expect(asked.join('\n').split('2 hidden characters')).toHaveLength(2);
  });

  it.each([44, 60, 90, 200])('never draws beyond %i columns, whatever the texts are', (width) => {
    const [first] = [created('r1', 3)];
    if (first?.type !== 'run.created') throw new Error('unexpected');
    for (const story of first.prd.stories) story.title = '漢字のとても長い題名👩‍💻'.repeat(10);
    first.prd.project = '👍'.repeat(100);
    const lines = frame([first, ...attempted('US-001')], { width });
    for (const line of lines) expect(widthOf(line), line).toBeLessThanOrEqual(width);
  });

  it('keeps the story under way on a small screen', () => {
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

  it.each([8, 10, 12, 16, 24])('keeps it in a frame that fits a terminal of 40 columns and %i rows', (height) => {
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

describe('nextSteps', () => {
  it('quotes story ids that a shell would take apart', () => {
    const [first, ...rest] = [created('r1', 1), ...failed("it's; rm -rf")];
    if (first?.type !== 'run.created') throw new Error('unexpected');
    for (const story of first.prd.stories) story.id = "it's; rm -rf";
    const state = foldRun(journal([first, ...rest, { type: 'run.ended', stopReason: 'GATE_FAILED', detail: '' }]));
    expect(state && nextSteps(state)[0]?.command).toBe(String.raw`halo logs r1 --story 'it'\''s; rm -rf'`);
  });

  it('says how a question of the agent is answered', () => {
    const question: JournalEntry = {
      type: 'story.ended',
      story: 'US-001',
      attempt: 1,
      verdict: 'needs_human',
      stopReason: 'NEEDS_HUMAN',
      summary: 'Which currency?',
      usage: { requests: 0, inputTokens: 0, cachedTokens: 0, outputTokens: 0 },
    };
    const end: JournalEntry = { type: 'run.ended', stopReason: 'NEEDS_HUMAN', detail: 'Which currency?' };
    const state = foldRun(journal([created('r1', 1), ...attempted('US-001'), question, end]));
    expect(state && nextSteps(state).map(({ command }) => command)).toEqual([
      'halo logs r1 --story US-001',
      'halo resume r1 --replan',
      'halo retry r1',
    ]);
  });

  it('names landing only once nobody has to say yes before', () => {
    const [first, ...rest] = succeeded('r1');
    const entries = [{ ...first, needsApproval: true } as JournalEntry, ...rest];
    const commands = (more: JournalEntry[]) => {
      const state = foldRun(journal([...entries, ...more]));
      return state && nextSteps(state).map(({ command }) => command);
    };
    const word = { by: 'ann@desk', tip: COMMIT };
    expect(commands([])).toEqual(['halo diff r1', 'halo approve r1', 'halo reject r1']);
    expect(commands([{ type: 'run.approved', ...word }])).toEqual(['halo diff r1', 'halo land r1']);
    const { repo } = first as JournalEntry & { type: 'run.created' };
    const onNoBranch = foldRun(journal([{ ...first, repo: { ...repo, branch: undefined } } as JournalEntry, ...rest]));
    expect(nextSteps(onNoBranch!).at(-1)?.command).toBe('git merge --ff-only halo/r1');
    const no: JournalEntry = { type: 'run.rejected', ...word, reason: 'not yet' };
    expect(commands([no])).toEqual(['halo diff r1', 'halo approve r1']);
  });
});

describe('openProgress', () => {
  it('leaves the last frame on the screen and the cursor as it was', () => {
    const screen = Object.assign(new PassThrough(), { columns: 80, rows: 24 });
    const progress = openProgress({ screen, paint: paintPlain, dir: '/halo/runs/r1' });
    for (const event of journal(succeeded('r1'))) progress.show(event);
    progress.close();
    progress.close();
    const drawn = (screen.read() as Buffer).toString();
    expect(drawn).toContain('SUCCESS  1 of 1 stories landed');
    expect(drawn.split('SUCCESS')).toHaveLength(2);
  });
});
