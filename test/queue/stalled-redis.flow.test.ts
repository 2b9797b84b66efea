import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { connect, createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { it, onTestFinished } from 'vitest';
import { OK, prdOf, scripted } from '../support/halo/halo.ts';
import { openHome } from '../support/halo/halo-process.ts';
import { openRedisServer } from '../support/redis/redis-server.ts';
import { expectOneError } from '../support/halo/refusal.ts';
import { tempDir } from '../support/temp-dir.ts';
import { newRepository } from '../support/repository/new-repository.ts';

it.for([2, 3])(
  'submit ends with a sentence if Redis answers on %i connections and on no more',
  { timeout: 300_000 },
  async (count) => {
    const home = openHome();
    const server = await openRedisServer();
    const repository = newRepository();
    const side = tempDir('halo-stalled');
    let connections = 0;
    const door = createServer((near) => {
      near.on('error', () => undefined);
      if (connections++ < count) near.pipe(connect(server.socket)).pipe(near);
      else near.resume();
    });
    door.listen(0, '127.0.0.1');
    await once(door, 'listening');
    onTestFinished(async () => {
      await home.close();
      door.close();
      await server.close();
    });
    const prd = join(side, 'prd.json');
    writeFileSync(prd, prdOf([{ id: 'A' }]).bytes);
    const settings = scripted(OK).flatMap((setting) => ['-c', setting]);
    const { port } = door.address() as AddressInfo;
    const ended = await home.halo(['submit', prd, '--repo', repository.root, ...settings], {
      cwd: side,
      env: { HALO_REDIS_URL: `redis://127.0.0.1:${port}` },
    });
    expectOneError(ended, 5, ['Could not connect to Redis']);
  },
);
