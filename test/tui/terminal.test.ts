import { PassThrough } from 'node:stream';
import { expect, it, vi } from 'vitest';
import { JOURNAL_VERSION, type JournalEntry } from '../../src/core/journal/events.ts';
import { paintPlain } from '../../src/tui/paint.ts';
import { openProgress } from '../../src/tui/terminal.ts';
import { attempt, created } from '../support/runs.ts';

it('shows the whole frame however many lines it had before', async () => {
  const screen = Object.assign(new PassThrough(), { columns: 100, rows: 30 });
  let written = '';
  screen.on('data', (chunk: Buffer) => (written += chunk.toString()));
  const progress = openProgress({ screen, paint: paintPlain, dir: '/runs/x' });
  const entries: JournalEntry[] = [created(), { type: 'run.started' }, ...attempt('S-1').slice(0, 1)];
  const { runId } = entries[0] as { runId: string };
  const foot = `halo logs ${runId} -f`;
  const show = async (entry: JournalEntry, seq: number, text: string) => {
    progress.show({ v: JOURNAL_VERSION, seq, at: new Date().toISOString(), ...entry });
    await vi.waitFor(() => expect(screenOf(written).join('\n')).toContain(text), { interval: 30 });
    expect(screenOf(written).filter((line) => line.includes(foot))).toHaveLength(1);
  };
  try {
    for (const [index, entry] of entries.entries()) await show(entry, index + 1, foot);
    for (const [index, text] of ['one', 'two', 'three'].entries()) {
      const activity = { kind: 'say', text } as const;
      await show({ type: 'agent.activity', story: 'S-1', attempt: 1, activity }, entries.length + index + 1, text);
    }
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
    const n = Number(count === undefined || count === '' ? 1 : count);
    if (piece === '\n') [row, column] = [row + 1, 0];
    else if (piece === '\r') column = 0;
    else if (command === 'A') row = Math.max(0, row - n);
    else if (command === 'B') row += n;
    else if (command === 'G') column = n - 1;
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
