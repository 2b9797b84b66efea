import { expect } from 'vitest';
import { retryRun } from '../../../src/worker/control/control-run.ts';
import { it } from '../../support/fixtures.ts';
import { openIdleRun } from '../idle-run.ts';

it('a retry of a story that an open run does not have changes nothing', async ({ home, repository }) => {
  const run = await openIdleRun(home, repository);
  const { seq } = await run.store.readState(run.runId);
  const set = ['limits.idle=20m'];
  const request = { ...run.request, also: [{ type: 'run.reconfigured' as const, by: 'tess', set, change: {} }] };
  await expect(retryRun(run.keeper, request, 'US-009')).rejects.toMatchObject({ code: 'STORY_NOT_FOUND' });
  expect((await run.store.readState(run.runId)).seq).toBe(seq);
  expect(await retryRun(run.keeper, request, undefined)).toMatchObject({ changed: true, stories: [] });
});
