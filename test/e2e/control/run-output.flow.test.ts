import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import type { JournalEvent } from '../../../src/core/journal/events.ts';
import { startAtTerminal } from '../../support/terminal/at-terminal.ts';
import { OK, prdOf, scripted } from '../../support/halo/halo.ts';
import { openHome, type HaloHome } from '../../support/halo/halo-process.ts';
import { HOLD, release } from '../../support/halo/hold.ts';
import { readJournal } from '../../support/halo/read-journal.ts';
import type { TestRepository } from '../../support/repository/repository.ts';
import { newRepository } from '../../support/repository/new-repository.ts';
import { PATIENCE } from '../../support/patience.ts';
import { casesAtLevel } from '../../support/suite/level.ts';
import { callHalo } from '../../support/terminal/call-halo.ts';

let home: HaloHome;
let repository: TestRepository;

beforeAll(() => void (home = openHome()));
beforeEach(() => {
  repository = newRepository();
  repository.write('prd.json', Buffer.from(prdOf([{ id: 'A' }, { id: 'B' }]).bytes).toString());
  repository.commit('the PRD');
});
afterAll(() => home.close());

const options = (script: string) => scripted(script).flatMap((setting) => ['-c', setting]);
const WORK = `echo x >> x; ${OK}`;

const newest = () => home.runIds().at(-1) ?? '';
const journal = (): JournalEvent[] => readJournal(home.dir, newest());
const gateStarts = () => journal().filter(({ type }) => type === 'gate.started');

it('a gate that a signal stops is shown as interrupted, not as failed', async () => {
  const gates = ['-c', `gates=${JSON.stringify([HOLD])}`];
  const run = home.start(['run', 'prd.json', ...options(WORK), ...gates], { cwd: repository.root });
  await vi.waitFor(() => expect(gateStarts()).toHaveLength(1), PATIENCE);
  run.process.kill('SIGTERM');
  await run.ended;
  expect(journal().filter(({ type }) => type === 'gate.ended')).toMatchObject([{ interrupted: true }]);
  const { stdout } = await callHalo(['logs', newest()], { cwd: repository.root, env: { HALO_HOME: home.dir } });
  expect(stdout).toMatch(/gate +interrupted /);
  expect(stdout).not.toContain('FAILED');
});

describe('a reader that closes the output', () => {
  // The lines of stories come after the first one.
  const via = ['sh', '-c', '"$@" 2>&1 | head -n 1', 'sh'];

  it.each(
    casesAtLevel<[command: string, words: string[]]>(
      [['halo run', ['run', 'prd.json']]],
      [
        ['halo queue', ['queue', '.']],
        ['halo run --json', ['run', 'prd.json', '--json']],
      ],
    ),
  )('does not end the work of %s, and ends what only prints', async (_what, words) => {
    const ended = await home.halo([...words, ...options(WORK)], { cwd: repository.root, via });
    expect(ended.stdout.trim().split('\n')).toHaveLength(1);
    expect(journal().at(-1)).toMatchObject({ type: 'run.ended', stopReason: 'SUCCESS' });
    const left = await home.halo(['logs', newest()], { cwd: repository.root, via });
    expect(left.stdout.trim().split('\n')).toHaveLength(1);
  });
});

describe('the frame of halo run', () => {
  it('leaves nothing behind when the terminal is resized, and shows failed attempts', async () => {
    const settings = [
      'retry.attempts=3',
      'retry.policy.retries=2',
      `gates=${JSON.stringify([`echo one; ${HOLD}; test -e right`])}`,
    ];
    const run = startAtTerminal(['run', 'prd.json', ...options(WORK), ...settings.flatMap((each) => ['-c', each])], {
      cwd: repository.root,
      env: { HALO_HOME: home.dir, NO_COLOR: '1' },
    });
    const sizes = [
      [60, 12],
      [120, 40],
      [100, 30],
    ] as const;
    for (const [failed, [columns, rows]] of sizes.entries()) {
      await vi.waitFor(() => expect(gateStarts()).toHaveLength(failed + 1), PATIENCE);
      if (failed === 0) await run.shows('gate     one');
      else await run.shows(`attempt ${failed} of 3  gate `);
      await run.resize(columns, rows);
      await release(newest());
    }
    expect(await run.ended).not.toBe(0);
    const [before = '', ...rest] = run.shown().split('\u001b[?1049h');
    const [, after = '', ...more] = rest.join('').split('\u001b[?1049l');
    expect(more).toEqual([]);
    expect(before).not.toContain('Story A');
    expect(after.split('Story A')).toHaveLength(2);
    expect(after).toContain('GATE_FAILED');
  });
});
