import Docker from 'dockerode';
import { describe, expect, it, vi } from 'vitest';
import { landHeldStory, replaceWorker } from '../../support/faults/held-story.ts';
import { openWorld } from '../../support/faults/world.ts';
import { HOLD } from '../../support/halo/hold.ts';
import { REVIEW_SETTINGS, reviewedAgent, reviewWith } from '../../support/halo/reviewed.ts';
import { PATIENCE } from '../../support/patience.ts';

const AGENT = reviewedAgent('date +%N > A', `${HOLD}; ${reviewWith([])}`);

describe.concurrent('hazard 80: a worker that is killed while a change is reviewed', () => {
  it('is replaced: the review is repeated without using up an attempt, and the story lands once', async () => {
    const world = openWorld();
    try {
      const repository = world.addRepository();
      const agent = `agents.command.run=${JSON.stringify(AGENT)}`;
      const runId = await world.submit(repository, [{ id: 'A' }], [...REVIEW_SETTINGS, agent]);
      const first = world.startWorker();
      const reviews = () =>
        world.journal(runId).filter((event) => event.type === 'phase.started' && event.phase === 'review').length;
      await vi.waitUntil(() => reviews() === 1, PATIENCE);
      const second = await replaceWorker(world, first);
      await vi.waitUntil(() => reviews() === 2, PATIENCE);
      await landHeldStory(world, second, { runId, repository });
      const journal = world.journal(runId);
      expect(journal.filter(({ type }) => type === 'review.ended')).toHaveLength(1);
      expect(journal.filter(({ type }) => type === 'story.ended')).toMatchObject([{ attempt: 1, verdict: 'passed' }]);
    } finally {
      await world.close();
    }
  });
});

describe.concurrent('hazard 80: a reviewer whose sandbox is killed', () => {
  it('is replaced in the same way', async () => {
    const world = openWorld();
    try {
      const repository = world.addRepository();
      const reviewed = reviewedAgent('date +%N > A', `echo I read it.; ${HOLD}; ${reviewWith([])}`);
      const agent = `agents.command.run=${JSON.stringify(reviewed)}`;
      const runId = await world.submit(repository, [{ id: 'A' }], [...REVIEW_SETTINGS, agent]);
      const events = (type: string) => world.journal(runId).filter((event) => event.type === type);
      const worker = world.startWorker();
      const isReading = () => JSON.stringify(events('agent.activity')).includes('I read it.');
      await vi.waitUntil(isReading, PATIENCE);
      const docker = new Docker();
      const filters = { label: [`dev.halo.run=${runId}`, 'dev.halo.phase=agent'] };
      for (const { Id } of await docker.listContainers({ filters })) await docker.getContainer(Id).kill();
      await landHeldStory(world, worker, { runId, repository });
      expect(events('story.started')).toMatchObject([{ attempt: 1 }, { attempt: 1, epoch: 2 }]);
      expect(events('review.ended')).toHaveLength(1);
    } finally {
      await world.close();
    }
  });
});
