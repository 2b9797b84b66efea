import { spawnSync } from 'node:child_process';
import { expect, vi } from 'vitest';
import { shellQuote } from '../../../src/lib/text.ts';
import { PATIENCE } from '../patience.ts';

export const hasTmux = spawnSync('tmux', ['-V']).status === 0;

/** A shell in a tmux of its own, in which halo is started like a user does. */
export class Tmux {
  readonly #socket = `halo-test-${process.pid}-${Math.floor(performance.now())}`;

  constructor(env: Record<string, string>) {
    const set = Object.entries(env).map(([name, value]) => `${name}=${shellQuote(value)}`);
    const shell = `env -u CI -u HALO_URL ${set.join(' ')} PS1='ready$ ' bash --norc --noprofile -i`;
    this.run('-f', '/dev/null', 'new-session', '-d', '-s', 'halo', '-x', '80', '-y', '24', shell);
  }

  run(...words: string[]): string {
    const { stdout, stderr, status } = spawnSync('tmux', ['-L', this.#socket, ...words], { encoding: 'utf8' });
    if (status !== 0) throw new Error(`tmux ${words.join(' ')}: ${stderr}`);
    return stdout;
  }

  /** The screen, without spaces at the ends of lines. */
  screen(): string {
    return this.run('capture-pane', '-t', 'halo', '-p').replace(/ +$/gm, '');
  }

  shows(...texts: string[]): Promise<void> {
    return vi.waitFor(() => {
      const screen = this.screen();
      for (const text of texts) expect(screen).toContain(text);
    }, PATIENCE);
  }

  /** The process that the shell runs. */
  child(): number {
    const shell = this.run('display-message', '-t', 'halo', '-p', '#{pane_pid}').trim();
    return Number(spawnSync('pgrep', ['-P', shell], { encoding: 'utf8' }).stdout.trim());
  }

  press(...keys: string[]): void {
    this.run('send-keys', '-t', 'halo', ...keys);
  }

  type(line: string): void {
    this.run('send-keys', '-t', 'halo', '-l', line);
    this.press('Enter');
  }

  close(): void {
    spawnSync('tmux', ['-L', this.#socket, 'kill-server']);
  }
}
