import { expect } from 'vitest';
import { resolveConfig } from '../../../src/config/resolve.ts';
import type { FailureNote } from '../../../src/core/journal/event-parts.ts';
import type { JournalEntry, JournalEvent } from '../../../src/core/journal/events.ts';
import { foldRun } from '../../../src/core/journal/fold-run.ts';
import { planStory } from '../../../src/core/run/plan.ts';
import { transcribe } from '../../../src/core/transcript/transcript.ts';
import { openBreakerStore } from '../../../src/store/breaker-files.ts';
import { openStore } from '../../../src/store/store.ts';
import { isBlockedByBreaker, updateBreakers } from '../../../src/worker/run/shared-breakers.ts';
import { test } from '../../support/fixtures.ts';
import { created } from '../../support/journal.ts';

const { config } = resolveConfig({ cwd: '/' });
const by = 'alice';
const RUN = '0tbq1aaaaaaaaaa';
/** When the breaker opened, and when the user asked for the run: before, and after. */
const [BEFORE, OPENED, AFTER] = ['2030-01-01T00:00:00.000Z', '2030-01-01T00:01:00.000Z', '2030-01-01T00:02:00.000Z'];
const NOW = Date.parse('2030-01-01T00:03:00.000Z');

const started: JournalEntry = { type: 'run.started' };
const retried: JournalEntry = { type: 'run.retried', by, stories: ['US-001'] };

test.for<[what: string, entries: [at: string, JournalEntry][], blocked: boolean]>([
  ['submitted before it opened', [], true],
  ['submitted after it opened', [[AFTER, created(RUN)]], false],
  ['claimed by `halo run --resume` after it opened', [[AFTER, { type: 'run.claimed', owner: 'this-1' }]], false],
  ['resumed after it opened', [[AFTER, { type: 'run.resumed', by }]], false],
  ['retried after it opened', [[AFTER, retried]], false],
  ['retried before it opened', [[BEFORE, retried]], true],
  ['started by a worker after it opened', [[AFTER, started]], true],
])('an open breaker and a run %s', async ([, entries, blocked], { home }) => {
  const breakers = openBreakerStore(home);
  const store = openStore(home, { transcribe });
  const entry = created(RUN);
  await store.createRun(entry, { haloVersion: '0', agent: { name: 'command' }, args: [], config: {} });
  const events = [[BEFORE, entry] as const, ...entries].map(([at, each], seq) => ({ v: 1 as const, seq, at, ...each }));
  const state = foldRun(events)!;
  const planned = planStory(state, 0)!;
  await breakers.update(`repository:${state.repo.mirror}`, () => ({
    breaker: { status: 'open', signs: [], openedAt: Date.parse(OPENED), until: NOW + 60_000 },
    result: undefined,
  }));
  const worker = { breakers, store, now: () => NOW };
  expect(await isBlockedByBreaker(worker, { state, planned, config })).toBe(blocked);
  const recorded = (await store.readJournal(RUN)).map(({ type }) => type);
  expect(recorded.includes('breaker.held')).toBe(blocked);
  expect(await breakers.read(`repository:${state.repo.mirror}`)).toMatchObject({
    status: blocked ? 'open' : 'half-open',
  });
});

test('a shared breaker is opened, tried and closed by attempts, and their runs record it', async ({ home }) => {
  const store = openStore(home, { transcribe });
  let now = NOW;
  const worker = { breakers: openBreakerStore(home), store, now: () => now };
  const strict = { ...config, breaker: { ...config.breaker, noChange: 1, cooldownMs: 60_000 } };
  const state = foldRun([{ v: 1, seq: 1, at: BEFORE, ...created(RUN) }])!;
  await store.createRun(created(RUN), { haloVersion: '0', agent: { name: 'command' }, args: [], config: {} });
  const attempt = { state, config: strict, story: 'US-001', attempt: 1 };
  const sign = { by: 'US-001', error: 'it fails', changed: false, denied: false, kind: 'gate' };
  const failure = { class: 'gate', rule: 'halt', sign } as FailureNote;
  await updateBreakers(worker, { ...attempt, failure });
  await updateBreakers(worker, { ...attempt, failure });
  now += 120_000;
  const planned = planStory(state, 0)!;
  expect(await isBlockedByBreaker(worker, { state, planned, config: strict })).toBe(false);
  expect(await isBlockedByBreaker(worker, { state, planned, config: strict })).toBe(false);
  await updateBreakers(worker, { ...attempt, failure: undefined });
  await updateBreakers(worker, { ...attempt, failure: undefined });
  const changes: JournalEvent[] = [];
  for await (const event of store.follow(state.runId, { after: 1, follow: false })) changes.push(event);
  expect(changes).toMatchObject([
    { type: 'breaker.changed', story: 'US-001', status: 'open', why: 'a failure changed no file' },
    { type: 'breaker.changed', story: 'US-001', status: 'half-open' },
    { type: 'breaker.changed', story: 'US-001', status: 'closed' },
  ]);
});
