import { createServer } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import type { Readable } from 'node:stream';
import { afterEach, describe, expect, it } from 'vitest';
import type Docker from 'dockerode';
import { openDockerClient } from '../../../src/sandbox/docker/docker-client.ts';
import { startRedisContainer } from '../../../src/sandbox/docker/redis-container.ts';
import { openEngine, type TestEngine } from '../../support/docker/engine.ts';
import { checkInvariants } from '../../support/faults/check-invariants.ts';
import { openWorld, stopWorker, tidyUp, type World } from '../../support/faults/world.ts';

let world: World | undefined;
let engine: TestEngine | undefined;
afterEach(async () => {
  await world?.close();
  await engine?.close();
  world = engine = undefined;
});

describe('hazard 34: the one image that halo downloads, that of Redis', () => {
  it.for([
    ['has too many requests', 429],
    ['fails', 500],
    ['never answers', undefined],
  ] as const)(
    'is not downloaded from a registry that %s: a clear error',
    { timeout: 300_000 },
    async ([, status], { skip }) => {
      const asked: string[] = [];
      const registry = createServer(({ url }, answer) => {
        asked.push(url ?? '');
        if (status !== undefined) answer.writeHead(status).end();
      });
      registry.listen(0, '127.0.0.1');
      await once(registry, 'listening');
      const { port } = registry.address() as AddressInfo;
      try {
        const opened = await openEngine({ bare: true, mirror: `http://127.0.0.1:${port}` });
        if ('missing' in opened) return skip(opened.missing);
        engine = opened;
        const docker = openDockerClient({ name: 'bare', address: `unix://${engine.socket}` }, { deadlineMs: 5_000 });
        await expect(startRedisContainer({ folders: [], args: [] }, docker)).rejects.toMatchObject({
          code: 'REDIS_UNAVAILABLE',
          message: expect.stringContaining('There is no Redis, and none could be started in a container') as string,
          hint: 'Install redis-server or valkey-server, or set HALO_REDIS_URL.',
        });
        expect(asked).not.toEqual([]);
      } finally {
        registry.closeAllConnections();
        registry.close();
      }
    },
  );
});

describe('hazard 35: the engine has no networks left', () => {
  it('stories land without one, and none is created', async ({ skip }) => {
    const opened = await openEngine();
    if ('missing' in opened) return skip(opened.missing);
    engine = opened;
    const { docker } = engine;
    const taken = ['one', 'two'];
    for (const Name of taken) await docker.createNetwork({ Name });
    await expect(docker.createNetwork({ Name: 'three' })).rejects.toThrow('address pool');
    const names = async () => (await docker.listNetworks()).map(({ Name }) => Name).toSorted();
    const before = await names();
    const created = await recordNetworks(docker);
    world = openWorld({ engine: engine.socket });
    const repository = world.addRepository();
    const worker = world.startWorker();
    const runs = [];
    for (const id of ['A', 'B', 'C']) runs.push({ id, runId: await world.submit(repository, [{ id }]) });
    for (const { runId } of runs) await world.untilEnded(runId);
    await stopWorker(worker);
    await tidyUp(world);
    await checkInvariants(
      world,
      runs.map(({ id, runId }) => ({ runId, repository, main: 'unchanged', landed: [id] })),
    );
    expect(await names()).toEqual(before);
    expect(created.stop()).toEqual([]);
  });
});

/** Records the names of networks that the engine creates from now on: it remembers only its last 256 events itself. */
async function recordNetworks(docker: Docker): Promise<{ stop(): string[] }> {
  const filters = JSON.stringify({ type: ['network'], event: ['create'] });
  const stream = (await docker.getEvents({ filters })) as Readable;
  let text = '';
  stream.on('data', (chunk: Buffer) => (text += chunk.toString()));
  return {
    stop() {
      stream.destroy();
      const lines = text.split('\n').filter((line) => line !== '');
      return lines.map((line) => (JSON.parse(line) as NetworkEvent).Actor.Attributes.name);
    },
  };
}

interface NetworkEvent {
  Actor: { Attributes: { name: string } };
}
