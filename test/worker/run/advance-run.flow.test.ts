import { randomUUID } from 'node:crypto';
import { describe, expect, onTestFinished } from 'vitest';
import type { JournalEntry } from '../../../src/core/journal/events.ts';
import { PreparedAttempts } from '../../../src/worker/attempt/prepared-attempts.ts';
import { advanceRun } from '../../../src/worker/run/advance-run.ts';
import { openBudgetLedger } from '../../../src/queue/budget/budget-ledger.ts';
import { chooseModel } from '../../../src/worker/network/model-pauses.ts';
import { guardAttempt, type AttemptWork } from '../../../src/worker/run/infrastructure-failure.ts';
import { isBlockedByBreaker } from '../../../src/worker/run/shared-breakers.ts';
import { planStory } from '../../../src/core/run/plan.ts';
import { resolveConfig } from '../../../src/config/resolve.ts';
import { HaloError } from '../../../src/core/failure/errors.ts';
import { it } from '../../support/fixtures.ts';
import { BASE, passed } from '../../support/journal.ts';
import type { TestRepository } from '../../support/repository/repository.ts';
import { openIdleRun, type IdleRun } from '../idle-run.ts';
import { openIdleWorker } from '../idle-worker.ts';

const { config } = resolveConfig({ cwd: '/', set: ['gates=[]'] });
const FIRST = 'US-001';
const SECOND = 'US-002';
const NEVER = new AbortController().signal;
const pause: JournalEntry = { type: 'run.paused', by: 'tess', now: false };

const ORIGIN = {
  ...{ haloVersion: '0.1.0', agent: { name: 'codex' }, args: [] },
  config: { gates: [], prd: { writeBack: false } },
};

/** A run after these entries, and a worker whose engine does not answer. */
async function open(home: string, repository: TestRepository, ...entries: JournalEntry[]) {
  const run = await openIdleRun(home, repository, { origin: ORIGIN });
  if (entries.length > 0) await run.append(...entries);
  const clock = { ms: Date.now() };
  const worker = openIdleWorker(home, { now: () => clock.ms });
  const { length } = await run.store.readJournal(run.runId);
  const advance = (ordinal = 0, attempt = 1) =>
    advanceRun({ worker, ahead: new PreparedAttempts(worker) }, { runId: run.runId, ordinal, attempt }, NEVER);
  const added = async () => (await run.store.readJournal(run.runId)).slice(length);
  return { ...run, worker, clock, advance, added };
}

describe('a job', () => {
  it.for<[string, JournalEntry[]]>([
    ['of a run that has ended', [{ type: 'run.ended', stopReason: 'USER_ABORT', detail: '' }]],
    ['of a run that is paused', [pause]],
  ])('%s does nothing', async ([, entries], { home, repository }) => {
    const { advance, added } = await open(home, repository, ...entries);
    expect(await advance()).toEqual([]);
    expect(await added()).toEqual([]);
  });

  it.for<[string, number, number]>([
    ['of an attempt that has ended', 0, 1],
    ['of an attempt that is not planned', 1, 2],
    ['of no story', 2, 1],
    ['of a story that the run does not have', 9, 1],
  ])('%s queues the attempt that is planned instead', async ([, ordinal, attempt], { home, repository }) => {
    const { advance, added, runId } = await open(home, repository, ...passed(FIRST));
    expect(await advance(ordinal, attempt)).toEqual([{ runId, ordinal: 1, attempt: 1, delayMs: 0 }]);
    expect(await added()).toEqual([]);
  });

  it.for<[string, JournalEntry[]]>([
    ['in which nothing is left', []],
    ['that is paused after its last story', [pause]],
  ])('ends a run %s', async ([, entries], { home, repository }) => {
    const { advance, added } = await open(home, repository, ...passed(FIRST), ...passed(SECOND), ...entries);
    expect(await advance(2, 1)).toEqual([]);
    expect(await added()).toMatchObject([{ type: 'run.ended', stopReason: 'SUCCESS' }]);
  });

  it('is refused if the run has lost its settings, because no gate would run', async ({ home, repository }) => {
    const { advance, added, store, runId } = await open(home, repository);
    await store.amend(runId, { config: {} });
    await expect(advance()).rejects.toMatchObject({ code: 'RUN_UNREADABLE' });
    expect(await added()).toEqual([]);
  });

  it('is repeated later while no engine answers, until no retry is left', async ({ home, repository }) => {
    const { advance, added, clock, store, runId } = await open(home, repository, ...passed(FIRST));
    const { retries } = config.retry.infrastructure;
    for (let nth = 1; nth <= retries; nth++) {
      const [job, ...others] = await advance(1);
      expect(others).toEqual([]);
      expect(job).toMatchObject({ runId, ordinal: 1, attempt: 1 });
      expect(job!.delayMs).toBeGreaterThan(0);
      clock.ms += job!.delayMs!;
    }
    expect(await advance(1)).toEqual([]);
    expect((await added()).map(({ type }) => type).slice(-2)).toEqual(['story.disturbed', 'run.ended']);
    expect(await store.readState(runId)).toMatchObject({
      status: 'ended',
      stories: [{ attempts: 1 }, { attempts: 0 }],
    });
  });

  it('does nothing before its time, whatever the state of the engine', async ({ home, repository }) => {
    const { advance, added } = await open(home, repository);
    const [job] = await advance();
    const events = await added();
    expect(job).toMatchObject((await advance())[0]!);
    expect(await added()).toEqual(events);
  });
});

describe('a job whose run has changed since it was read', () => {
  const changes: [string, (run: IdleRun) => Promise<void>][] = [
    ['has ended', (run) => run.append({ type: 'run.ended', stopReason: 'USER_ABORT', detail: '' })],
    ['is paused', (run) => run.append(pause)],
    ['no longer has the story', (run) => run.append({ type: 'story.cancelled', story: FIRST, attempt: 0, by: 'tess' })],
    [
      'has the story started by another worker',
      (run) => run.append({ type: 'story.started', story: FIRST, attempt: 1, epoch: 1, base: BASE }),
    ],
  ];

  it.for(changes)('waits for no breaker: %s', async ([, change], { home, repository }) => {
    const run = await open(home, repository);
    const { worker, store, runId } = run;
    const state = await store.readState(runId);
    await worker.breakers.update(`repository:${state.repo.mirror}`, () => ({
      breaker: {
        status: 'open',
        signs: [],
        reason: 'enough',
        openedAt: Date.now() + 60_000,
        until: Date.now() + 120_000,
      },
      result: undefined,
    }));
    await change(run);
    const planned = planStory(state, 0)!;
    expect(await isBlockedByBreaker(worker, { state, planned, config })).toBe(true);
    expect((await run.added()).map(({ type }) => type)).not.toContain('breaker.held');
  });

  it.for(changes)('waits for no model: %s', async ([, change], { home, repository, link }) => {
    const ledger = await openBudgetLedger({ ...link, prefix: randomUUID() });
    onTestFinished(() => ledger.close());
    const run = await open(home, repository);
    const state = await run.store.readState(run.runId);
    const now = Date.now() + 60_000;
    const block = { model: 'api.openai.com/gpt', key: 'env:OPENAI_API_KEY', ms: 600_000, at: now };
    await ledger.pauseKey({ ...block, refused: false });
    await change(run);
    const { model } = config;
    const paused = {
      ...config,
      model: { ...model, api: 'openai' as const, baseUrl: 'https://api.openai.com/v1', name: 'gpt' },
    };
    const worker = { ...run.worker, budgetLedger: ledger };
    expect(await chooseModel(worker, { state, planned: planStory(state, 0)!, config: paused })).toBeUndefined();
    expect((await run.added()).map(({ type }) => type)).not.toContain('story.postponed');
  });

  it('has the first model without a long pause, and the configured one again when its pause has ended', async ({
    home,
    repository,
    link,
  }) => {
    const prefix = randomUUID();
    const ledger = await openBudgetLedger({ ...link, prefix });
    onTestFinished(() => ledger.close());
    const run = await open(home, repository);
    const state = await run.store.readState(run.runId);
    const at = Date.now() + 60_000;
    const settings = [
      'gates=[]',
      'agent=codex',
      'model.name=gpt',
      'model.fallback=["mini", "nano"]',
      'limits.idle="1s"',
    ];
    const asked = resolveConfig({ cwd: '/', set: settings }).config;
    for (const name of ['gpt', 'mini']) {
      const block = { model: `api.openai.com/${name}`, key: 'env:OPENAI_API_KEY', ms: 600_000, at };
      await ledger.pauseKey({ ...block, refused: false });
    }
    const worker = { ...run.worker, budgetLedger: ledger };
    const choose = () => chooseModel(worker, { state, planned: planStory(state, 0)!, config: asked });
    expect(await choose()).toMatchObject({
      config: { model: { name: 'nano', fallback: ['gpt', 'mini'] } },
      fallback: { model: 'nano', why: expect.stringContaining('"gpt"') as string },
    });
    expect(await link.client.del(`${prefix}:allowance:cool:api.openai.com/gpt#env:OPENAI_API_KEY`)).toBe(1);
    expect(await choose()).toEqual({ config: asked });
  });

  it('hazard 79: begins again with the agent that took over, after the death of its worker', async ({
    home,
    repository,
  }) => {
    const asked = resolveConfig({ cwd: '/', set: ['gates=[]', 'agent=codex', 'fallback=["claude", "gemini"]'] }).config;
    const ref = { story: FIRST, attempt: 1 };
    const start = { type: 'story.started', ...ref, base: BASE, worker: 'dead' } as const;
    const leave = (left: string, why: string): JournalEntry => ({
      ...{ type: 'story.postponed', ...ref, model: 'm', by: 'provider', why, notBefore: new Date(0).toISOString() },
      left,
    });
    const run = await open(home, repository, { type: 'run.started' }, { ...start, epoch: 1 });
    const chosen = async () => {
      const state = await run.store.readState(run.runId);
      expect(state.stories[0]?.attempts).toBe(1);
      const { config: used, fallback } = (await chooseModel(run.worker, {
        ...{ state, planned: planStory(state, 0)!, config: asked },
      }))!;
      return [used.agent, fallback?.agent, fallback?.why];
    };
    // Killed before the journal has that the provider failed, before the other agent begins, and while it works.
    expect(await chosen()).toEqual(['codex', undefined, undefined]);
    await run.append(leave('codex', 'It is down.'));
    expect(await chosen()).toEqual(['claude', 'claude', 'It is down.']);
    await run.append({ ...start, epoch: 2 });
    expect(await chosen()).toEqual(['claude', 'claude', 'It is down.']);
    await run.append(leave('claude', 'It refuses the key.'));
    expect(await chosen()).toEqual(['gemini', 'gemini', 'It refuses the key.']);
  });

  it('has the next agent of fallback while the breaker of the provider is open', async ({ home, repository }) => {
    const run = await open(home, repository);
    const state = await run.store.readState(run.runId);
    const asked = resolveConfig({ cwd: '/', set: ['gates=[]', 'agent=codex', 'fallback=["claude"]'] }).config;
    const choose = () => chooseModel(run.worker, { state, planned: planStory(state, 0)!, config: asked });
    const openFor = (host: string) =>
      run.worker.breakers.update(`provider:${host}`, (before) => ({
        breaker: {
          ...before,
          status: 'open',
          reason: 'it is down',
          openedAt: run.clock.ms + 1_000,
          until: run.clock.ms + 60_000,
        },
        result: undefined,
      }));
    await openFor('api.openai.com');
    expect(await choose()).toMatchObject({
      config: { agent: 'claude' },
      fallback: { agent: 'claude', why: 'The breaker of the provider is open: it is down.' },
    });
    await openFor('api.anthropic.com');
    expect(await choose()).toEqual({ config: asked });
  });

  it('waits until the end of a pause, also if Redis answers late', async ({ home, repository, link }) => {
    const ledger = await openBudgetLedger({ ...link, prefix: randomUUID() });
    onTestFinished(() => ledger.close());
    const run = await open(home, repository);
    const state = await run.store.readState(run.runId);
    const asked = resolveConfig({ cwd: '/', set: ['gates=[]', 'agent=codex', 'model.name=gpt'] }).config;
    const block = { model: 'api.openai.com/gpt', key: 'env:OPENAI_API_KEY', ms: 3_600_000, refused: false };
    await ledger.pauseKey({ ...block, at: run.clock.ms });
    const findPause: typeof ledger.findPause = async (query) => {
      const found = await ledger.findPause(query);
      run.clock.ms += 60_000;
      return found;
    };
    const worker = {
      ...run.worker,
      budgetLedger: Object.assign(Object.create(ledger) as typeof ledger, { findPause }),
    };
    expect(await chooseModel(worker, { state, planned: planStory(state, 0)!, config: asked })).toBeUndefined();
    const [wait] = await run.added();
    const until = wait?.type === 'story.postponed' ? Date.parse(wait.notBefore) : 0;
    expect(until).toBeGreaterThan(run.clock.ms + 3_600_000 - 30_000);
  });

  it.for(changes.filter(([what]) => what !== 'is paused'))(
    'records no failure: %s',
    async ([, change], { home, repository }) => {
      const run = await open(home, repository);
      expect(await fail(run, () => change(run))).toBeUndefined();
      expect((await run.added()).map(({ type }) => type)).not.toContain('story.disturbed');
    },
  );

  it('records no failure after another worker has taken over the attempt', async ({ home, repository }) => {
    const run = await open(home, repository);
    const start = (epoch: number) => run.append({ type: 'story.started', story: FIRST, attempt: 1, epoch, base: BASE });
    const fatal = await fail(run, async (started) => {
      await start(1);
      started(1);
      await start(2);
    });
    expect(fatal).toBeUndefined();
    expect((await run.added()).map(({ type }) => type)).toEqual(['story.started', 'story.started']);
  });

  it('records a failure of the attempt that it has started', async ({ home, repository }) => {
    const run = await open(home, repository);
    await fail(run, async (started) => {
      await run.append({ type: 'story.started', story: FIRST, attempt: 1, epoch: 1, base: BASE });
      started(1);
    });
    expect((await run.added()).map(({ type }) => type)).toEqual([
      'story.started',
      'story.disturbed',
      'retry.scheduled',
    ]);
  });
});

/** An attempt at the first story in which the engine fails after `work`. */
async function fail({ store, runId, worker }: Awaited<ReturnType<typeof open>>, work: AttemptWork) {
  const state = await store.readState(runId);
  const attemptRef = { story: FIRST, attempt: 1 };
  const guarded = { runId, repo: state.repo, config, signal: NEVER, attemptRef, epoch: state.stories[0]!.epoch };
  return guardAttempt(worker, guarded, async (started) => {
    await work(started);
    throw new HaloError('DOCKER_UNAVAILABLE', 'Docker Engine does not answer.');
  });
}
