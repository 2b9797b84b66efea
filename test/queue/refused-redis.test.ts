import { join } from 'node:path';
import { expect, test } from 'vitest';
import { connectRedisClient, socketAddress } from '../../src/queue/redis/redis-client.ts';
import { tempDir } from '../support/temp-dir.ts';

test('a Redis that refused the connection does not keep the process alive', async () => {
  const timers = () => process.getActiveResourcesInfo().filter((each) => each === 'Timeout').length;
  const address = socketAddress(join(tempDir('halo-redis'), 'none.sock'));
  const before = timers();
  await expect(connectRedisClient(address)).rejects.toMatchObject({ code: 'REDIS_UNAVAILABLE' });
  expect(timers()).toBe(before);
});
