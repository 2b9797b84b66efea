import { execFileSync } from 'node:child_process';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import type { JournalEvent } from '../../../src/core/journal/events.ts';
import { startAtTerminal } from '../../support/terminal/at-terminal.ts';
import { OK, prdOf, scripted } from '../../support/halo/halo.ts';
import { openHome, type HaloHome, type HaloProcess } from '../../support/halo/halo-process.ts';
import { HOLD, release } from '../../support/halo/hold.ts';
import { readJournal } from '../../support/halo/read-journal.ts';
import type { TestRepository } from '../../support/repository/repository.ts';
import { newRepository } from '../../support/repository/new-repository.ts';
import { shellQuote } from '../../../src/lib/text.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { PATIENCE } from '../../support/patience.ts';
import { callHalo } from '../../support/terminal/call-halo.ts';

/** What a process that left holds is taken over soon. */
const QUICK = { HALO_TAKEOVER: '3s' };
const CTRL_C = '\u0003';
/** Keys without a meaning, too many to appear in a random run id. */
const OTHER_KEYS = 'zqzqzqzqzqzq';

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
/** The first story of a branch waits. */
const HELD = `test -e x || { ${HOLD}; }; ${WORK}`;

/** `halo run prd.json` in a terminal of its own. */
function runAtTerminal(script: string) {
  return startAtTerminal(['run', 'prd.json', ...options(script)], {
    cwd: repository.root,
    env: { HALO_HOME: home.dir, ...QUICK },
  });
}

const inHome = () => ({ cwd: repository.root, env: { HALO_HOME: home.dir } });
const newest = () => home.runIds().at(-1) ?? '';
const journal = (): JournalEvent[] => readJournal(home.dir, newest());

const types = () => journal().map(({ type }) => type);
const agentStarts = () => journal().filter((event) => event.type === 'phase.started' && event.phase === 'agent');
const untilAgent = (count = 1) => vi.waitFor(() => expect(agentStarts()).toHaveLength(count), PATIENCE);

let up: HaloProcess | undefined;
async function ensureUp(): Promise<HaloProcess> {
  up ??= home.start(['up', '--workers', '1', '--listen', '127.0.0.1:0'], { cwd: home.dir, env: QUICK });
  await up.says('token');
  return up;
}

describe('Ctrl-C in halo run, while no worker serves the same home', () => {
  it('pressed before the run has begun prevents its start', async () => {
    const env = { HALO_FAILPOINT: 'job.taken@1:delay=1000' };
    const run = home.start(['run', 'prd.json', ...options(WORK)], { cwd: repository.root, env });
    await run.says('failpoint job.taken');
    run.process.kill('SIGINT');
    expect((await run.ended).code).toBe(130);
    expect(journal().at(-1)).toMatchObject({ type: 'run.ended', stopReason: 'USER_ABORT' });
    expect(types()).not.toContain('story.ended');
  });
});

describe('Ctrl-C before a run exists', () => {
  /** Starts a command that reads its PRD from stdin, and waits until it reads. */
  async function readingItsPrd(command: string) {
    const pipe = join(tempDir(), 'prd');
    execFileSync('mkfifo', [pipe]);
    const started = home.start([command, '-'], {
      cwd: repository.root,
      via: ['sh', '-c', `exec "$@" < ${shellQuote(pipe)}`, 'sh'],
    });
    // More than a pipe holds.
    const writer = await open(pipe, 'w');
    await writer.write(' '.repeat(1024 * 1024));
    onTestFinished(() => writer.close());
    return started;
  }

  it.each([
    ['run', 'stopped before the run was created'],
    ['submit', 'stopped; `halo ls` lists the runs that were submitted'],
  ])('ends halo %s by the signal, says that there is none, and leaves none', async (command, says) => {
    const before = home.runIds();
    const started = await readingItsPrd(command);
    started.process.kill('SIGINT');
    expect(await started.ended).toMatchObject({ code: null, stdout: '', stderr: `${says}\n` });
    expect(home.runIds()).toEqual(before);
  });

  it('ends halo submit while it writes the run, which exists or not', async () => {
    const env = { HALO_FAILPOINT: 'submit.ready:hang' };
    const submit = home.start(['submit', 'prd.json', ...options(WORK)], { cwd: repository.root, env });
    await submit.says('failpoint submit.ready');
    submit.process.kill('SIGINT');
    expect((await submit.ended).stderr).toContain('stopped; `halo ls` lists the runs that were submitted');
    const { stdout } = await callHalo(['ls', '--json', '--status', 'queued'], inHome());
    expect(JSON.parse(stdout)).toEqual([]);
  });
});

describe('Ctrl-C in halo run, while halo up serves the same home', () => {
  it('d leaves the run to a worker; before there is one, it reports that', async () => {
    const run = runAtTerminal(HELD);
    await untilAgent();
    run.press('d');
    await run.shows('no worker can continue the run');
    const serving = await ensureUp();
    run.press('d');
    await run.shows('left to the workers');
    expect(await run.ended).toBe(130);
    expect(types()).not.toContain('run.ended');
    await untilAgent(2);
    await release(newest());
    await serving.says('SUCCESS 2 of 2 stories passed');
    for (const story of ['A', 'B']) expect(serving.stdout()).toMatch(new RegExp(`  ${story} passed [0-9a-f]{7} `));
  });

  it('stops after the running story; the next run has that story and all others', async () => {
    await ensureUp();
    const run = runAtTerminal(HELD);
    await run.shows('Ctrl-C stops after this story');
    await untilAgent();
    run.press(`${OTHER_KEYS}\r`);
    run.press(CTRL_C);
    await run.shows('stopping after A: no other story starts.');
    await release(newest());
    expect(await run.ended).toBe(130);
    expect(run.shown()).not.toContain(OTHER_KEYS);
    expect(types().filter((type) => type === 'story.started')).toHaveLength(1);
    expect(journal().find((event) => event.type === 'story.ended')).toMatchObject({ verdict: 'passed' });
    expect(journal().at(-1)).toMatchObject({ type: 'run.ended', stopReason: 'USER_ABORT' });
    const second = await callHalo(['run', 'prd.json', ...options(WORK)], inHome());
    expect(second).toMatchObject({ code: 0 });
    expect(repository.git('log', '--format=%s', `main..halo/${newest()}`).split('\n')).toEqual([
      'feat: [B] - Story B',
      'feat: [A] - Story A',
    ]);
  });

  it('pressed repeatedly cancels the run before halo exits, so that no worker continues it', async () => {
    await ensureUp();
    const run = runAtTerminal(HELD);
    await run.shows('Ctrl-C stops after this story');
    await untilAgent();
    run.press(CTRL_C.repeat(4));
    expect(await run.ended).toBe(130);
    expect(types().filter((type) => type === 'story.started')).toHaveLength(1);
    expect(journal().find(({ type }) => type === 'run.ended')).toMatchObject({ stopReason: 'USER_ABORT' });
  });
});
