import { PassThrough } from 'node:stream';
import { describe, expect, it } from 'vitest';
import type { RunView } from '../../../src/api/operations/runs.ts';
import type { JournalEntry } from '../../../src/core/journal/events.ts';
import { stringWidth } from '../../../src/lib/string-width.ts';
import { Canvas, type Screen } from '../../../src/tui/canvas.ts';
import { readDiff } from '../../../src/tui/diff/read-diff.ts';
import { paintColor } from '../../../src/tui/paint.ts';
import { frameOf } from '../../../src/tui/top/frame.ts';
import { currentTopView, openState, VIEWS, type TopEvent, type TopState } from '../../../src/tui/top/model.ts';
import { update } from '../../../src/tui/top/update.ts';
import { created, held, stateOf } from '../../support/journal.ts';
import { casesAtLevel, FULL, LEVEL } from '../../support/suite/level.ts';
import { after, followed, listed, RUN, typing } from '../../tui/top/top-world.ts';

/** Everything that a terminal executes, with a mark that shows where it was printed. */
const EVIL = [
  'mark',
  '\u001b]52;c;ZXZpbA==\u0007',
  '\u001b]8;;http://evil\u001b\\click\u001b]8;;\u001b\\',
  '\u001b[2J\u001b[31mred\u009b31m',
  '\u009d0;title\u009c\u0090q\u009c',
  '\u202egnp.exe\u2066\u200b',
  '\u001bc\u0007\b\rover\nnext\tcolumn',
  '\u001b[?1049l\u001b[?2004l',
  `क${'\u0903'.repeat(300)}`,
].join('x');
const LONG = `${EVIL}${'購物車'.repeat(20_000)}`;

/** What halo itself sends: one synchronized write, positions, erased lines and its colors. */
const OWN = /\u001b\[(?:\?2026[hl]|\?1049h|\?25l|\?7l|\?2004h|\d+;1H|2K|J|(?:2|22|32|39|31|33|1|7|27)m)/g;
const EXECUTED = /[\p{Cc}\u200b\u200e\u200f\u202a-\u202e\u2066-\u2069]/u;

/** The bytes that a terminal of this size receives for a state. */
function drawn(state: TopState, frame = frameOf(state, paintColor)): string {
  const screen: Screen = Object.assign(new PassThrough(), { columns: state.width, rows: state.height });
  const canvas = new Canvas({ screen, paint: paintColor, pastes: true }, () => []);
  canvas.draw(frame);
  const bytes = String((screen as PassThrough).read());
  canvas.close();
  return bytes;
}

/** The screen has nothing that others wrote as a control sequence, neither an unknown one nor one of halo's own. */
function expectHarmless(state: TopState, what: string): void {
  const frame = frameOf(state, paintColor);
  const bytes = drawn(state, frame);
  expect(EXECUTED.exec(bytes.replace(OWN, ''))?.[0], what).toBeUndefined();
  expect(bytes, what).not.toContain('\u001b[31mred');
  expect(bytes.split('\u001b[?1049h'), what).toHaveLength(2);
  for (const line of frame) expect(stringWidth(line), what).toBeLessThanOrEqual(state.width);
}

function hostileRun(text: string): JournalEntry[] {
  const first = created(RUN, [text, 'US-002']);
  const stories = first.prd.stories.map((story) => ({ ...story, title: text, description: text, acceptance: [text] }));
  return [
    {
      ...first,
      user: text,
      prdPath: `/${text}`,
      repo: { ...first.repo, source: `/${text}`, branch: text },
      prd: { ...first.prd, project: text, stories },
    },
    ...held(text, [text]),
  ];
}

/** All data that views show, with this text wherever others can write. */
function hostileState(text: string, size: { width: number; height: number }): TopState {
  const entries: JournalEntry[] = [
    ...hostileRun(text),
    { type: 'story.started', story: text, attempt: 2, epoch: 2, base: 'a'.repeat(40) },
    { type: 'agent.activity', story: text, attempt: 2, activity: { kind: 'say', text } },
    { type: 'agent.activity', story: text, attempt: 2, activity: { kind: 'run', command: text } },
    {
      type: 'agent.activity',
      story: text,
      attempt: 2,
      activity: { kind: 'ran', command: text, exitCode: 1, output: text },
    },
    { type: 'agent.activity', story: text, attempt: 2, activity: { kind: 'edit', path: text, change: 'update' } },
    { type: 'gate.started', story: text, attempt: 2, command: text },
  ];
  const run = stateOf(...hostileRun(text));
  const record = { config: { gates: [text], [text]: text } };
  const view: RunView = { state: run, workers: 0, heldBy: text, record, dir: `/${text}` };
  const start = openState({ now: '2030-01-01T00:05:00.000Z', where: `/${text}`, ...size });
  const events: TopEvent[] = [
    listed([{ ...run, heldBy: text }]),
    {
      type: 'workers-listed',
      outages: [{ engine: text, since: '2030-01-01T00:00:00.000Z', why: 'away' }],
      workers: [{ id: text, takes: 'any', host: text, pid: 1, draining: true }],
    },
    followed(RUN, entries),
    { type: 'viewed', view, settings: [[text, text]] },
    {
      type: 'prds-listed',
      prds: {
        repo: `/${text}`,
        agent: text,
        entries: [
          {
            name: text,
            path: `/${text}`,
            realPath: `/${text}`,
            isNamed: true,
            project: text,
            stories: [{ id: text, title: text, status: 'pending', criteria: 1, priority: 1 }],
          },
          { name: 'b', path: '/b', realPath: '/b', isNamed: true, project: '', stories: [], problem: text },
        ],
      },
    },
  ];
  return events.reduce(update, start);
}

function hostilePatch(text: string): Uint8Array {
  const line = text.replaceAll('\n', ' ');
  return Buffer.from(
    `diff --git a/${line} b/${line}\n--- a/${line}\n+++ b/${line}\n@@ -1 +1 @@ ${line}\n-${line}\n+${line}\n`,
  );
}

/** The view, reached as a user reaches it, with its data. */
function opened(state: TopState, view: string, text: string): TopState {
  const { run, view: read } = state;
  const shown = after(state, ...typing(`:${view}`), 'enter');
  const data: TopEvent[] = [
    ...(read === undefined ? [] : [{ type: 'viewed', view: read, settings: [[text, text]] } as const]),
    { type: 'diff-read', runId: RUN, story: undefined, read: readDiff(hostilePatch(text)) },
  ];
  return data.reduce(update, run === undefined ? shown : { ...shown, run });
}

describe('incident top-display: everything that halo top shows was written by an attacker', () => {
  const SIZES = casesAtLevel(
    [
      { width: 80, height: 24 },
      { width: 20, height: 4 },
    ],
    [{ width: 250, height: 60 }],
  );

  it('shows the text of the attacker, as a control', () => {
    const state = hostileState(EVIL, { width: 250, height: 60 });
    for (const view of ['runs', 'inbox', 'workers', 'stories', 'logs', 'diff', 'settings'])
      expect(drawn(opened(state, view, EVIL)), view).toContain('mark');
  });

  it.each(SIZES)('executes nothing of it in any view at $width columns and $height lines', (size) => {
    for (const text of [EVIL, LONG]) {
      const state = hostileState(text, size);
      for (const view of VIEWS) {
        const shown = opened(state, view, text);
        expectHarmless(shown, view);
        expectHarmless(after(shown, 'w', 'down', 'G'), `${view}, scrolled`);
        expectHarmless(after(shown, '?'), `help over ${view}`);
      }
    }
  });

  it.each(SIZES)('executes nothing of it in questions, results, errors and input at $width columns', (size) => {
    const state = hostileState(EVIL, size);
    for (const view of ['runs', 'stories', 'inbox'])
      for (const key of ['a', 'r', 'A', 'p', 's', 'x', 'R', 'X', 'L'])
        expectHarmless(after(opened(state, view, EVIL), key), `${key} in ${view}`);
    expectHarmless(after(opened(state, 'inbox', EVIL), 'r', 'y', { type: 'pasted', text: LONG }), 'the reason');
    for (const key of ['/', ':']) {
      const typed = after(state, key, { type: 'pasted', text: LONG });
      expectHarmless(typed, `pasted after ${key}`);
      expectHarmless(after(typed, 'enter'), `entered after ${key}`);
    }
    const failure = { message: LONG, hint: LONG };
    expectHarmless(after(state, { type: 'refused', failure }), 'a refusal');
    expectHarmless(after(state, { type: 'failed', source: 'runs', failure }), 'an error');
    expectHarmless(after(state, { type: 'acted', text: LONG }), 'a result');
  });

  it('takes less than half a second of processor time for a frame with huge texts', () => {
    for (const [width, height] of [
      [80, 24],
      [250, 60],
    ] as const) {
      const state = hostileState(LONG, { width, height });
      const pasted = after(state, ':', { type: 'pasted', text: LONG.repeat(20) });
      for (const shown of [pasted, ...VIEWS.map((view) => opened(state, view, LONG))]) {
        const before = process.cpuUsage();
        frameOf(shown, paintColor);
        const { user } = process.cpuUsage(before);
        expect(user / 1000, currentTopView(shown).view).toBeLessThan(500);
      }
    }
  });

  it('draws the start, the middle and the end of a huge diff without more than the screen', () => {
    const count = LEVEL >= FULL ? 10_000 : 1_000;
    const body = Array.from({ length: count }, () => `+${EVIL.replaceAll('\n', ' ')}`).join('\n');
    const patch = `diff --git a/x b/x\n--- /dev/null\n+++ b/x\n@@ -0,0 +1,${count} @@\n${body}\n+${'y'.repeat(count * 500)}\n`;
    const read = readDiff(Buffer.from(patch));
    const open = after(hostileState(EVIL, { width: 80, height: 24 }), ...typing(':diff'), 'enter');
    const shown = after(open, { type: 'diff-read', runId: RUN, story: undefined, read });
    for (const keys of [[], ['page-down', 'page-down'], ['G'], ['G', 'w']]) {
      const state = after(shown, ...keys);
      expectHarmless(state, keys.join(' '));
      const frame = frameOf(state, paintColor);
      expect(frame).toHaveLength(24);
      expect(drawn(state, frame).length).toBeLessThan(20_000);
    }
  });
});
