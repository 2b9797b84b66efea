import { pino } from 'pino';
import { expect, onTestFinished, test, vi } from 'vitest';
import type { JournalEntry } from '../../../src/core/journal/events.ts';
import type { AskedQuestion } from '../../../src/core/run/questions.ts';
import { openMasker } from '../../../src/lib/secrets/masker.ts';
import { openQueue } from '../../../src/queue/queue.ts';
import { connectRedis } from '../../../src/queue/redis/connect-redis.ts';
import { answerStory, expireQuestions } from '../../../src/worker/control/answer-story.ts';
import { createWorkerContext } from '../../../src/worker/create-worker-context.ts';
import { Reconciler } from '../../../src/worker/recovery/reconciler.ts';
import { it } from '../../support/fixtures.ts';
import { hostOf } from '../../support/halo/host.ts';
import { asked, created } from '../../support/journal.ts';
import { openRedisServer } from '../../support/redis/redis-server.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { openIdleRun, type IdleRun } from '../idle-run.ts';
import { PATIENCE } from '../../support/patience.ts';

const STORY = 'US-001';
const UNTIL = '2030-01-01T08:00:00.000Z';
const options = ['Port 8080', 'Port 80'];

/** The events of a story that asks. */
function asking(question: AskedQuestion, story = STORY): JournalEntry[] {
  return asked(story, 'Which port?').map((entry) =>
    entry.type === 'story.ended' ? { ...entry, question: { until: UNTIL, ...question } } : entry,
  );
}

async function askingRun(home: string, repository: Parameters<typeof openIdleRun>[1], question: AskedQuestion) {
  const run = await openIdleRun(home, repository);
  await run.append(...asking(question));
  return run;
}

const expire = ({ keeper, runId, queued }: IdleRun, now: string) =>
  expireQuestions(keeper, {
    ...{ runId, now: Date.parse(now) },
    queue: { enqueue: (job) => Promise.resolve(void queued.push(job)) },
  });
const typesOf = async ({ store, runId }: IdleRun) => (await store.readJournal(runId)).map(({ type }) => type);

it('a question that is answered in time is not answered by halo, and not twice by people at the same time', async ({
  home,
  repository,
}) => {
  const run = await askingRun(home, repository, { options, unanswered: 'first-option' });
  const answer = (by: string, option: number) =>
    answerStory(run.keeper, { ...run.request, by }, { storyId: STORY, option });
  await expire(run, '2030-01-01T07:59:59.999Z');
  const results = await Promise.allSettled([answer('ann', 1), answer('bob', 2), expire(run, UNTIL)]);
  const story = (await run.store.readState(run.runId)).stories[0]!;
  expect(story.answered).toHaveLength(1);
  const { by, at = '' } = story.answered![0]!;
  expect((await typesOf(run)).filter((type) => type === 'story.answered')).toHaveLength(1);
  for (const result of results.slice(0, 2))
    if (result.status === 'rejected')
      expect(result.reason).toMatchObject({
        code: 'CONTROL_REFUSED',
        message: expect.stringContaining(`was already answered by ${by} at ${at}.`) as string,
      });
  await expect(answer('eve', 2)).rejects.toMatchObject({
    message: expect.stringContaining(`by ${by} at ${at}`) as string,
  });
});

it('halo takes the first option after the deadline, once', async ({ home, repository }) => {
  const run = await askingRun(home, repository, { options, unanswered: 'first-option' });
  await Promise.all([expire(run, UNTIL), expire(run, UNTIL)]);
  await expire(run, '2031-01-01T00:00:00.000Z');
  const state = await run.store.readState(run.runId);
  expect(state).toMatchObject({ status: 'queued', stories: [{ progress: 'pending' }, {}] });
  expect(state.stories[0]!.answered).toMatchObject([
    { by: 'halo', text: 'Port 8080', option: 1, default: true, options },
  ]);
  expect((await typesOf(run)).filter((type) => type === 'story.answered')).toHaveLength(1);
  expect(run.queued).toContainEqual(expect.objectContaining({ ordinal: 0, attempt: 2 }));
});

it.for([
  ['fail', 'failed', 'NEEDS_HUMAN'],
  ['skip', 'cancelled', undefined],
  // Nothing to choose from.
  ['first-option', 'failed', 'NEEDS_HUMAN'],
] as const)(
  'a story whose question expired with %s is %s',
  async ([unanswered, progress, stopReason], { home, repository }) => {
    const run = await askingRun(home, repository, { unanswered });
    await expire(run, UNTIL);
    const state = await run.store.readState(run.runId);
    expect(state.stories[0]).toMatchObject({ progress, summary: 'not answered in time: Which port?' });
    expect(state.stopReason).toBe(stopReason);
    expect(await run.store.readJournal(run.runId)).toContainEqual(
      expect.objectContaining({ type: 'question.expired', by: 'halo', then: unanswered === 'skip' ? 'skip' : 'fail' }),
    );
  },
);

it('a question without a deadline, and one of a cancelled run, wait without limit', async ({ home, repository }) => {
  const run = await openIdleRun(home, repository);
  await run.append(...asked(STORY, 'Which port?'));
  await expire(run, '2099-01-01T00:00:00.000Z');
  expect((await run.store.readState(run.runId)).stories[0]!.progress).toBe('needs_human');
});

test('a worker answers questions whose deadline has passed, also those of ended runs that it did not see end', async () => {
  const home = tempDir('halo-deadline');
  vi.stubEnv('DOCKER_HOST', `unix://${home}/none.sock`);
  const redis = await openRedisServer();
  const link = await vi.waitFor(() => connectRedis(hostOf(home, redis.url)), PATIENCE);
  const queue = await openQueue(link);
  const parts = {
    ...{ homeId: 'x', log: pino({ level: 'silent' }), masker: openMasker(), cleaning: new Set<Promise<void>>() },
    ...{ host: hostOf(home, redis.url), shared: undefined },
  };
  let now = Date.parse(UNTIL) - 1;
  const worker = createWorkerContext({ ...parts, now: () => now });
  const { store } = worker;
  const run = created(undefined, [STORY]);
  const origin = { haloVersion: '', agent: { name: 'codex' }, args: [], config: {} };
  await store.createRun(run, origin);
  await store.append(run.runId, asking({ options, unanswered: 'first-option' }));
  const start = () => new Reconciler(worker, queue);
  onTestFinished(async () => {
    await queue.close();
    await link.close();
    await redis.close();
    vi.unstubAllEnvs();
  });
  const progress = async () => (await store.readState(run.runId)).stories[0]!.progress;
  const early = start();
  await early.close();
  expect(await progress()).toBe('needs_human');
  now += 1;
  const late = start();
  await expect.poll(() => queue.counts()).toMatchObject({ waiting: 1 });
  await late.close();
  expect((await store.readState(run.runId)).stories[0]!.answered).toMatchObject([{ by: 'halo', default: true }]);
});
