import { describe, expect } from 'vitest';
import { resolveConfig } from '../../../src/config/resolve.ts';
import { NO_USAGE } from '../../../src/core/agent.ts';
import { HaloError } from '../../../src/core/failure/errors.ts';
import type { JournalEntry } from '../../../src/core/journal/events.ts';
import { storyOf } from '../../../src/core/run/state.ts';
import { mirrorPath } from '../../../src/git/mirror/mirror.ts';
import { openBreakerStore } from '../../../src/store/breaker-files.ts';
import { identifyAttempt } from '../../../src/worker/attempt/attempt-identity.ts';
import { openAttemptJournal } from '../../../src/worker/attempt/attempt-journal.ts';
import type { AgentMeasurements, AttemptOutcome } from '../../../src/worker/attempt/attempt-outcome.ts';
import { recordInterruption, recordOutcome } from '../../../src/worker/attempt/record-outcome.ts';
import { readRun } from '../../../src/worker/run/read-run.ts';
import { it } from '../../support/fixtures.ts';
import { attempted, BASE, COMMIT } from '../../support/journal.ts';
import type { TestRepository } from '../../support/repository/repository.ts';
import { openIdleRun } from '../idle-run.ts';

const NOW = Date.UTC(2030, 0, 1);
const STORY = 'US-001';
const ref = { story: STORY, attempt: 1 };
const MEASURED: AgentMeasurements = { usage: { ...NO_USAGE, requests: 2 }, changed: true, output: 100 };
const FAILED: AttemptOutcome = { verdict: 'failed', stopReason: 'GATE_FAILED', summary: 'npm test exited with 1' };
const DONE: AttemptOutcome = { verdict: 'passed', stopReason: 'SUCCESS', summary: 'Nothing to do.' };
const takeover: JournalEntry = { type: 'story.started', ...ref, epoch: 2, base: BASE };

/** An attempt at the first story of a run, after these entries. */
async function open(home: string, repository: TestRepository, settings: string[] = [], signal = NEVER) {
  const run = await openIdleRun(home, repository);
  const { runId, store, keeper } = run;
  const start = (...entries: JournalEntry[]) => run.append(...attempted(STORY), ...entries);
  const attempt = async (story = STORY) => {
    const state = await store.readState(runId);
    const { prd } = await readRun(keeper, runId);
    const { key, epoch = 1, attempts } = storyOf(state, story);
    const identity = identifyAttempt({ runId, story, storyKey: key, attempt: attempts, epoch });
    return {
      ...{ identity, signal, journal: openAttemptJournal(store, identity) },
      config: resolveConfig({ cwd: '/', set: ['agent=codex', ...settings] }).config,
      worker: { store, breakers: openBreakerStore(home), budgetLedger: undefined, now: () => NOW, log: keeper.log },
      resources: { mirrorDir: mirrorPath(home, 'shop-1') },
      inputs: {
        ...{ state, prd, base: BASE, hostGitDir: `${repository.root}/.git`, startedAt: '' },
        story: prd.stories.find(({ id }) => id === story)!,
      },
    };
  };
  const last = async (count: number) => (await store.readJournal(runId)).slice(-count);
  return { ...run, start, attempt, last };
}

const NEVER = new AbortController().signal;

describe('the outcome of an attempt', () => {
  it.for<[string, AttemptOutcome, object[]]>([
    ['that passed without a change', DONE, [{ type: 'story.ended', verdict: 'passed', usage: MEASURED.usage }]],
    [
      'that needs a person',
      { verdict: 'needs_human', stopReason: 'NEEDS_HUMAN', summary: 'Which currency?' },
      [{ type: 'story.ended', verdict: 'needs_human' }],
    ],
    [
      'that failed',
      FAILED,
      [
        { type: 'story.ended', verdict: 'failed', failure: { class: 'gate', sign: { changed: true, output: 100 } } },
        { type: 'retry.scheduled', class: 'gate' },
      ],
    ],
    [
      'that met a conflict',
      { ...FAILED, stopReason: 'CONFLICT', conflicts: ['a.ts'] },
      [
        { type: 'story.ended', conflicts: ['a.ts'] },
        { type: 'retry.scheduled', notBefore: new Date(NOW).toISOString() },
      ],
    ],
  ])('%s is recorded once', async ([, outcome, entries], { home, repository }) => {
    const { start, attempt, last } = await open(home, repository);
    await start();
    await recordOutcome(await attempt(), outcome, MEASURED);
    expect(await last(entries.length)).toMatchObject(entries);
    expect((await last(entries.length + 1))[0]).toMatchObject({ type: 'gate.started' });
  });

  it('is not recorded again after landing', async ({ home, repository }) => {
    const { start, attempt, last } = await open(home, repository);
    await start();
    await recordOutcome(await attempt(), { ...DONE, commit: COMMIT }, MEASURED);
    expect(await last(1)).toMatchObject([{ type: 'gate.started' }]);
  });

  it.for<[string, boolean]>([
    ['only tests', true],
    ['more than tests', false],
  ])('notes that the agent changed %s', async ([, testOnly], { home, repository }) => {
    const { start, attempt, last } = await open(home, repository);
    await start();
    const files = [{ path: 'test/a.test.ts' }, { path: testOnly ? 'test/b.test.ts' : 'src/b.ts' }];
    await recordOutcome(await attempt(), FAILED, { ...MEASURED, files });
    expect(await last(2)).toMatchObject([{ failure: { sign: { testOnly } } }, { type: 'retry.scheduled' }]);
  });

  it('keeps the end of the log for the next attempt', async ({ home, repository }) => {
    const { start, attempt, store } = await open(home, repository);
    await start();
    const failed = await attempt();
    await recordOutcome(failed, { ...FAILED, tail: 'expected 1, got 2' }, MEASURED);
    expect(await store.readArtifact(failed.identity.location, 'failure.log')).toBe('expected 1, got 2');
  });

  it.for<[string, JournalEntry]>([
    ['after another worker has taken over', takeover],
    ['after a person has cancelled the story', { type: 'story.cancelled', ...ref, by: 'tess' }],
    ['after its run has ended', { type: 'run.ended', stopReason: 'USER_ABORT', detail: '' }],
  ])('is not recorded %s', async ([, entry], { home, repository }) => {
    const { start, attempt, append, last } = await open(home, repository);
    await start();
    const late = await attempt();
    await append(entry);
    await expect(recordOutcome(late, FAILED, MEASURED)).rejects.toMatchObject({ code: 'RUN_ABORTED' });
    expect(await last(1)).toMatchObject([{ type: entry.type }]);
  });
});

describe('a pause of the model', () => {
  const pauseOf = (ms: number): AttemptOutcome => ({
    ...{ verdict: 'failed', stopReason: 'ENGINE_ERROR', summary: 'The model has a pause.' },
    pause: { model: 'gpt-5', by: 'provider', until: new Date(NOW + ms).toISOString() },
  });

  it('postpones the attempt, and says nothing about the repository or the provider', async ({ home, repository }) => {
    const { start, attempt, last, store, runId } = await open(home, repository);
    await start();
    const postponed = await attempt();
    await recordOutcome(postponed, pauseOf(60_000), MEASURED);
    expect(await last(1)).toMatchObject([{ type: 'story.postponed', model: 'gpt-5' }]);
    expect((await store.readState(runId)).stories[0]).toMatchObject({ attempts: 1, progress: 'in_progress' });
    expect((await postponed.worker.breakers.read('repository:shop-1')).signs).toEqual([]);
  });

  it('begins the attempt again after a session that the agent could not continue, and says why', async ({
    home,
    repository,
  }) => {
    const { start, attempt, last, store, runId } = await open(home, repository);
    await start();
    const summary = 'no rollout found for thread id 7';
    const lost = { ...FAILED, stopReason: 'ENGINE_ERROR', summary, lostSession: true } as const;
    await recordOutcome(await attempt(), lost, MEASURED);
    const [event] = await last(1);
    expect(event).toMatchObject({ type: 'story.postponed', by: 'session' });
    expect(event).toHaveProperty('why', expect.stringContaining(lost.summary));
    expect((await store.readState(runId)).stories[0]).toMatchObject({ attempts: 1, progress: 'in_progress' });
  });

  it('fails the attempt if it is longer than retry.max_wait', async ({ home, repository }) => {
    const { start, attempt, last } = await open(home, repository, ['retry.max_wait="1h"']);
    await start();
    await recordOutcome(await attempt(), pauseOf(3_600_001), MEASURED);
    const events = await last(2);
    const end = events.find(({ type }) => type === 'story.ended');
    expect(end).toMatchObject({
      summary: 'The model has a pause. An attempt waits at most 1h (retry.max_wait).',
      failure: { cause: 'pause-too-long' },
    });
  });
});

describe('the breaker of a repository', () => {
  it('counts a failure, and forgets it after a success', async ({ home, repository }) => {
    const { start, attempt } = await open(home, repository);
    await start();
    const first = await attempt();
    await recordOutcome(first, FAILED, MEASURED);
    expect((await first.worker.breakers.read('repository:shop-1')).signs).toHaveLength(1);
    await start(takeover);
    await recordOutcome(await attempt(), DONE, MEASURED);
    expect((await first.worker.breakers.read('repository:shop-1')).signs).toEqual([]);
  });
});

describe('an approved commit', () => {
  it.for<[string, AttemptOutcome, boolean]>([
    ['is dropped when its gates fail', FAILED, false],
    [
      'is kept when it waits for another approval',
      { ...FAILED, verdict: 'needs_human', held: { commit: COMMIT, paths: [] } },
      true,
    ],
  ])('%s', async ([, outcome, isKept], { home, repository }) => {
    const run = await open(home, repository);
    const { append, attempt, heldCommits } = run;
    const waiting = await run.hold('US-002');
    await append({ type: 'approval.given', story: 'US-002', attempt: 1, commit: waiting, by: 'tess' });
    await append({ type: 'story.started', story: 'US-002', attempt: 1, epoch: 2, base: BASE });
    const approved = await attempt('US-002');
    await recordOutcome(approved, outcome, MEASURED);
    expect(heldCommits()).toEqual(isKept ? [waiting] : []);
    expect((await approved.worker.breakers.read('repository:shop-1')).signs).toEqual([]);
  });
});

describe('an interrupted attempt', () => {
  it.for<[string, unknown, string]>([
    ['that a person stopped is recorded as stopped', new HaloError('RUN_ABORTED', 'Cancelled.'), 'story.stopped'],
    ['whose worker shuts down is handed back', new Error('shutdown'), 'story.returned'],
  ])('%s', async ([, reason, type], { home, repository }) => {
    const { start, attempt, last } = await open(home, repository, [], AbortSignal.abort(reason));
    await start();
    await recordInterruption(await attempt(), MEASURED);
    expect(await last(1)).toMatchObject([{ type }]);
  });

  it('is not handed back after another worker has taken over', async ({ home, repository }) => {
    const { start, attempt, append, last } = await open(home, repository, [], AbortSignal.abort(new Error('shutdown')));
    await start();
    const late = await attempt();
    await append(takeover);
    await recordInterruption(late, MEASURED);
    expect(await last(1)).toMatchObject([{ type: 'story.started', epoch: 2 }]);
  });
});
