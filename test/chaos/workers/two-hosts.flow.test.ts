import { execFileSync, spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { checkInvariants } from '../../support/faults/check-invariants.ts';
import { belowLevel, FULL } from '../../support/suite/level.ts';
import { openWorld, stopWorker, tidyUp, type World } from '../../support/faults/world.ts';
import { skipFor } from '../../support/skip.ts';
import { tempDir } from '../../support/temp-dir.ts';

/** Two machines as far as the network goes, joined by one cable; the first one has Redis. */
const NEAR = `halo-near-${process.pid}`;
const FAR = `halo-far-${process.pid}`;
const REDIS = '10.231.77.1';

const ip = (...words: string[]) => execFileSync('ip', words, { stdio: ['ignore', 'pipe', 'pipe'] });
const inside = (name: string) => ['ip', 'netns', 'exec', name];

/** Network namespaces take root and a kernel that lets it. */
const possible = spawnSync('ip', ['netns', 'add', `${NEAR}-probe`]).status === 0;
if (possible) ip('netns', 'delete', `${NEAR}-probe`);

describe(
  'hazard 41: two machines',
  skipFor(belowLevel(FULL) || (!possible && 'needs the right to create network namespaces')),
  () => {
    let world: World;
    let redis: ChildProcess;
    let dir: string;

    beforeEach(() => {
      for (const name of [NEAR, FAR]) ip('netns', 'add', name);
      ip('-n', NEAR, 'link', 'add', 'cable', 'type', 'veth', 'peer', 'name', 'cable', 'netns', FAR);
      ip('-n', NEAR, 'address', 'add', `${REDIS}/24`, 'dev', 'cable');
      ip('-n', FAR, 'address', 'add', '10.231.77.2/24', 'dev', 'cable');
      for (const name of [NEAR, FAR]) for (const link of ['lo', 'cable']) ip('-n', name, 'link', 'set', link, 'up');
      dir = tempDir('halo-redis');
      const socket = join(dir, 'redis.sock');
      const [program = '', ...rest] = [...inside(NEAR), 'redis-server', '--bind', REDIS, '--protected-mode', 'no'];
      redis = spawn(program, [...rest, '--dir', dir, '--save', '', '--unixsocket', socket], { stdio: 'ignore' });
      world = openWorld({ socket });
    });
    afterEach(async () => {
      await world.close();
      redis.kill('SIGKILL');
      for (const name of [NEAR, FAR]) ip('netns', 'delete', name);
    });

    it(
      'one is disconnected in the middle of a story and returns: one commit, nothing left',
      { timeout: 300_000 },
      async () => {
        const env = { HALO_REDIS_URL: `redis://${REDIS}:6379` };
        const repository = world.addRepository();
        const runId = await world.submit(repository, [{ id: 'A' }, { id: 'B' }]);
        const far = world.startWorker({ ...env, HALO_FAILPOINT: 'objects.before@1:delay=30000' }, { via: inside(FAR) });
        await far.says('failpoint objects.before');
        ip('-n', NEAR, 'link', 'set', 'cable', 'down');
        // Redis is still available on its side of the network.
        const near = world.startWorker(env, { via: inside(NEAR) });
        await world.untilEnded(runId);
        const reported = world.journal(runId).length;
        ip('-n', NEAR, 'link', 'set', 'cable', 'up');
        await stopWorker(far);
        expect(world.journal(runId)).toHaveLength(reported);
        expect(world.journal(runId).filter(({ type }) => type === 'story.started')).toHaveLength(3);
        await stopWorker(near);
        await tidyUp(world, env, { via: inside(FAR) });
        await checkInvariants(world, [{ runId, repository, main: 'unchanged', landed: ['A', 'B'] }]);
      },
    );
  },
);
