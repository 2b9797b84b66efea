import { describe, expect, it, vi } from 'vitest';
import { checkInvariants } from '../../support/faults/check-invariants.ts';
import { killWorker, openWorld, stopWorker, tidyUp } from '../../support/faults/world.ts';
import { HOLD, releaseUntil } from '../../support/halo/hold.ts';
import { OK } from '../../support/halo/halo.ts';
import { PATIENCE } from '../../support/patience.ts';

const SENT = ['Use euros.', 'Not dollars.'];
const AGENT = `cat > A; ${HOLD}; date +%N >> A\n${OK}`;

describe('hazard 81: two people send messages, and the worker is killed before they are delivered', () => {
  it('has each once in the prompt of the next worker', async () => {
    const world = openWorld();
    try {
      const repository = world.addRepository();
      const agent = `agents.command.run=${JSON.stringify(AGENT)}`;
      const runId = await world.submit(repository, [{ id: 'A' }], [agent]);
      const events = (type: string) => world.journal(runId).filter((event) => event.type === type);
      const first = world.startWorker();
      await vi.waitUntil(() => events('agent.launched').length === 1, PATIENCE);
      const results = await Promise.all(SENT.map((text) => world.operations.tell({ runId, story: 'A', text })));
      expect(results).toMatchObject(SENT.map(() => ({ changed: true, route: 'next' })));
      // A client that got no response sends the last one again.
      const { state } = await world.operations.getRun({ runId });
      const { text = '', id } = state.stories[0]!.messages!.at(-1)!;
      const repeated = await world.operations.tell({ runId, story: 'A', text });
      expect(repeated).toMatchObject({ changed: false, message: id });
      await killWorker(first);
      await world.expireLocks();
      const second = world.startWorker();
      await releaseUntil(
        () => [runId],
        () => expect(events('run.ended')).toHaveLength(1),
      );
      await stopWorker(second);
      await tidyUp(world);
      await checkInvariants(world, [{ runId, repository, main: 'unchanged', landed: ['A'] }]);
      const delivered = events('message.delivered').flatMap((event) => ('ids' in event ? [event] : []));
      expect(delivered).toMatchObject([{ attempt: 1, how: 'prompt' }]);
      expect(delivered[0]!.ids.toSorted()).toEqual(results.map(({ message }) => message).toSorted());
      const prompt = repository.git('show', `halo/${runId}:A`);
      for (const each of SENT) expect(prompt.split(each)).toHaveLength(2);
    } finally {
      await world.close();
    }
  });
});
