import { describe, expect, it, vi } from 'vitest';
import { checkInvariants } from '../../support/faults/check-invariants.ts';
import { killWorker, openWorld, stopWorker, TESTS_FIRST, tidyUp } from '../../support/faults/world.ts';
import { OK } from '../../support/halo/halo.ts';
import { HOLD, releaseUntil } from '../../support/halo/hold.ts';
import { PATIENCE } from '../../support/patience.ts';

const TEST = 'if test -f A; then echo ok 1 - there; else echo not ok 1 - there; exit 1; fi';
const AGENT = `cat > /tmp/prompt; if grep -q 'Write the tests for' /tmp/prompt; then ${HOLD}; echo "${TEST}" > A.test.sh; else date +%N > A; fi; ${OK}`;

describe('hazard 1: a worker that is killed while an agent writes the tests of a story', () => {
  it('is replaced: the session is repeated without using up an attempt, and one set of tests is locked', async () => {
    const world = openWorld();
    try {
      const repository = world.addRepository();
      const agent = `agents.command.run=${JSON.stringify(AGENT)}`;
      const runId = await world.submit(repository, [{ id: 'A' }], [...TESTS_FIRST, 'tests.refactor=false', agent]);
      const first = world.startWorker();
      const launched = () => world.journal(runId).filter(({ type }) => type === 'agent.launched').length;
      await vi.waitUntil(() => launched() === 1, PATIENCE);
      await killWorker(first);
      await world.expireLocks();
      const second = world.startWorker();
      await vi.waitUntil(() => launched() === 2, PATIENCE);
      const hasEnded = () => world.journal(runId).some(({ type }) => type === 'run.ended');
      await releaseUntil(
        () => [runId],
        () => expect(hasEnded()).toBe(true),
      );
      await stopWorker(second);
      await tidyUp(world);
      await checkInvariants(world, [{ runId, repository, main: 'unchanged', landed: ['A'] }]);
      const journal = world.journal(runId);
      expect(journal.filter(({ type }) => type === 'tests.locked')).toMatchObject([{ story: 'A', attempt: 1 }]);
      expect(journal.filter(({ type }) => type === 'story.ended')).toMatchObject([{ attempt: 1, verdict: 'passed' }]);
    } finally {
      await world.close();
    }
  });
});
