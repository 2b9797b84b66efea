import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { request, type ClientRequest } from 'node:http';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openHttp } from '../../../src/api/http/http-client.ts';
import type { Operations } from '../../../src/api/operations.ts';
import { openHome, type HaloHome } from '../../support/halo/halo-process.ts';
import { openScriptedHome, type ScriptedHome } from '../../support/halo/scripted-home.ts';
import { belowFull } from '../../support/suite/level.ts';
import { created } from '../../support/journal.ts';

/** Clients that follow a run of a real `halo serve`, which must not exhaust it. */

const RUN = '0tbq1aaaaaaaaaaa';
const LONG = '0tbq2bbbbbbbbbbb';
const MIB = 1024 * 1024;

let home: ScriptedHome;
let processes: HaloHome;
let url = '';
let pid = 0;
let owner: Operations;
let token = '';

beforeAll(async () => {
  home = openScriptedHome();
  processes = openHome();
  const dir = home.host.home;
  const server = processes.start(['serve', '--listen', '127.0.0.1:0'], { cwd: dir, env: { HALO_HOME: dir } });
  await server.says('token ');
  pid = server.process.pid!;
  url = /api +(\S+)/.exec(server.stdout())?.[1] ?? '';
  token = readFileSync(join(dir, 'api-token'), 'utf8').trim();
  owner = openHttp({ url, token });
});
afterAll(async () => {
  await processes.close();
  await home.remove();
});

interface Follower {
  request: ClientRequest;
  /** Resolves with the status when the response begins. */
  status: Promise<number>;
  seqs: number[];
  /** Resolves when the stream ends. */
  ended: Promise<void>;
}

/** Each has a connection of its own. */
function follow(runId: string, withToken = token): Follower {
  const path = `${url}/v1/runs/${runId}/events?after=0&follow=true`;
  const asked = request(path, { agent: false, headers: { authorization: `Bearer ${withToken}` } });
  const seqs: number[] = [];
  let finish = () => {};
  const ended = new Promise<void>((resolve) => (finish = resolve));
  const status = new Promise<number>((resolve, reject) => {
    asked.on('error', reject);
    asked.on('response', (answer) => {
      let rest = '';
      answer.on('error', () => undefined).on('close', finish);
      answer.setEncoding('utf8').on('data', (text: string) => {
        const lines = (rest + text).split('\n');
        rest = lines.pop() ?? '';
        for (const line of lines)
          if (line !== '') seqs.push((JSON.parse(line) as { event: { seq: number } }).event.seq);
      });
      resolve(answer.statusCode ?? 0);
    });
  });
  status.catch(() => undefined);
  asked.end();
  return { request: asked, status, seqs, ended };
}

/** What the kernel knows of the server. */
function resources(): { memory: number; runFiles: number; watches: number; sockets: number } {
  const entries = readdirSync(`/proc/${pid}/fd`).map((fd) => {
    try {
      return { target: readlinkSync(`/proc/${pid}/fd/${fd}`), info: readFileSync(`/proc/${pid}/fdinfo/${fd}`, 'utf8') };
    } catch {
      return { target: '', info: '' };
    }
  });
  const count = (test: (entry: { target: string }) => boolean) => entries.filter(test).length;
  return {
    memory: 1024 * Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]),
    runFiles: count(({ target }) => target.includes('/runs/')),
    watches: entries.reduce((sum, { info }) => sum + info.split('inotify wd:').length - 1, 0),
    sockets: count(({ target }) => target.startsWith('socket:')),
  };
}

const numbers = (upTo: number) => Array.from({ length: upTo }, (_, index) => index + 1);

/** A user holds up to 250 streams; the owner more. */
const CLIENTS = belowFull() === false ? 1000 : 300;

describe('incident follower-flood: many clients follow one run', () => {
  it('get every event once and in order, while others are answered, and leave nothing in the server', async () => {
    await home.addRun([created(RUN, 5), { type: 'run.started' }]);
    await owner.getRun({ runId: RUN });
    const before = resources();
    // The server ends connections whose request does not arrive in its time: on a busy machine, those of many clients.
    const followers: Follower[] = [];
    while (followers.length < CLIENTS) {
      const more = numbers(100).map(() => follow(RUN));
      followers.push(...more);
      expect(new Set(await Promise.all(more.map(({ status }) => status)))).toEqual(new Set([200]));
    }
    let slowest = 0;
    const answering = (async () => {
      for (let index = 0; index < 20; index += 1) {
        const begin = performance.now();
        await owner.getRun({ runId: RUN });
        slowest = Math.max(slowest, performance.now() - begin);
      }
    })();
    for (let index = 0; index < 20; index += 1)
      await home.append(RUN, { type: 'run.claimed', owner: `worker-${index}` });
    await answering;
    await expect.poll(() => followers.filter(({ seqs }) => seqs.length === 22).length).toBe(CLIENTS);
    for (const { seqs } of followers) expect(seqs).toEqual(numbers(22));
    expect(slowest).toBeLessThan(30_000);
    expect(resources().memory - before.memory).toBeLessThan(300 * MIB);
    for (const { request: asked } of followers) asked.destroy();
    // The connections of `owner` stay open.
    const rest = {
      ...before,
      memory: expect.any(Number) as number,
      sockets: expect.toSatisfy((n: number) => n < 20) as number,
    };
    await expect.poll(resources).toEqual(rest);
  });

  it('a user may hold 250 streams, whatever the number of tokens, and gets others when these have ended', async () => {
    await owner.addUser({ name: 'ann', role: 'viewer' });
    await owner.addUser({ name: 'bob', role: 'viewer' });
    const tokens = [await owner.createToken({ name: 'ann' }), await owner.createToken({ name: 'ann' })];
    const first = numbers(250).map((index) => follow(RUN, tokens[index % 2]!.token));
    expect(new Set(await Promise.all(first.map(({ status }) => status)))).toEqual(new Set([200]));
    const ann = openHttp({ url, token: tokens[0]!.token });
    await expect(
      ann.followEvents({ runId: RUN, after: 0, follow: true }).then((events) => events.next()),
    ).rejects.toMatchObject({
      code: 'TOO_MANY_REQUESTS',
      message: 'User ann has 250 open streams, which is the maximum.',
    });
    await expect(ann.getRun({ runId: RUN })).resolves.toMatchObject({ state: { runId: RUN } });
    const bob = follow(RUN, (await owner.createToken({ name: 'bob' })).token);
    expect(await bob.status).toBe(200);
    for (const { request: asked } of [...first, bob]) asked.destroy();
    await expect.poll(() => resources().runFiles).toBe(0);
    const again = follow(RUN, tokens[0]!.token);
    expect(await again.status).toBe(200);
    again.request.destroy();
  });
});

describe('incident unread-stream: clients that never read', () => {
  it('do not make the server keep what it cannot send', async () => {
    const output = 'x'.repeat(32 * 1024);
    const activity = { kind: 'ran', command: 'npm test', exitCode: 1, output } as const;
    const talk = { type: 'agent.activity', story: 'US-001', attempt: 1, activity } as const;
    await home.addRun([created(LONG, 1), { type: 'run.started' }, ...numbers(1000).map(() => talk)]);
    await home.writeRaw(LONG, 'us-001', output.repeat(1000));
    const before = resources().memory;
    const paths = [`/v1/runs/${LONG}/events?after=0&follow=true`, `/v1/runs/${LONG}/raw?follow=true`];
    const clients = numbers(40).map((index) => {
      const client = connect(Number(new URL(url).port), '127.0.0.1')
        .pause()
        .on('error', () => undefined);
      client.write(`GET ${paths[index % 2]} HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer ${token}\r\n\r\n`);
      return client;
    });
    try {
      await expect.poll(() => resources().runFiles).toBeGreaterThanOrEqual(40);
      // All of it would be 1,280 MiB.
      for (let last = -1, now = 0; now > last + 4 * MIB || last < 0;) {
        await sleep(500);
        [last, now] = [now, resources().memory - before];
        expect(now).toBeLessThan(500 * MIB);
      }
    } finally {
      for (const client of clients) client.destroy();
    }
    await expect.poll(() => resources().runFiles).toBe(0);
  });
});
