import { execFileSync } from 'node:child_process';
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { openLocal } from '../../../src/api/local.ts';
import type { Operations } from '../../../src/api/operations.ts';
import type { RunState, StoryState } from '../../../src/core/run/state.ts';
import { openHalo, OK, scripted, type TestHalo } from '../../support/halo/halo.ts';
import { HOLD, release, releaseUntil } from '../../support/halo/hold.ts';
import type { TestRepository } from '../../support/repository/repository.ts';
import { newRepository } from '../../support/repository/new-repository.ts';
import { PATIENCE } from '../../support/patience.ts';

let halo: TestHalo;
let repository: TestRepository;
/** Another hand than that of the worker: they meet in the journal alone. */
let person: Operations;

beforeAll(async () => {
  halo = await openHalo({ concurrency: 3 });
  person = openLocal({ host: halo.host });
});
afterAll(async () => {
  await person.close();
  await halo.close();
});
beforeEach(() => (repository = newRepository()));

const QUICK = `echo x >> x; ${OK}`;
/** The first story of a branch waits. */
const HELD = `test -e x || { ${HOLD}; }; ${QUICK}`;

async function untilPhase(runId: string, phase: string): Promise<void> {
  for await (const { event } of await person.followEvents({ runId, after: 0, follow: true }))
    if (event.type === 'phase.started' && event.phase === phase) return;
}

/** The end of a run whose stories wait. */
async function endOf(runId: string): Promise<RunState> {
  await releaseUntil(
    () => [runId],
    async () => expect((await stateOf(runId)).status).toBe('ended'),
  );
  return stateOf(runId);
}

async function stateOf(runId: string): Promise<RunState> {
  return (await person.getRun({ runId })).state;
}

async function until(runId: string, isSo: (state: RunState) => boolean): Promise<RunState> {
  return vi.waitFor(async () => {
    const state = await stateOf(runId);
    expect(isSo(state)).toBe(true);
    return state;
  }, PATIENCE);
}

const containersOf = (runId: string) =>
  execFileSync('docker', ['ps', '-aq', '--filter', `label=dev.halo.run=${runId}`], { encoding: 'utf8' }).trim();

const commitsOf = (runId: string) => {
  const branch = `refs/heads/halo/${runId}`;
  if (repository.git('for-each-ref', branch) === '') return 0;
  return Number(repository.git('rev-list', '--count', `main..${branch}`));
};

const progress = ({ stories }: RunState) => stories.map((story: StoryState) => story.progress);

describe('halo cancel', () => {
  it('ends a run while its agent runs, and removes its containers', async () => {
    const runId = await halo.submit(repository.root, [{ id: 'A' }, { id: 'B' }], scripted(HELD));
    await untilPhase(runId, 'agent');
    expect(await person.cancel({ runId })).toMatchObject({ changed: true, stories: ['A'] });
    expect(await stateOf(runId)).toMatchObject({ status: 'ended', stopReason: 'USER_ABORT' });
    await vi.waitFor(() => expect(containersOf(runId)).toBe(''), PATIENCE);
    expect(commitsOf(runId)).toBe(0);
    expect(progress(await stateOf(runId))).toEqual(['cancelled', 'pending']);
    expect(halo.readFile(runId, 'debug_bundle/summary.md')).toContain('cancelled by');
    expect(await person.cancel({ runId })).toMatchObject({ changed: false });
  });

  it('removes one story, and the run continues without it', async () => {
    const runId = await halo.submit(repository.root, [{ id: 'A' }, { id: 'B' }], scripted(HELD));
    await untilPhase(runId, 'agent');
    await person.cancel({ runId, story: 'B' });
    expect(await person.cancel({ runId, story: 'B' })).toMatchObject({ changed: false });
    expect((await person.cancel({ runId, story: 'A' })).says).toContain('the run has ended');
    expect(await halo.untilEnd(runId)).toMatchObject({ stopReason: 'USER_ABORT' });
    await expect(person.cancel({ runId, story: 'C' })).rejects.toMatchObject({ code: 'STORY_NOT_FOUND' });
  });

  it('reports that there is nothing to cancel', async () => {
    const { runId } = await halo.run(repository.root, [{ id: 'A' }], scripted(QUICK));
    await expect(person.cancel({ runId })).rejects.toMatchObject({ code: 'CONTROL_REFUSED' });
    await expect(person.cancel({ runId, story: 'A' })).rejects.toMatchObject({ code: 'CONTROL_REFUSED' });
    await expect(person.pause({ runId, now: true })).rejects.toMatchObject({ code: 'CONTROL_REFUSED' });
    await expect(person.resume({ runId })).rejects.toMatchObject({ code: 'CONTROL_REFUSED' });
    await expect(person.retry({ runId })).rejects.toMatchObject({ code: 'CONTROL_REFUSED' });
    await expect(person.retry({ runId, story: 'A' })).rejects.toMatchObject({ code: 'CONTROL_REFUSED' });
    expect(await stateOf(runId)).toMatchObject({ status: 'ended', stopReason: 'SUCCESS' });
  });
});

describe('halo pause', () => {
  it('lets the running story end, and starts the next one only after resume', async () => {
    const runId = await halo.submit(repository.root, [{ id: 'A' }, { id: 'B' }], scripted(HELD));
    await untilPhase(runId, 'agent');
    const says = expect.stringContaining('still running: A.') as string;
    expect(await person.pause({ runId, now: false })).toMatchObject({ changed: true, stories: ['A'], says });
    expect(await person.pause({ runId, now: false })).toMatchObject({ changed: false });
    await release(runId);
    const paused = await until(runId, ({ stories }) => stories[0]?.progress === 'passed');
    expect(paused).toMatchObject({ status: 'running', paused: { now: false } });
    expect(await person.resume({ runId })).toMatchObject({ changed: true });
    const ended = await halo.untilEnd(runId);
    expect(ended).toMatchObject({ stopReason: 'SUCCESS', stories: [{ attempts: 1 }, { attempts: 1 }] });
    expect(commitsOf(runId)).toBe(2);
  });

  it('interrupts the story with --now without using up an attempt, and resume starts it again', async () => {
    const runId = await halo.submit(repository.root, [{ id: 'A' }], scripted(HELD));
    await untilPhase(runId, 'agent');
    await person.pause({ runId, now: true });
    await vi.waitFor(() => expect(containersOf(runId)).toBe(''), PATIENCE);
    expect(await stateOf(runId)).toMatchObject({ status: 'running', stories: [{ progress: 'in_progress' }] });
    await person.resume({ runId });
    const ended = await endOf(runId);
    expect(ended).toMatchObject({ stopReason: 'SUCCESS', epoch: 2, stories: [{ attempts: 1 }] });
  });

  it('can be undone while the story is being interrupted', async () => {
    const runId = await halo.submit(repository.root, [{ id: 'A' }], scripted(HELD));
    await untilPhase(runId, 'agent');
    await person.pause({ runId, now: true });
    await person.resume({ runId });
    expect(await endOf(runId)).toMatchObject({ stopReason: 'SUCCESS', stories: [{ attempts: 1 }] });
    expect(commitsOf(runId)).toBe(1);
  });
});

describe('halo retry', () => {
  it('repeats a failed story with fresh attempts, but nothing that landed', async () => {
    const gates = ['test ! -e bad'];
    const failing = `case $(cat) in *"Story B"*) touch bad;; *) echo x > a;; esac; ${OK}`;
    const stories = [{ id: 'A' }, { id: 'B' }, { id: 'C' }];
    const ended = await halo.run(repository.root, stories, scripted(failing, gates));
    expect(progress(ended)).toEqual(['passed', 'failed', 'pending']);
    const { runId } = ended;
    expect(await person.retry({ runId })).toMatchObject({ changed: true, stories: ['B'] });
    const again = await halo.untilEnd(runId);
    expect(again.stories.map(({ attempts }) => attempts)).toEqual([1, 2, 0]);
    expect(commitsOf(runId)).toBe(1);
    await person.retry({ runId, story: 'B' });
    await halo.untilEnd(runId);
    expect(await stateOf(runId)).toMatchObject({ stories: [{}, { attempts: 3 }, {}] });
  });

  it('repeats one of several failed stories, and refuses one that could not start', async () => {
    const script = `case $(cat) in *"Story A"*) exit 1;; *) exit 2;; esac`;
    const stories = [{ id: 'A' }, { id: 'B' }, { id: 'C', dependsOn: ['A', 'B'] }];
    const ended = await halo.run(repository.root, stories, scripted(script, ['true'], ['run.on_failure=continue']));
    const { runId } = ended;
    expect(progress(ended)).toEqual(['failed', 'failed', 'pending']);
    await person.retry({ runId, story: 'B' });
    expect((await halo.untilEnd(runId)).stories.map(({ attempts }) => attempts)).toEqual([1, 2, 0]);
    const hint = expect.stringContaining(`halo retry ${runId}`) as string;
    await expect(person.retry({ runId, story: 'C' })).rejects.toMatchObject({ code: 'CONTROL_REFUSED', hint });
    await expect(person.resume({ runId })).rejects.toMatchObject({ code: 'CONTROL_REFUSED', hint });
  });

  it('continues a cancelled run', async () => {
    const runId = await halo.submit(repository.root, [{ id: 'A' }], scripted(HELD));
    await untilPhase(runId, 'agent');
    await person.cancel({ runId });
    expect(await person.retry({ runId })).toMatchObject({ changed: true, stories: ['A'] });
    expect(await endOf(runId)).toMatchObject({ stopReason: 'SUCCESS', stories: [{ attempts: 2 }] });
    expect(commitsOf(runId)).toBe(1);
  });
});
