import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { resolveConfig } from '../../../src/config/resolve.ts';
import type { JournalEntry } from '../../../src/core/journal/events.ts';
import { inboxItems } from '../../../src/view/inbox.ts';
import { approveStory } from '../../../src/worker/control/approve.ts';
import { advanceRun, type RunnerContext } from '../../../src/worker/run/advance-run.ts';
import { endRun, planEnd } from '../../../src/worker/run/end-run.ts';
import { landRun } from '../../../src/worker/run/land-run.ts';
import { it } from '../../support/fixtures.ts';
import { attempted } from '../../support/journal.ts';
import type { TestRepository } from '../../support/repository/repository.ts';
import { openIdleRun, type IdleRun } from '../idle-run.ts';

const { config } = resolveConfig({ cwd: '/', set: ['land.mode=ff'] });
const ORIGIN = { haloVersion: '0.1.0', agent: { name: 'codex' }, args: [], config: { ...config, gates: [] } };
const STORY = 'US-001';
const REF = { story: STORY, attempt: 1 };
const NO_USAGE = { requests: 0, inputTokens: 0, cachedTokens: 0, outputTokens: 0 };
const TOKEN: JournalEntry = {
  ...{ type: 'secrets.suspected', ...REF },
  suspects: [{ path: 'key.txt', names: ['a GitHub token'] }],
};

/** A run whose only story has landed on its branch, with these findings. */
async function openPassed(home: string, repository: TestRepository, ...findings: JournalEntry[]): Promise<IdleRun> {
  const run = await openIdleRun(home, repository, {
    stories: [STORY],
    prdPath: join(repository.root, 'prd.json'),
    origin: ORIGIN,
  });
  repository.git('checkout', '-q', '-b', `halo/${run.runId}`);
  repository.write('key.txt', 'new\n');
  const commit = repository.commit('Add a file.');
  repository.git('checkout', '-q', 'main');
  await run.append(...attempted(STORY), ...findings, {
    ...{ type: 'story.ended', ...REF, verdict: 'passed', stopReason: 'SUCCESS', summary: 'Did it.' },
    ...{ usage: NO_USAGE, commit },
  });
  return run;
}

const end = ({ keeper, runId }: IdleRun) => endRun(keeper, { runId, config }, planEnd);

it('the end of a run with another land.mode lands nothing', async ({ home, repository }) => {
  const run = await openPassed(home, repository);
  const { config: kept } = resolveConfig({ cwd: '/' });
  await endRun(run.keeper, { runId: run.runId, config: kept }, planEnd);
  const { stopReason, landed } = await run.store.readState(run.runId);
  expect([stopReason, landed]).toEqual(['SUCCESS', undefined]);
  const ended = (await run.store.readWithoutActivities(run.runId)).at(-1);
  expect(Object.keys(ended ?? {})).toEqual(['v', 'seq', 'at', 'type', 'stopReason', 'detail']);
  expect(repository.git('rev-parse', 'main')).toBe(run.base);
});

describe('the end of a run with land.mode = "ff"', () => {
  it('lands what is not flagged', async ({ home, repository }) => {
    const run = await openPassed(home, repository);
    await end(run);
    expect(await run.store.readState(run.runId)).toMatchObject({ status: 'ended', landed: { branch: 'main' } });
    expect(existsSync(join(repository.root, 'key.txt'))).toBe(true);
  });

  it('lands also if its worker died between the end and the landing, and the job is repeated', async ({
    home,
    repository,
  }) => {
    const run = await openPassed(home, repository);
    await run.append({ type: 'run.ended', stopReason: 'SUCCESS', detail: '1 of 1 stories passed' });
    const context = { worker: run.keeper } as RunnerContext;
    const job = { runId: run.runId, ordinal: 0, attempt: 1 };
    await expect(advanceRun(context, job, AbortSignal.timeout(60_000))).resolves.toEqual([]);
    const { tip, landed } = await run.store.readState(run.runId);
    expect(landed).toMatchObject({ to: tip });
    expect(repository.git('rev-parse', 'main')).toBe(tip);
  });

  it('leaves what is flagged to a person, who confirms it', async ({ home, repository }) => {
    const run = await openPassed(home, repository, TOKEN);
    await end(run);
    const state = await run.store.readState(run.runId);
    const why = 'not landed: a person has to confirm it (US-001: key.txt adds a GitHub token)';
    expect(state).toMatchObject({ stopReason: 'SUCCESS', detail: expect.stringContaining(why) as string });
    expect(state.landed).toBeUndefined();
    expect(repository.git('rev-parse', 'main')).toBe(run.base);
    expect(inboxItems(state, [state])).toMatchObject([
      { kind: 'land', text: '1/1 stories, not on your branch yet; flagged: secret' },
    ]);
    const request = { runId: run.runId, by: 'ann' };
    await expect(landRun(run.store, home, request)).rejects.toMatchObject({ code: 'UNCONFIRMED' });
    await landRun(run.store, home, { ...request, confirmation: { confirm: ['secret'] } });
    expect(repository.git('rev-parse', 'main')).toBe(state.tip);
  });

  it('lands what a person has approved already', async ({ home, repository }) => {
    const run = await openIdleRun(home, repository, { stories: [STORY], origin: ORIGIN });
    const commit = await run.hold(STORY);
    await approveStory(run.keeper, { ...run.request, storyId: STORY, confirmation: { confirm: ['protected'] } });
    expect(repository.git('rev-parse', 'main')).toBe(commit);
  });
});
