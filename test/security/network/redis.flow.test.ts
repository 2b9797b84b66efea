import { existsSync, readdirSync, readFileSync, readlinkSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { Queue } from 'bullmq';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { queueOf } from '../../../src/queue/job.ts';
import { readDeadLetters } from '../../../src/queue/dead-letters.ts';
import { openQueue } from '../../../src/queue/queue.ts';
import { connectRedis, type RedisLink } from '../../../src/queue/redis/connect-redis.ts';
import { openHalo, OK, scripted, type TestHalo } from '../../support/halo/halo.ts';
import type { TestRepository } from '../../support/repository/repository.ts';
import { newRepository } from '../../support/repository/new-repository.ts';

/** A client that can reach Redis can write to halo's queue. */

let halo: TestHalo;
let repository: TestRepository;
let link: RedisLink;

beforeAll(async () => {
  halo = await openHalo();
  repository = newRepository({});
  link = await connectRedis(halo.host);
});
afterAll(async () => {
  await link.close();
  await halo.close();
});

describe('attack 36: forged jobs', () => {
  it('are not executed but become dead letters with the reason; runs continue', async () => {
    const tripwire = join(halo.home, 'tripwire');
    const raw = new Queue(queueOf({ lane: '' }), {
      connection: link.client,
      prefix: link.prefix,
      skipVersionCheck: true,
    });
    const forged: [name: string, data: unknown][] = [
      ['story', { runId: 'abcdefgh01', ordinal: 0, command: `touch ${tripwire}` }],
      ['story', { runId: '../../../etc', ordinal: 0 }],
      ['story', JSON.parse('{"runId":"abcdefgh01","ordinal":0,"__proto__":{"home":"/"},"constructor":1}')],
      ['story', { runId: 'abcdefgh01', ordinal: -1 }],
      ['story', null],
      ['story', 'x'.repeat(100_000)],
      ['shell', { command: `touch ${tripwire}` }],
    ];
    const queue = await openQueue(link);
    try {
      for (const [index, [name, data]] of forged.entries()) await raw.add(name, data, { jobId: `forged-${index}` });
      await queue.enqueue({ runId: 'abcdefgh01', ordinal: 0, attempt: 1 });
      await expect.poll(async () => (await readDeadLetters(link)).length).toBe(forged.length + 1);
      const letters = await readDeadLetters(link);
      expect(letters.map(({ reason }) => reason).join('\n')).toContain('there is no run abcdefgh01');
      for (const { data } of letters) expect(data.length).toBeLessThanOrEqual(600);
      const state = await halo.run(repository.root, [{ id: 'A' }], scripted(`echo x > x; ${OK}`));
      expect(state).toMatchObject({ stopReason: 'SUCCESS' });
      await expect
        .poll(() => raw.getJobCounts('delayed', 'waiting', 'active'))
        .toEqual({ delayed: 0, waiting: 0, active: 0 });
      expect(existsSync(tripwire)).toBe(false);
    } finally {
      await queue.close();
      await raw.close();
    }
  });
});

describe('incident redis-port: halo’s own Redis', () => {
  it('listens on no port, and its socket is in a folder that is private to the owner', () => {
    const folder = join(halo.home, 'redis');
    expect(statSync(folder).mode & 0o777).toBe(0o700);
    const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name) && commandOf(name).includes(folder));
    expect(pids.length).toBeGreaterThan(0);
    for (const pid of pids) expect(portsOf(pid)).toEqual([]);
  });
});

function commandOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'latin1');
  } catch {
    return '';
  }
}

/** Ports on which a process listens. */
function portsOf(pid: string): string[] {
  const open = readdirSync(`/proc/${pid}/fd`).map((fd) => readlinkSync(`/proc/${pid}/fd/${fd}`));
  return ['tcp', 'tcp6', 'udp', 'udp6']
    .flatMap((table) => readFileSync(`/proc/${pid}/net/${table}`, 'latin1').trim().split('\n').slice(1))
    .map((line) => line.trim().split(/\s+/))
    .filter(([, , , , , , , , , inode]) => open.includes(`socket:[${inode}]`))
    .map((fields) => fields[1] ?? '');
}
