import { readdirSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { JournalEvent } from '../../../src/core/journal/events.ts';
import { startAtTerminal } from '../../support/terminal/at-terminal.ts';
import { OK, prdOf, scripted } from '../../support/halo/halo.ts';
import { openHome, type HaloHome, type HaloProcess } from '../../support/halo/halo-process.ts';
import { readJournal } from '../../support/halo/read-journal.ts';
import type { TestRepository } from '../../support/repository/repository.ts';
import { newRepository } from '../../support/repository/new-repository.ts';
import { PATIENCE } from '../../support/patience.ts';

/** What a process that left holds is taken over soon. */
const QUICK = { HALO_TAKEOVER: '3s' };
const CTRL_C = '\u0003';
/** Keys without a meaning, too many to appear in a random run id. */
const OTHER_KEYS = 'zqzqzqzqzqzq';

let home: HaloHome;
let repository: TestRepository;

beforeEach(() => {
  home = openHome();
  repository = newRepository();
  repository.write('prd.json', Buffer.from(prdOf([{ id: 'A' }, { id: 'B' }, { id: 'C' }]).bytes).toString());
  repository.commit('the PRD');
});
afterEach(async () => {
  await home.close();
});

const options = (script: string) => scripted(script).flatMap((setting) => ['-c', setting]);
/** Each story adds a line. */
const work = (seconds: number) => `echo x >> x; sleep ${seconds}; ${OK}`;

/** `halo run prd.json` in a terminal of its own. */
function runAtTerminal(script: string) {
  return startAtTerminal(['run', 'prd.json', ...options(script)], {
    cwd: repository.root,
    env: { HALO_HOME: home.dir, ...QUICK },
  });
}

/** The journal of the newest run. */
function journal(): JournalEvent[] {
  return readJournal(home.dir, home.runIds().at(-1) ?? '');
}

const types = () => journal().map(({ type }) => type);
const untilAgent = () => vi.waitFor(() => expect(JSON.stringify(journal())).toContain('"phase":"agent"'), PATIENCE);

async function startUp(): Promise<HaloProcess> {
  const up = home.start(['up', '--workers', '1', '--listen', '127.0.0.1:0'], { cwd: repository.root, env: QUICK });
  await up.says('token');
  return up;
}

describe('Ctrl-C in halo run, while halo up serves the same home', () => {
  it('stops after the running story; the next run has that story and all others', async () => {
    await startUp();
    const run = runAtTerminal(work(4));
    await run.shows('Ctrl-C stops after this story');
    await untilAgent();
    run.press(`${OTHER_KEYS}\r`);
    run.press(CTRL_C);
    await run.shows('stopping after A: no other story starts.');
    expect(await run.ended).toBe(130);
    expect(run.shown()).not.toContain(OTHER_KEYS);
    expect(types().filter((type) => type === 'story.started')).toHaveLength(1);
    expect(journal().find((event) => event.type === 'story.ended')).toMatchObject({ verdict: 'passed' });
    expect(journal().at(-1)).toMatchObject({ type: 'run.ended', stopReason: 'USER_ABORT' });
    const second = await home.halo(['run', 'prd.json', ...options(work(0))], { cwd: repository.root });
    expect(second).toMatchObject({ code: 0 });
    const [made] = journal();
    const branch = `halo/${made?.type === 'run.created' ? made.runId : ''}`;
    expect(repository.git('log', '--format=%s', `main..${branch}`).split('\n')).toEqual([
      'feat: [C] - Story C',
      'feat: [B] - Story B',
      'feat: [A] - Story A',
    ]);
  });

  it('pressed repeatedly cancels the run before halo exits, so that no worker continues it', async () => {
    await startUp();
    const run = runAtTerminal(work(60));
    await untilAgent();
    run.press(CTRL_C.repeat(4));
    expect(await run.ended).toBe(130);
    expect(types().filter((type) => type === 'story.started')).toHaveLength(1);
    expect(journal().find(({ type }) => type === 'run.ended')).toMatchObject({ stopReason: 'USER_ABORT' });
  });

  it('pressed before the run has begun prevents its start', async () => {
    const run = home.start(['run', 'prd.json', ...options(work(0))], { cwd: repository.root });
    await vi.waitFor(() => expect(readdirSync(home.dir)).toContain('workers'), PATIENCE);
    run.process.kill('SIGINT');
    expect((await run.ended).code).toBe(130);
    expect(journal().at(-1)).toMatchObject({ type: 'run.ended', stopReason: 'USER_ABORT' });
    expect(types()).not.toContain('story.ended');
  });

  it('d leaves the run to a worker, or reports that there is none', async () => {
    // Longer than the start of a worker on a busy machine.
    const run = runAtTerminal(work(15));
    await untilAgent();
    run.press('d');
    await run.shows('no worker can continue the run');
    const up = await startUp();
    const before = journal().flatMap((event) => (event.type === 'story.ended' ? [event.story] : []));
    run.press('d');
    await run.shows('left to the workers');
    expect(await run.ended).toBe(130);
    expect(types()).not.toContain('run.ended');
    await vi.waitFor(
      () => expect(journal().find(({ type }) => type === 'run.ended')).toMatchObject({ stopReason: 'SUCCESS' }),
      { timeout: 200_000, interval: 500 },
    );
    await up.says('SUCCESS 3 of 3 stories landed');
    // The worker's process prints what happens after it has started.
    for (const story of ['A', 'B', 'C'].filter((id) => !before.includes(id)))
      expect(up.stdout()).toMatch(new RegExp(`  ${story} passed [0-9a-f]{7} `));
  });
});

describe('the frame of halo run', () => {
  it('leaves nothing behind when the terminal is resized, and shows failed attempts', async () => {
    const settings = ['retry.attempts=3', 'retry.policy.retries=2', 'gates=["echo one; sleep 4; test -e right"]'];
    const run = startAtTerminal(['run', 'prd.json', ...options(work(1)), ...settings.flatMap((each) => ['-c', each])], {
      cwd: repository.root,
      env: { HALO_HOME: home.dir, NO_COLOR: '1', ...QUICK },
    });
    await run.shows('gate     one');
    await run.resize(60, 12);
    await run.shows('attempt 1 of 3  GATE_FAILED');
    await run.resize(120, 40);
    await run.shows('attempt 2 of 3  GATE_FAILED');
    await run.resize(100, 30);
    expect(await run.ended).not.toBe(0);
    const [before = '', ...rest] = run.shown().split('\u001b[?1049h');
    const [, after = '', ...more] = rest.join('').split('\u001b[?1049l');
    expect(more).toEqual([]);
    expect(before).not.toContain('Story A');
    expect(after.split('Story A')).toHaveLength(2);
    expect(after).toContain('GATE_FAILED');
  });
});
