import { describe, expect, it, vi } from 'vitest';
import { landHeldStory, replaceWorker } from '../../support/faults/held-story.ts';
import { openWorld, TESTS_FIRST } from '../../support/faults/world.ts';
import { OK } from '../../support/halo/halo.ts';
import { HOLD } from '../../support/halo/hold.ts';
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
      const second = await replaceWorker(world, first);
      await vi.waitUntil(() => launched() === 2, PATIENCE);
      await landHeldStory(world, second, { runId, repository });
      const journal = world.journal(runId);
      expect(journal.filter(({ type }) => type === 'tests.locked')).toMatchObject([{ story: 'A', attempt: 1 }]);
      expect(journal.filter(({ type }) => type === 'story.ended')).toMatchObject([{ attempt: 1, verdict: 'passed' }]);
    } finally {
      await world.close();
    }
  });
});
