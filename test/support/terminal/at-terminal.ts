import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { execa } from 'execa';
import { expect, vi } from 'vitest';
import { shellQuote } from '../../../src/lib/text.ts';
import { PATIENCE } from '../patience.ts';

const BIN = resolve(import.meta.dirname, '../../../bin/halo');

/** A halo command in a terminal of its own, of 100 columns and 30 rows. */
export function startAtTerminal(words: string[], { cwd, env }: { cwd: string; env: Record<string, string> }) {
  const folder = mkdtempSync(join(tmpdir(), 'halo-tty-'));
  const device = join(folder, 'device');
  const command = [process.execPath, BIN, ...words].map(shellQuote).join(' ');
  const script = `tty > ${device}; stty cols 100 rows 30; exec ${command}`;
  const child = spawn('script', ['-qfec', script, '/dev/null'], {
    cwd,
    env: { ...process.env, HALO_URL: undefined, TERM: 'xterm', CI: undefined, ...env },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  let shown = '';
  child.stdout.on('data', (data: Buffer) => (shown += data.toString()));
  return {
    shows: (text: string) => vi.waitFor(() => expect(shown).toContain(text), PATIENCE),
    press: (keys: string) => void child.stdin.write(keys),
    shown: () => shown,
    /** As when a window is closed or a connection lost. */
    close: () => void child.kill('SIGKILL'),
    resize: (columns: number, rows: number) =>
      execa('stty', ['-F', readFileSync(device, 'utf8').trim(), 'cols', String(columns), 'rows', String(rows)]),
    ended: once(child, 'close').then(([code]) => {
      rmSync(folder, { recursive: true });
      return code as number;
    }),
  };
}
