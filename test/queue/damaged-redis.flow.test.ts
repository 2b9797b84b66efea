import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { readDamagedRedisData, claimDamagedRedisData } from '../../src/queue/damaged-data.ts';
import { connectRedis, type RedisLink } from '../../src/queue/redis/connect-redis.ts';
import { tempDir } from '../support/temp-dir.ts';

let home: string;
let link: RedisLink | undefined;
const open = async () => (link = await connectRedis({ home, redisUrl: undefined }));
const data = () => join(home, 'redis', 'appendonlydir');

beforeEach(async () => {
  home = tempDir('halo-redis');
  const opened = await open();
  await opened.client.set('kept', 'yes');
  await opened.close();
});
afterEach(async () => {
  await link?.close();
});

const DAMAGES: [what: string, file: RegExp, damage: (path: string) => void][] = [
  ['ends in zeros', /incr\.aof$/, (path) => writeFileSync(path, Buffer.alloc(512), { flag: 'a' })],
  ['is zeros', /incr\.aof$/, (path) => writeFileSync(path, Buffer.alloc(statSync(path).size))],
  ['begins in the middle', /incr\.aof$/, (path) => writeFileSync(path, readFileSync(path).subarray(7))],
  ['is gone', /incr\.aof$/, (path) => rmSync(path)],
  ['is zeros', /base\.rdb$/, (path) => writeFileSync(path, Buffer.alloc(statSync(path).size))],
  ['is empty', /manifest$/, (path) => truncateSync(path, 0)],
  ['is zeros', /manifest$/, (path) => writeFileSync(path, Buffer.alloc(statSync(path).size))],
];

describe('hazard 46: the embedded server and its damaged data', () => {
  test.each(DAMAGES)('%s: %s', async (_what, file, damage) => {
    const name = readdirSync(data()).find((each) => file.test(each))!;
    damage(join(data(), name));
    const { client } = await open();
    expect(await client.get('kept')).toBeNull();
    expect(await client.set('new', 'yes')).toBe('OK');
    const folder = join(home, 'redis', 'damaged');
    expect(readdirSync(folder)).toContain('appendonlydir');
    expect(await readDamagedRedisData(home)).toMatchObject({
      folder,
      why: expect.stringContaining('did not start') as string,
    });
    // Said once, and there for doctor.
    expect(await claimDamagedRedisData(home)).toBeDefined();
    expect(await claimDamagedRedisData(home)).toBeUndefined();
    expect(await readDamagedRedisData(home)).toBeDefined();
  });

  test('a truncated tail loses only its own content, and nothing is set aside', async () => {
    const name = readdirSync(data()).find((each) => each.endsWith('incr.aof'))!;
    truncateSync(join(data(), name), statSync(join(data(), name)).size - 3);
    const { client } = await open();
    expect(await client.ping()).toBe('PONG');
    expect(await readDamagedRedisData(home)).toBeUndefined();
  });

  test('a server that starts neither with nor without its data keeps it', async () => {
    // What is in the way of its socket is not a file that it could replace.
    mkdirSync(join(home, 'redis', 'redis.sock', 'full'), { recursive: true });
    await expect(open()).rejects.toMatchObject({ code: 'REDIS_UNAVAILABLE' });
    expect(existsSync(data())).toBe(true);
    expect(await readDamagedRedisData(home)).toBeUndefined();
    rmSync(join(home, 'redis', 'redis.sock'), { recursive: true });
    const { client } = await open();
    expect(await client.get('kept')).toBe('yes');
  });
});
