import { spawnSync } from 'node:child_process';
import { lstatSync, lutimesSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { LockBusyError, withLock } from '../../src/lib/lock.ts';
import { startOf } from '../../src/lib/process-identity.ts';
import { sleep } from '../../src/lib/sleep.ts';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'halo-lock-'));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

test('only one of many callers is inside at a time, and nothing is left behind', async () => {
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

test('the lock is free again when the work throws', async () => {
  const path = join(dir, 'l');
  await expect(withLock(path, () => Promise.reject(new Error('no')))).rejects.toThrow('no');
  await expect(withLock(path, () => Promise.resolve(7))).resolves.toBe(7);
});

test('a lock of before a restart of the machine is free, whoever has its process id and its time now', async () => {
  const path = join(dir, 'l');
  const stat = readFileSync('/proc/self/stat', 'latin1');
  const ticks = stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? '';
  const other = startOf(process.pid).slice(ticks.length) === '0000' ? '0001' : '0000';
  for (const start of [ticks, `${ticks}${other}`]) {
    symlinkSync(`${hostname()}:${process.pid}:${start}:abc`, path);
    await expect(withLock(path, () => Promise.resolve(7), { waitMs: 1_000 })).resolves.toBe(7);
  }
  symlinkSync(`${hostname()}:${process.pid}:${startOf(process.pid)}:abc`, path);
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

test('a lock of another host is waited for, and named when it stays', async () => {
  const path = join(dir, 'l');
  symlinkSync('elsewhere:1:1:abc', path);
  const error = await withLock(path, () => Promise.resolve(), { waitMs: 20 }).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(LockBusyError);
  expect((error as LockBusyError).owner).toBe('elsewhere:1');
  expect(lstatSync(path).isSymbolicLink()).toBe(true);
});

test('a lock of another host that nobody renews is given up for dead', async () => {
  const path = join(dir, 'l');
  symlinkSync('elsewhere:1:1:abc', path);
  await sleep(20);
  await expect(withLock(path, () => Promise.resolve('in'), { staleMs: 5 })).resolves.toBe('in');
});

test('a lock of another host with a time in the future is given up, too, when nobody renews it', async () => {
  const path = join(dir, 'lock');
  symlinkSync('elsewhere:1:2:abc', path);
  lutimesSync(path, Date.now() / 1000 + 86_400, Date.now() / 1000 + 86_400);
  await expect(withLock(path, () => Promise.resolve('in'), { staleMs: 50, waitMs: 5_000 })).resolves.toBe('in');
});

test('hazard 33: a lock of another host that is renewed is not given up, however wrong the clock here is', async () => {
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
