import { describe, expect, vi } from 'vitest';
import { test as base } from '../../support/fixtures.ts';
import { OK, scripted } from '../../support/halo/halo.ts';
import { HOLD, release } from '../../support/halo/hold.ts';
import { newRepository } from '../../support/repository/new-repository.ts';
import { REDIS_PROJECT } from '../../support/services/redis-project.ts';
import { ensureServiceImage } from '../../support/services/service-images.ts';

const STORIES = ['A', 'B', 'C', 'D', 'E', 'F', 'G', 'H'];
const test = base.override('concurrency', STORIES.length);

/** Eight stories, each with containers of its own, start on two cores. */
const LONG = { timeout: 600_000, interval: 200 };

/** A line of Python with the client of the repository. */
const python = (line: string) => `python3 -c "from counter import command; ${line}"`;

describe('eight stories in parallel', () => {
  test('each have a Redis of their own, beside the agent and beside the gate', async ({ halo }) => {
    const image = await ensureServiceImage('redis');
    const repository = newRepository(REDIS_PROJECT);
    const agent = [
      "story=$(grep -oE 'Story [A-Z]+' | head -n 1 | cut -d ' ' -f 2)",
      `${python("assert command('SET', '$story', 'here') == 'OK'")} && echo "$story is written"`,
      HOLD,
      `${python("assert command('DBSIZE') == 1 and command('GET', '$story') == 'here'")} && echo $story > $story.txt`,
      OK,
    ].join('\n');
    const runId = await halo.submit(
      repository.root,
      STORIES.map((id) => ({ id })),
      scripted(
        agent,
        ['python3 -m unittest'],
        [
          `services.redis={ image = "${image}", memory = "64m" }`,
          'env.REDIS_URL="redis://localhost:6379"',
          `run.parallel=${STORIES.length}`,
          'limits.memory="256m"',
        ],
      ),
    );
    // All agents have written before the first one reads.
    await vi.waitFor(() => {
      const said = JSON.stringify(halo.journal(runId).filter(({ type }) => type === 'agent.activity'));
      expect(said.match(/[A-H] is written/g) ?? []).toHaveLength(STORIES.length);
    }, LONG);
    await release(runId);
    expect(await halo.untilEnd(runId)).toMatchObject({ stopReason: 'SUCCESS', detail: '8 of 8 stories passed' });
    expect(repository.git('ls-tree', '--name-only', `halo/${runId}`).split('\n')).toEqual(
      expect.arrayContaining(STORIES.map((id) => `${id}.txt`)),
    );
  }, 1_200_000);
});
