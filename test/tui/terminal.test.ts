import { PassThrough } from 'node:stream';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { JOURNAL_VERSION } from '../../src/core/journal/event-parts.ts';
import type { JournalEntry } from '../../src/core/journal/events.ts';
import { paintPlain } from '../../src/tui/paint.ts';
import { ProgressDisplay } from '../../src/tui/terminal.ts';
import { created, passed } from '../support/journal.ts';
import { advanceUntil } from '../support/advance-until.ts';

beforeEach(() => void vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] }));
afterEach(() => void vi.useRealTimers());

it('ProgressDisplay shows the whole frame after a longer or shorter one', async () => {
  const screen = Object.assign(new PassThrough(), { columns: 100, rows: 30 });
  let written = '';
  screen.on('data', (chunk: Buffer) => (written += chunk.toString()));
  const progress = new ProgressDisplay({ screen, paint: paintPlain, dir: '/runs/x' });
  const entries: JournalEntry[] = [created(), { type: 'run.started' }, ...passed('US-001').slice(0, 1)];
  const { runId } = entries[0] as { runId: string };
  const foot = `halo logs ${runId} -f`;
  const show = async (entry: JournalEntry, seq: number, text: string) => {
    progress.show({ v: JOURNAL_VERSION, seq, at: new Date().toISOString(), ...entry });
    await advanceUntil(() => expect(screenOf(written).join('\n')).toContain(text));
    expect(screenOf(written).filter((line) => line.includes(foot))).toHaveLength(1);
  };
  try {
    for (const [index, entry] of entries.entries()) await show(entry, index + 1, foot);
    for (const [index, text] of ['one', 'two', 'three'].entries()) {
      const activity = { kind: 'say', text } as const;
      await show({ type: 'agent.activity', story: 'US-001', attempt: 1, activity }, entries.length + index + 1, text);
    }
  } finally {
    progress.close();
  }
});

describe('a terminal that changes its size', () => {
  it('leaves no part of a frame outside of the alternate screen, and the last one when the run is left', async () => {
    const screen = Object.assign(new PassThrough(), { columns: 100, rows: 30 });
    let written = '';
    screen.on('data', (chunk: Buffer) => (written += chunk.toString()));
    const progress = new ProgressDisplay({ screen, paint: paintPlain, dir: '/runs/x' });
    const shows = (text: string) => advanceUntil(() => expect(screenOf(written).join('\n')).toContain(text));
    const entries: JournalEntry[] = [created(), { type: 'run.started' }, ...passed('US-001').slice(0, 1)];
    for (const [index, entry] of entries.entries())
      progress.show({ v: JOURNAL_VERSION, seq: index + 1, at: new Date().toISOString(), ...entry });
    progress.say('stopping after US-001: no other story starts. Ctrl-C again exits immediately.');
    await shows('exits immediately');
    for (const [columns, rows] of [
      [50, 30],
      [120, 40],
      [50, 12],
    ] as const) {
      Object.assign(screen, { columns, rows });
      written = '';
      await shows('Ctrl-C');
      const shown = screenOf(written);
      expect(shown.length).toBeLessThanOrEqual(rows);
      for (const line of shown) expect(line.length, line).toBeLessThanOrEqual(columns);
      if (columns === 50) expect(shown).toContain('  stopping after US-001: no other story starts.');
    }
    progress.close();
    const [alternate = '', main = ''] = written.split('\u001b[?1049l');
    expect(alternate).toContain('\u001b[1;1H');
    expect(main.split('stopping after US-001')).toHaveLength(2);
    expect(main.split('US-001  ')).toHaveLength(2);
    expect(main).not.toContain('\u001b');
  });
});

it('shows the last output of setup and gates while they run', async () => {
  const screen = Object.assign(new PassThrough(), { columns: 100, rows: 30 });
  let written = '';
  screen.on('data', (chunk: Buffer) => (written += chunk.toString()));
  const logs = new Map<string, string>();
  const readEnd = (path: string) => {
    const log = logs.get(path.split('/').slice(1).join('/'));
    return log === undefined ? Promise.reject(new Error('not there')) : Promise.resolve(Buffer.from(log));
  };
  const progress = new ProgressDisplay({ screen, paint: paintPlain, dir: '/runs/x', readEnd });
  let seq = 0;
  const show = (entry: JournalEntry) =>
    progress.show({ v: JOURNAL_VERSION, seq: ++seq, at: new Date().toISOString(), ...entry });
  const shows = (line: string) =>
    advanceUntil(() => expect(screenOf(written).map((each) => each.trim())).toContain(line));
  const ref = { story: 'US-001', attempt: 1 };
  const ran = { command: 'x', exitCode: 0, ms: 1 };
  try {
    show(created());
    for (const entry of passed('US-001').slice(0, 1)) show(entry);
    show({ type: 'phase.started', ...ref, phase: 'setup' });
    logs.set('1/setup/setup-1.log', 'resolving\r10 %\r20 %\n\u001b[32madded 12 packages\u001b[39m\n\n');
    await shows('setup    added 12 packages');
    show({ type: 'setup.ended', ...ref, ...ran, phase: 'setup', log: 'setup/setup-1.log' });
    logs.set('1/setup/setup-2.log', '');
    await shows('setup    no output yet');
    show({ type: 'phase.started', ...ref, phase: 'gates' });
    show({ type: 'gate.started', ...ref, command: 'npm test' });
    logs.set('1/gates/1.log', 'ok 1\nok 2');
    await shows('gate     ok 2');
    show({ type: 'gate.ended', ...ref, ...ran, log: 'gates/1.log' });
    show({ type: 'story.merged', ...ref, commit: 'a', onto: '0123456789abcdef', merged: 'c' });
    show({ type: 'phase.started', ...ref, phase: 'gates' });
    show({ type: 'gate.started', ...ref, command: 'npm test' });
    logs.set('1/gates/onto-0123456789ab/1.log', 'ok again');
    await shows('gate     ok again');
  } finally {
    progress.close();
  }
});

/** What a terminal shows after this output: enough of one for what is written here. */
function screenOf(output: string): string[] {
  const lines = [''];
  let row = 0;
  let column = 0;

  for (const [piece, , count, command] of output.matchAll(/(\u001b\[\??([\d;]*)([A-Za-z]))|\r|\n|[^\u001b\r\n]+/g)) {
    const n = parseInt(count === undefined || count === '' ? '1' : count, 10);
    if (piece === '\n') [row, column] = [row + 1, 0];
    else if (piece === '\r') column = 0;
    else if (command === 'A') row = Math.max(0, row - n);
    else if (command === 'B') row += n;
    else if (command === 'G') column = n - 1;
    else if (command === 'H') [row, column] = [n - 1, 0];
    else if (command === 'K') lines[row] = count === '2' ? '' : (lines[row] ?? '').slice(0, column);
    else if (command === 'J') lines.splice(row + 1, Infinity, (lines[row] ?? '').slice(0, column));
    else if (command === undefined) {
      lines[row] =
        (lines[row] ?? '').slice(0, column).padEnd(column) + piece + (lines[row] ?? '').slice(column + piece.length);
      column += piece.length;
    }
    while (lines.length <= row) lines.push('');
  }
  return lines;
}
