import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import Docker from 'dockerode';
import { describe, expect, vi } from 'vitest';
import type { RunState } from '../../../src/core/run/state.ts';
import { planAfterPass } from '../../../src/core/run/plan.ts';
import { updateMirror } from '../../../src/git/mirror/mirror.ts';
import { candidatePath, createScratch, removeScratch } from '../../../src/git/repository/scratch-repo.ts';
import { identifyAttempt } from '../../../src/worker/attempt/attempt-identity.ts';
import { attempted, created, failed, stateOf } from '../../support/journal.ts';
import { findLeftovers } from '../../support/faults/find-leftovers.ts';
import { it as base } from '../../support/fixtures.ts';
import { OK, prdOf, scripted, type TestHalo } from '../../support/halo/halo.ts';
import { HOLD, release, releaseUntil } from '../../support/halo/hold.ts';
import { newRepository } from '../../support/repository/new-repository.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { PATIENCE } from '../../support/patience.ts';

const it = base.override('concurrency', 3);
const docker = new Docker();
const SLOW = { timeout: 300_000 };

/** Names of the sandboxes of a story of a run in which its agent will work. */
async function agentSandboxes({ home }: TestHalo, runId: string, story: string): Promise<string[]> {
  const id = readFileSync(join(home, 'id'), 'utf8').trim();
  const label = [`dev.halo.home=${id}`, `dev.halo.run=${runId}`, 'dev.halo.phase=agent', `dev.halo.story=${story}`];
  const found = await docker.listContainers({ all: true, filters: { label } });
  return found.map(({ Id }) => Id);
}

/** The end of a run whose gate waits. */
async function releasedEnd(halo: TestHalo, runId: string): Promise<RunState> {
  const ends = () => halo.journal(runId).filter(({ type }) => type === 'run.ended');
  await releaseUntil(
    () => [runId],
    () => expect(ends()).toHaveLength(1),
  );
  return halo.untilEnd(runId);
}

const WORK = `echo "$(date +%N)" > "work-$(date +%N)"; ${OK}`;

/** Whether a gate is that of the first story. */
const IN_A = '[ "$(ls work-* | wc -l)" = 1 ]';

// Together, because they wait.
describe.concurrent('the next story of a run', () => {
  it('has its sandbox before the gates of the story before it have ended', SLOW, async ({ halo, repository }) => {
    const runId = await halo.submit(
      repository.root,
      [{ id: 'A' }, { id: 'B', dependsOn: ['A'] }],
      scripted(`ls; if ls work-*; then ${HOLD}; fi; ${WORK}`, [`${IN_A} || exit 0; ${HOLD}`]),
    );
    const { stories } = (await halo.operations.getRun({ runId })).state;
    const ids = await vi.waitFor(async () => {
      const found = await agentSandboxes(halo, runId, stories[1]!.key);
      expect(found).toHaveLength(1);
      return found;
    }, PATIENCE);
    expect((await halo.operations.getRun({ runId })).state.stories[0]).toMatchObject({ progress: 'in_progress' });
    await vi.waitFor(async () => {
      await release(runId, stories[0]!.key);
      expect((await halo.operations.getRun({ runId })).state.stories[1]!.phase).toBe('agent');
    }, PATIENCE);
    expect(await agentSandboxes(halo, runId, stories[1]!.key), 'the same one').toEqual(ids);
    await release(runId);
    const state = await halo.untilEnd(runId);
    expect(state).toMatchObject({ stopReason: 'SUCCESS' });
    expect(state.stories.map(({ epoch }) => epoch)).toEqual([1, 2]);
    // The agent of B saw the work of A: its sandbox was empty until A had landed.
    expect(halo.readFile(runId, `artifacts/${stories[1]!.key}/1/events.jsonl`)).toMatch(/^work-\d+$/m);
    await vi.waitFor(async () => expect(await findLeftovers(halo.home)).toEqual([]), PATIENCE);
  });

  it('is not begun, and what was prepared is removed, if the gates fail', SLOW, async ({ halo, repository }) => {
    const settings = scripted(WORK, [`${HOLD}; false`], ['run.on_failure="stop"']);
    const runId = await halo.submit(repository.root, [{ id: 'A' }, { id: 'B' }], settings);
    const { stories } = (await halo.operations.getRun({ runId })).state;
    await vi.waitFor(async () => expect(await agentSandboxes(halo, runId, stories[1]!.key)).toHaveLength(1), PATIENCE);
    const state = await releasedEnd(halo, runId);
    expect(state.stories.map(({ attempts }) => attempts)).toEqual([1, 0]);
    await vi.waitFor(async () => expect(await findLeftovers(halo.home)).toEqual([]), PATIENCE);
  });

  it('follows a PRD that was changed after it was prepared', SLOW, async ({ halo, repository }) => {
    const settings = scripted(`cat; ${WORK}`, [`${IN_A} || exit 0; ${HOLD}`]);
    const runId = await halo.submit(repository.root, [{ id: 'A' }, { id: 'B', title: 'Old title' }], settings);
    const { stories } = (await halo.operations.getRun({ runId })).state;
    await vi.waitFor(async () => expect(await agentSandboxes(halo, runId, stories[1]!.key)).toHaveLength(1), PATIENCE);
    await halo.operations.resume({ runId, replan: { prd: prdOf([{ id: 'A' }, { id: 'B', title: 'New title' }]) } });
    const state = await releasedEnd(halo, runId);
    expect(state).toMatchObject({ stopReason: 'SUCCESS' });
    expect(halo.journal(runId).filter(({ type }) => type === 'story.disturbed')).toEqual([]);
    const prompt = halo.readFile(runId, `artifacts/${stories[1]!.key}/1/events.jsonl`);
    expect([prompt.includes('Old title'), prompt.includes('New title')]).toEqual([false, true]);
    await vi.waitFor(async () => expect(await findLeftovers(halo.home)).toEqual([]), PATIENCE);
  });
});

describe('an attempt that was prepared', () => {
  it('takes no folder from the attempt that another worker begins with the same epoch', async () => {
    const repository = newRepository();
    const from = join(repository.root, '.git');
    const { dir: mirrorDir } = await updateMirror({ home: tempDir('halo-prepared'), name: 'r-1', from });
    const ref = { runId: '0tbq1aaaaaaaaaaa', story: 'B', storyKey: 'b', attempt: 1, epoch: 2 };
    const [prepared, begun] = [identifyAttempt(ref), identifyAttempt(ref)];
    const unused = await createScratch({ mirrorDir, attemptId: prepared.id });
    const used = await createScratch({ mirrorDir, attemptId: begun.id });
    await removeScratch(unused);
    expect([unused, candidatePath(used)].map((path) => existsSync(path))).toEqual([false, true]);
  });
});

describe('the attempt after one that passes', () => {
  const begun = (...more: Parameters<typeof stateOf>) => planAfterPass(stateOf(...more), 'US-001');

  it('is the first one at the next story', () => {
    expect(begun(created('r'), ...attempted('US-001'))).toMatchObject({ story: { id: 'US-002' }, attempt: 1 });
  });

  it('is unknown if the run is paused, ends, or has tried the story before', () => {
    const paused = { type: 'run.paused', by: 'ada', now: false } as const;
    expect(begun(created('r'), ...attempted('US-001'), paused)).toBeUndefined();
    expect(begun(created('r', 1), ...attempted('US-001'))).toBeUndefined();
    expect(begun(created('r'), ...failed('US-002'), ...attempted('US-001'))).toBeUndefined();
  });
});
