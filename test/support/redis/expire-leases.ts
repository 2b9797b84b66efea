import { join } from 'node:path';
import { Redis } from 'ioredis';
import { readHomeId } from '../../../src/queue/redis/connect-redis.ts';

/** What time changes after the last worker of a home died: its leases expire. `socket`: default, that of halo's own Redis. */
export async function expireLeases(home: string, socket = join(home, 'redis', 'redis.sock')): Promise<void> {
  const client = new Redis(socket);
  const leases = await client.keys(`halo-${await readHomeId(home)}:lease:*`);
  if (leases.length > 0) await client.del(leases);
  client.disconnect();
}
