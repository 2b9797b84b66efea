import { spawn, type ChildProcess } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { sleep } from '../../src/lib/async.ts';
import { findRedisProblems } from '../../src/queue/redis/redis-health.ts';
import { openQueue } from '../../src/queue/queue.ts';
import { connectRedis, type RedisLink } from '../../src/queue/redis/connect-redis.ts';
import { locateEmbeddedRedis, waitUntilStopped } from '../../src/queue/redis/embedded-redis.ts';
import { parseRedisUrl } from '../../src/queue/redis/redis-client.ts';
import { buildSources, type Built } from '../support/halo/build.ts';
import { tempDir } from '../support/temp-dir.ts';

let built: Built;
let home: string;
let children: ChildProcess[] = [];
beforeAll(() => {
  built = buildSources('queue/redis/connect-redis');
});
afterAll(() => built.remove());
beforeEach(() => {
  home = tempDir('halo-redis');
});
afterEach(async () => {
  for (const child of children) await stop(child, 'SIGKILL');
  children = [];
  if (isRunning()) process.kill(serverPid(), 'SIGKILL');
});

const embedded = () => connectRedis({ home, redisUrl: undefined });
const serverPid = () => Number(readFileSync(join(home, 'redis/redis.pid'), 'utf8'));

function isRunning(): boolean {
  return existsSync(join(home, 'redis/redis.pid')) && isAlive(serverPid());
}

function isAlive(pid: number): boolean {
  try {
    return !readFileSync(`/proc/${pid}/stat`, 'latin1').includes(') Z ');
  } catch {
    return false;
  }
}

/** Inodes of the network sockets on which a process listens. */
function listeners(pid: number): string[] {
  const open = readdirSync(`/proc/${pid}/fd`).map((fd) => readlinkSync(`/proc/${pid}/fd/${fd}`));
  return ['tcp', 'tcp6']
    .flatMap((table) => readFileSync(`/proc/${pid}/net/${table}`, 'latin1').trim().split('\n').slice(1))
    .map((line) => line.trim().split(/\s+/))
    .filter(([, , , state, , , , , , inode]) => state === '0A' && open.includes(`socket:[${inode}]`))
    .map((fields) => fields[9] ?? '');
}

/** A halo process: it connects, says so, and leaves when its stdin ends. */
async function user(): Promise<ChildProcess> {
  const file = join(home, `user-${children.length}.mjs`);
  writeFileSync(
    file,
    `import { connectRedis } from ${JSON.stringify(built.module('queue/redis/connect-redis'))};
     const link = await connectRedis({ home: ${JSON.stringify(home)}, redisUrl: undefined });
     console.log('up');
     process.stdin.resume().on('end', () => void link.close());`,
  );
  const child = spawn(process.execPath, [file], { stdio: ['pipe', 'pipe', 'inherit'] });
  children.push(child);
  await once(child.stdout, 'data');
  return child;
}

async function leave(child: ChildProcess): Promise<void> {
  child.stdin!.end();
  await once(child, 'exit');
}

async function stop(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill(signal);
  await once(child, 'exit');
}

describe('the embedded server', () => {
  test('stores everything on disk, opens no network port and is private', async () => {
    const link = await embedded();
    expect(await findRedisProblems(link)).toEqual([]);
    expect(statSync(join(home, 'redis')).mode & 0o777).toBe(0o700);
    expect(await link.client.config('GET', 'port')).toEqual(['port', '0']);
    expect(listeners(serverPid())).toEqual([]);
    expect(await link.client.config('GET', 'appendfsync')).toEqual(['appendfsync', 'everysec']);
    expect(link.describe()).toContain(join(home, 'redis/redis.sock'));
    await link.close();
    expect(isRunning()).toBe(false);
  });

  test('is shared by processes; the last one to disconnect stops it', async () => {
    const first = await user();
    const pid = serverPid();
    const link = await embedded();
    const second = await user();
    expect(serverPid()).toBe(pid);
    await leave(first);
    await link.close();
    expect(isRunning()).toBe(true);
    await leave(second);
    expect(isRunning()).toBe(false);
  });

  test('is started once when many processes start at the same moment', async () => {
    const users = await Promise.all([user(), user(), user(), user(), user()]);
    const log = readFileSync(join(home, 'redis/redis.log'), 'utf8');
    expect(log.match(/ready to accept connections/gi)).toHaveLength(1);
    await Promise.all(users.map(leave));
    expect(isRunning()).toBe(false);
  });

  test('survives a killed starter, and the next process finds it and stops it', async () => {
    const first = await user();
    const pid = serverPid();
    await stop(first, 'SIGKILL');
    const link = await embedded();
    expect(serverPid()).toBe(pid);
    await link.close();
    expect(isRunning()).toBe(false);
  });

  test('starts with the leftovers of a killed server: socket, pid file and jobs', async () => {
    const first = await embedded();
    const queue = await openQueue(first);
    await queue.enqueue({ runId: 'abcdefgh01', ordinal: 0, attempt: 1 });
    await queue.close();
    // What is older than a second is on the disk; ask for it instead of waiting.
    await first.client.bgrewriteaof();
    while ((await first.client.info('persistence')).match(/aof_rewrite_(in_progress|scheduled):1/)) await sleep(20);
    const pid = serverPid();
    process.kill(pid, 'SIGKILL');
    first.client.disconnect();
    while (isRunning() && serverPid() === pid) await sleep(10);
    const second = await embedded();
    const again = await openQueue(second);
    expect(await again.counts()).toMatchObject({ waiting: 1 });
    await again.close();
    await second.close();
    await first.close();
  });

  test('jobs still exist after the last process disconnected and another one connected', async () => {
    const first = await embedded();
    const queue = await openQueue(first);
    await queue.enqueue({ runId: 'abcdefgh01', ordinal: 0, attempt: 1 });
    await queue.close();
    await first.close();
    expect(isRunning()).toBe(false);
    const second = await embedded();
    const again = await openQueue(second);
    expect(await again.counts()).toMatchObject({ waiting: 1 });
    await again.close();
    await second.close();
  });

  test('is restarted by a connected process when it dies', async () => {
    const link = await embedded();
    const pid = serverPid();
    process.kill(pid, 'SIGKILL');
    await expect.poll(() => isRunning() && serverPid() !== pid).toBe(true);
    await expect.poll(() => link.client.status).toBe('ready');
    await link.close();
    expect(isRunning()).toBe(false);
  });

  test('an embedded server without its socket is stopped first: two servers never share the files', async () => {
    const child = await user();
    const pid = serverPid();
    await stop(child, 'SIGKILL');
    unlinkSync(join(home, 'redis/redis.sock'));
    const link = await embedded();
    expect(serverPid()).not.toBe(pid);
    expect(isAlive(pid)).toBe(false);
    await link.close();
  });

  test('does not stop the server of another home that got the process id of its own after a restart', async () => {
    const other = await connectRedis({ home: tempDir('halo-redis'), redisUrl: undefined });
    const [, pid] = /process_id:(\d+)/.exec(await other.client.info('server')) ?? [];
    mkdirSync(join(home, 'redis'), { mode: 0o700 });
    writeFileSync(join(home, 'redis/redis.pid'), `${pid}\n`);
    const link = await embedded();
    expect(serverPid()).not.toBe(Number(pid));
    expect(isAlive(Number(pid))).toBe(true);
    await link.close();
    await other.close();
  });

  test('has stopped when a process has waited for its end', async () => {
    const link = await embedded();
    const paths = await locateEmbeddedRedis(home);
    let isOver = false;
    const waiting = waitUntilStopped(paths).then(() => (isOver = true));
    await link.client.ping();
    expect(isOver).toBe(false);
    // Another end of the server would be one after which its client starts it again.
    const closing = link.close();
    await waiting;
    expect(isRunning()).toBe(false);
    await closing;
  });

  test('has its socket elsewhere if the path of the home is too long', async () => {
    const top = home;
    home = join(top, 'a'.repeat(120));
    mkdirSync(home);
    const [link, other] = [await embedded(), await embedded()];
    expect(link.describe()).toMatch(/^unix:\/\/\/tmp\/halo-redis-\w{6}\/redis\.sock/);
    const folder = (link.address.options.path ?? '').replace('/redis.sock', '');
    expect(statSync(folder).mode & 0o777).toBe(0o700);
    await other.close();
    expect(isRunning()).toBe(true);
    await link.close();
    expect(isRunning()).toBe(false);
    rmSync(folder, { recursive: true });
    home = top;
  });

  test('has its socket in another folder if a user of the machine has made the one that this home would use', async () => {
    const top = home;
    home = join(top, 'b'.repeat(120));
    mkdirSync(home);
    const digest = createHash('sha256').update(join(home, 'redis')).digest('hex').slice(0, 16);
    const taken = [`/tmp/halo-${digest}`];
    mkdirSync(taken[0]!);
    chmodSync(taken[0]!, 0o777);
    const folderOf = ({ address }: RedisLink) => (address.options.path ?? '').replace('/redis.sock', '');
    const first = await embedded();
    taken.push(folderOf(first));
    await first.close();
    // The system removes what is old in /tmp, and another user makes it again.
    rmSync(taken[1]!, { recursive: true });
    mkdirSync(taken[1]!);
    chmodSync(taken[1]!, 0o777);
    const second = await embedded();
    expect(taken).not.toContain(folderOf(second));
    await second.close();
    for (const folder of [...taken, folderOf(second)]) rmSync(folder, { recursive: true });
    home = top;
  });

  test('reports why it cannot start', async () => {
    // No file that it could replace is in the way of its socket.
    mkdirSync(join(home, 'redis/redis.sock/full'), { recursive: true });
    const error = await embedded().catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: 'REDIS_UNAVAILABLE' });
    expect((error as Error).message).toContain(join(home, 'redis'));
    expect(existsSync(join(home, 'redis/lock'))).toBe(false);
  });
});

describe('HALO_REDIS_URL', () => {
  test('connects with a password, and distinguishes a wrong password from a missing server', async () => {
    const link = await embedded();
    await link.client.config('SET', 'requirepass', 'secret word');
    const socket = join(home, 'redis/redis.sock');
    const good = await connectRedis({ home, redisUrl: `unix://:secret%20word@${socket}` });
    expect(good.kind).toBe('external');
    expect(good.describe()).not.toContain('secret');
    await good.close();
    expect(isRunning()).toBe(true);
    for (const redisUrl of [socket, `unix://:wrong@${socket}`]) {
      const error = (await connectRedis({ home, redisUrl }).catch((thrown: unknown) => thrown)) as Error;
      expect(error).toMatchObject({ code: 'REDIS_UNAVAILABLE' });
      expect(error.message).toContain('it rejects the user or password');
    }
    await link.client.config('SET', 'requirepass', '');
    await link.close();
  });

  test('is REDIS_UNAVAILABLE in one sentence without a server or a host', async () => {
    const cases: [string, string][] = [
      ['redis://127.0.0.1:1', 'the connection was refused'],
      ['redis://no-such-host.invalid:6379', 'no'],
      [`unix://${home}/none.sock`, 'the socket does not exist'],
      ['http://example.com', 'is not a Redis address'],
      ['nonsense', 'is not a URL'],
    ];
    for (const [redisUrl, words] of cases) {
      const error = (await connectRedis({ home, redisUrl }).catch((thrown: unknown) => thrown)) as Error;
      expect(error).toMatchObject({ code: 'REDIS_UNAVAILABLE', hint: expect.any(String) as string });
      expect(error.message).toContain(words);
    }
  });

  test('is parsed in all its forms', () => {
    expect(parseRedisUrl('redis://u:p%40@h:1/3')).toEqual({
      options: { host: 'h', port: 1, db: 3, username: 'u', password: 'p@' },
      name: 'redis://h:1/3',
    });
    expect(parseRedisUrl('redis://:50%off@h').options).toMatchObject({ password: '50%off' });
    expect(parseRedisUrl('/run/50%off.sock').options).toEqual({ path: '/run/50%off.sock' });
    expect(parseRedisUrl('rediss://h').options).toMatchObject({ port: 6379, tls: { servername: 'h' } });
    expect(parseRedisUrl('redis://[::1]:7').options).toMatchObject({ host: '::1', port: 7 });
    expect(parseRedisUrl('/run/r.sock').options).toEqual({ path: '/run/r.sock' });
  });
});

test('a server that may lose jobs is detected', async () => {
  const link = await embedded();
  await link.client.config('SET', 'maxmemory-policy', 'allkeys-lru');
  await link.client.config('SET', 'appendonly', 'no');
  expect((await findRedisProblems(link)).map(({ level }) => level)).toEqual(['bad', 'warn']);
  const far = { client: link.client, address: parseRedisUrl('redis://:secret@far.example') };
  expect((await findRedisProblems(far)).at(-1)).toMatchObject({
    level: 'warn',
    what: 'The password of redis://far.example:6379/0 can be read on the network: the connection is not encrypted.',
  });
  await link.close();
});
