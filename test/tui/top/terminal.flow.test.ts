import { resolve } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { shellQuote } from '../../../src/lib/text.ts';
import { makeRepository, type TestRepository } from '../../support/repository/repository.ts';
import { openHalo, OK, scripted, type TestHalo } from '../../support/halo/halo.ts';
import { casesAtLevel } from '../../support/suite/level.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { skipFor } from '../../support/skip.ts';
import { PATIENCE } from '../../support/patience.ts';
import { hasTmux, Tmux } from '../../support/terminal/tmux.ts';

const BIN = resolve(import.meta.dirname, '../../../bin/halo');

describe('halo top in a terminal', skipFor(!hasTmux && 'tmux is missing'), () => {
  let halo: TestHalo;
  let repository: TestRepository;
  let tmux: Tmux;
  const start = (words = 'top') => tmux.type(`${shellQuote(process.execPath)} ${shellQuote(BIN)} ${words}`);
  /** The modes of the terminal, as a program that starts now finds them. */
  const isRestored = async () => {
    tmux.type("stty -a | grep -oE -- '-?(icanon|echo|isig)\\b' | tr '\\n' ' '; echo modes; tput cols");
    await tmux.shows('isig icanon echo modes');
    expect(tmux.run('display-message', '-t', 'halo', '-p', '#{alternate_on} #{cursor_flag}').trim()).toBe('0 1');
  };

  beforeAll(async () => {
    halo = await openHalo();
    repository = makeRepository();
  });
  afterAll(async () => {
    await halo.close();
    repository.remove();
  });
  afterEach(() => tmux.close());

  async function open(home: string): Promise<void> {
    tmux = new Tmux({ HALO_HOME: home, TERM: 'screen-256color' });
    await tmux.shows('ready$');
  }

  it('opens with halo alone, follows a run, and leaves the terminal as it was', async () => {
    await open(halo.home);
    const agent = `echo begins; while [ $SECONDS -lt 120 ]; do sleep 1; echo works; done; echo x >> a.txt; ${OK}`;
    const stories = [{ id: 'US-001', title: 'Add the 購物車 \u202e cart' }, { id: 'US-002' }];
    const runId = await halo.submit(
      repository.root,
      stories,
      scripted(`bash -c ${shellQuote(agent)}`, ['true', 'sleep 1']),
    );
    start('');
    await tmux.shows('> ', runId, 'running', 'q quit');
    tmux.press('Enter');
    await tmux.shows('US-001', ', attempt 1 of 1', 'halo/', '購物車');
    tmux.press('l');
    await tmux.shows('works', 'lines: all, following');

    for (const [columns, rows] of [
      [120, 40],
      [250, 60],
      [80, 24],
    ] as const) {
      tmux.run('resize-window', '-t', 'halo', '-x', String(columns), '-y', String(rows));
      await vi.waitFor(() => {
        const lines = tmux.screen().split('\n');
        expect(lines[0]).toMatch(/^ halo {2}1 active of 1 run/);
        expect(lines[rows - 1]).toMatch(/q quit$/);
        expect(lines.filter((line) => line.startsWith(' halo  '))).toHaveLength(1);
      }, PATIENCE);
    }

    tmux.press('C-z');
    await tmux.shows('Stopped');
    await isRestored();
    tmux.type('fg');
    await tmux.shows('following', 'q quit');

    tmux.press('p');
    await tmux.shows('✓');
    await vi.waitFor(
      async () => expect((await halo.operations.getRun({ runId })).state.paused?.now).toBe(false),
      PATIENCE,
    );
    tmux.press('C');
    await tmux.shows('y yes, n no');
    tmux.press('n');
    await tmux.shows('Nothing was changed.');
    tmux.press('q');
    await isRestored();
    await halo.operations.cancel({ runId });
  });

  it('lists open circuit breakers, and closes them', async () => {
    await open(halo.home);
    const settings = scripted('exit 9', ['true'], ['retry.attempts=3', 'breaker.no_change=1']);
    const { runId, stopReason } = await halo.run(repository.root, [{ id: 'US-001' }], settings);
    expect(stopReason).toBe('CIRCUIT_OPEN');
    start();
    await tmux.shows(runId);
    tmux.press('g', 'i');
    await tmux.shows('repository is open', `! breaker  ${runId}`);
    tmux.press('g', 'g', 'b');
    await tmux.shows('✓ Closed the breaker of repository');
    expect((await halo.operations.listBreakers({ shared: true })).breakers).toEqual([]);
    tmux.type(`:reset ${runId}`);
    await tmux.shows(`✓ Closed the breaker of run:${runId}`);
    await vi.waitFor(() => {
      expect(halo.journal(runId).map(({ type }) => type)).toContain('breaker.reset');
    }, PATIENCE);
    tmux.press('q');
    await tmux.shows('ready$');
  });

  it('restores the terminal after a crash, and leaves the error on it', async () => {
    await open(tempDir('halo-home'));
    const crash = "data:text/javascript,process.on('SIGUSR2', () => { throw new Error('boom'); })";
    tmux.type(`${shellQuote(process.execPath)} --import ${shellQuote(crash)} ${shellQuote(BIN)} top`);
    await tmux.shows('No runs yet.', 'q quit');
    process.kill(tmux.child(), 'SIGUSR2');
    await tmux.shows('Error: boom', 'ready$');
    tmux.type('test $? -ne 0 && echo "ended with an error"');
    await tmux.shows('ended with an error\n');
    expect(tmux.screen()).not.toContain('q quit');
    await isRestored();
  });

  it('restores the terminal after signals, and ends when the terminal is closed', async () => {
    await open(tempDir('halo-home'));
    const signals = casesAtLevel<[signal: string, code: number]>([['TERM', 143]], [['HUP', 129]]);
    for (const [signal, code] of signals) {
      start();
      await tmux.shows('No runs yet.', 'q quit');
      process.kill(tmux.child(), `SIG${signal}`);
      await tmux.shows('ready$');
      tmux.type('echo "ended with $?"');
      await tmux.shows(`ended with ${code}`);
      await isRestored();
      tmux.type('clear');
    }
    start();
    await tmux.shows('No runs yet.');
    const child = tmux.child();
    tmux.close();
    await vi.waitFor(() => expect(() => process.kill(child, 0)).toThrow(), PATIENCE);
  });
});
