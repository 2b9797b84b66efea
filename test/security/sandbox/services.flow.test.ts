import { describe, expect } from 'vitest';
import { test } from '../../support/fixtures.ts';
import { OK, scripted } from '../../support/halo/halo.ts';
import { ask, keyValueService } from '../../features/services/key-value-service.ts';

describe('incident service-data: what one command leaves in a service', () => {
  test('is not there for the next gate, the gates on the base, or another story', async ({ halo, repository }) => {
    const isFresh = `test "$(${ask('get')})" = nothing`;
    const { stopReason } = await halo.run(
      repository.root,
      [{ id: 'A' }, { id: 'B' }],
      scripted(
        `${isFresh} && ${ask('set evil')} && date +%N > $(date +%N).txt; ${OK}`,
        [`${isFresh} && ${ask('set evil')}`, `${isFresh} && ${ask('set evil')}`],
        [...keyValueService(), 'tests.baseline="always"', 'run.parallel=2', 'run.on_failure="continue"'],
      ),
    );
    expect(stopReason).toBe('SUCCESS');
  });
});

describe('incident service-checks: a check that never ends', () => {
  test('ends with the time in which its service must be ready', async ({ halo, repository }) => {
    const { stories } = await halo.run(
      repository.root,
      [{ id: 'A' }],
      scripted(
        `date > now.txt; ${OK}`,
        ['true'],
        keyValueService({ for: ['gates'], ready: 'sleep 3600', ready_within: '1s' }),
      ),
    );
    const summary =
      'the service kv was not ready within 1s (services.kv.ready_within): it is when port 7000 accepts and its check exits 0';
    expect(stories).toMatchObject([
      { progress: 'failed', summary, lastFailure: { class: 'environment', cause: 'service-failed' } },
    ]);
  });
});
