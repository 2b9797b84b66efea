import { execFileSync } from 'node:child_process';
import { join, resolve } from 'node:path';
import Docker from 'dockerode';
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { openQueue } from '../../../src/queue/queue.ts';
import { buildServerImage } from '../../../src/sandbox/docker/image/server-image.ts';
import { connectHostRedis } from '../../../src/worker/recovery/find-redis.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { hostOf } from '../../support/halo/host.ts';
import { PATIENCE } from '../../support/patience.ts';

const docker = new Docker();
const PATH = process.env.PATH;
let home: string;

beforeAll(async () => {
  // The image holds halo as it is built; a fresh checkout is not built yet.
  execFileSync(process.execPath, [resolve(import.meta.dirname, '../../../bin/halo'), '--version']);
  await buildServerImage({ log: () => {} });
});
beforeEach(() => {
  home = tempDir('halo-home');
  // A machine without redis-server and valkey-server.
  process.env.PATH = join(home, 'no-programs');
});
afterEach(() => {
  process.env.PATH = PATH;
});

async function redisContainers(): Promise<number> {
  const filters = { label: ['dev.halo=redis'], volume: [join(home, 'redis')] };
  return (await docker.listContainers({ all: true, filters })).length;
}

describe('Redis on a machine without a server program', () => {
  it('runs in a container without a network, is shared, and ends with its last user', async () => {
    const host = hostOf(home);
    const first = await connectHostRedis(host);
    const second = await connectHostRedis(host);
    expect(await redisContainers()).toBe(1);
    const queue = await openQueue(first);
    await queue.enqueue({ runId: 'abcdefgh12345', ordinal: 0, attempt: 1 });
    await queue.close();
    await first.close();
    const again = await openQueue(second);
    expect((await again.counts()).waiting).toBe(1);
    await again.close();
    await second.close();
    await vi.waitFor(async () => expect(await redisContainers()).toBe(0), PATIENCE);
  });
});
