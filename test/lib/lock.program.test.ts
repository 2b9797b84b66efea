import { spawnSync } from 'node:child_process';
import {
  lstatSync,
  lutimesSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, expect, test, vi } from 'vitest';
import { acquireLock, isLocked, LockBusyError, withLock } from '../../src/lib/lock.ts';
import { processStartTime } from '../../src/lib/process-identity.ts';
import { sleep } from '../../src/lib/async.ts';
import { tempDir } from '../support/temp-dir.ts';

let dir: string;
beforeEach(() => {
  dir = tempDir('halo-lock');
});

test('a lock is held by only one of many callers at a time, and nothing is left behind', async () => {
  let inside = 0;
  let most = 0;
  const enter = () =>
    withLock(join(dir, 'l'), async () => {
      most = Math.max(most, ++inside);
      await sleep(1);
      inside--;
    });
  await Promise.all(Array.from({ length: 20 }, enter));
  expect(most).toBe(1);
  expect(readdirSync(dir)).toEqual([]);
});

test('hazard 53: a file in the place of a lock, as some backups restore links, is free', async () => {
  const path = join(dir, 'l');
  writeFileSync(path, `${hostname()}:${process.pid}:${processStartTime(process.pid)}:abc`);
  expect(await isLocked(path)).toBe(false);
  expect(await withLock(path, () => Promise.resolve('done'), { waitMs: 1_000 })).toBe('done');
  expect(readdirSync(dir)).toEqual([]);
});

test('a lock that another process has taken over is not released', async () => {
  const path = join(dir, 'l');
  await withLock(path, () => {
    unlinkSync(path);
    symlinkSync('elsewhere:1:1:abc', path);
    return Promise.resolve();
  });
  expect(readlinkSync(path)).toBe('elsewhere:1:1:abc');
});

test('is free again when the work throws', async () => {
  const path = join(dir, 'l');
  await expect(withLock(path, () => Promise.reject(new Error('no')))).rejects.toThrow('no');
  await expect(withLock(path, () => Promise.resolve(7))).resolves.toBe(7);
});

test('a lock from before a restart of the machine is free, even if its process id and start time are in use again', async () => {
  const path = join(dir, 'l');
  const stat = readFileSync('/proc/self/stat', 'latin1');
  const ticks = stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? '';
  const other = processStartTime(process.pid).slice(ticks.length) === '0000' ? '0001' : '0000';
  for (const start of [ticks, `${ticks}${other}`]) {
    symlinkSync(`${hostname()}:${process.pid}:${start}:abc`, path);
    await expect(withLock(path, () => Promise.resolve(7), { waitMs: 1_000 })).resolves.toBe(7);
  }
  symlinkSync(`${hostname()}:${process.pid}:${processStartTime(process.pid)}:abc`, path);
  await expect(withLock(path, () => Promise.resolve(7), { waitMs: 50 })).rejects.toThrow(LockBusyError);
});

test('a lock of a dead process is taken over, by exactly one of many', async () => {
  const path = join(dir, 'l');
  const dead = spawnSync(process.execPath, ['-e', '']).pid;
  symlinkSync(`${hostname()}:${dead}:1:abc`, path);
  let inside = 0;
  let most = 0;
  const enter = () =>
    withLock(path, async () => {
      most = Math.max(most, ++inside);
      await sleep(1);
      inside--;
    });
  await Promise.all(Array.from({ length: 10 }, enter));
  expect(most).toBe(1);
  expect(readdirSync(dir)).toEqual([]);
});

test('a lock whose process id belongs to another process now is taken over', async () => {
  const path = join(dir, 'l');
  symlinkSync(`${hostname()}:${process.pid}:1:abc`, path);
  await expect(withLock(path, () => Promise.resolve('in'))).resolves.toBe('in');
});

test('a lock of another host is awaited, and named if it remains', async () => {
  const path = join(dir, 'l');
  symlinkSync('elsewhere:1:1:abc', path);
  const error = await withLock(path, () => Promise.resolve(), { waitMs: 20 }).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(LockBusyError);
  expect((error as LockBusyError).owner).toBe('elsewhere:1');
  expect(lstatSync(path).isSymbolicLink()).toBe(true);
});

test('a lock of another host that is not renewed is taken over', async () => {
  const path = join(dir, 'l');
  symlinkSync('elsewhere:1:1:abc', path);
  await sleep(20);
  await expect(withLock(path, () => Promise.resolve('in'), { staleMs: 5 })).resolves.toBe('in');
});

test('a lock of another host with a time in the future is taken over if it is not renewed', async () => {
  const path = join(dir, 'lock');
  symlinkSync('elsewhere:1:2:abc', path);
  lutimesSync(path, Date.now() / 1000 + 86_400, Date.now() / 1000 + 86_400);
  await expect(withLock(path, () => Promise.resolve('in'), { staleMs: 50, waitMs: 5_000 })).resolves.toBe('in');
});

test('hazard 33: a lock of another host that is renewed is kept, even with a wrong clock here', async () => {
  const path = join(dir, 'renewed');
  symlinkSync('elsewhere:1:1:abc', path);
  const inAnHour = Date.now() + 3_600_000;
  const clock = vi.spyOn(Date, 'now').mockReturnValue(inAnHour);
  try {
    await expect(withLock(path, () => Promise.resolve('in'), { waitMs: 50 })).rejects.toThrow('locked by elsewhere:1');
  } finally {
    clock.mockRestore();
  }
});

describe('a lock of another container of this machine', () => {
  /** As its holder would have written it, with its host name and process id. */
  const leave = (path: string, socket: string, start = processStartTime(process.pid)) =>
    symlinkSync(`container:7:${start}:abcdef:${socket}`, path);
  const take = (path: string) =>
    withLock(path, () => Promise.resolve('taken'), { waitMs: 0, isProvable: true }).catch((error: unknown) =>
      error instanceof LockBusyError ? 'busy' : String(error),
    );

  test('is free as soon as its holder has ended, and busy while it lives', async () => {
    const path = join(dir, 'l');
    const held = await acquireLock(path, { isProvable: true });
    const [, , start = '', , socket = ''] = readlinkSync(path).split(':');
    unlinkSync(path);
    leave(path, socket, start);
    expect(await take(path)).toBe('busy');
    await held.release();
    expect(await take(path)).toBe('taken');
    expect(readdirSync(dir)).toEqual([]);
  });

  test.each([
    ['its holder ended in another boot of some machine', '00000000.sock', `1${'0'.repeat(4)}`],
    ['its holder has no socket', '', undefined],
    ['its holder names another file', '../../x', undefined],
  ])('is busy until it is stale if %s', async (_what, socket, start) => {
    const path = join(dir, 'l');
    leave(path, socket, start);
    expect(await take(path)).toBe('busy');
  });
});
