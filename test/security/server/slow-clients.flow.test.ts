import { readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openHttp } from '../../../src/api/http/http-client.ts';
import { buildApp } from '../../../src/api/http/http-server.ts';
import { openHome, type HaloHome } from '../../support/halo/halo-process.ts';
import { ownerAccess } from '../../support/halo/owner-access.ts';
import { openScriptedHome } from '../../support/halo/scripted-home.ts';
import { created } from '../../support/journal.ts';

/** Clients that hold connections of a server open by sending or reading almost nothing. */

let home: HaloHome;
let url = '';
let token = '';

beforeAll(async () => {
  home = openHome();
  const server = home.start(['serve', '--listen', '127.0.0.1:0'], { cwd: home.dir });
  await server.says('token ');
  url = /api +(\S+)/.exec(server.stdout())?.[1] ?? '';
  token = readFileSync(join(home.dir, 'api-token'), 'utf8').trim();
});
afterAll(() => home.close());

/** Sends `head`, then a byte every 100 ms. Resolves with what came until the server closed the connection. */
function drip(to: string, head: string, byte: string): Promise<string> {
  const client = connectTo(to);
  client.write(head);
  const timer = setInterval(() => client.write(byte), 100);
  let text = '';
  client.on('data', (bytes: Buffer) => (text += bytes.toString()));
  return new Promise((resolve) => client.on('close', () => resolve(text))).then(() => {
    clearInterval(timer);
    return text;
  });
}

function connectTo(to: string): Socket {
  const { port, hostname } = new URL(to);
  return connect(Number(port), hostname).on('error', () => undefined);
}

const head = (authorization: string) =>
  `POST /v1/runs HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: ${authorization}\r\n`;
const BODY = 'content-type: application/json\r\ncontent-length: 8000000\r\n\r\n{"prd":"';

describe('incident slow-client: a client sends a byte at a time', () => {
  it('is cut off when the headers take longer than ten seconds, or nothing comes, while others are answered', async () => {
    const begin = performance.now();
    const slow = [drip(url, `GET /healthz HTTP/1.1\r\nx-slow: `, 'x'), drip(url, '', '')];
    await expect(openHttp({ url, token }).list()).resolves.toEqual([]);
    for (const text of await Promise.all(slow)) expect(text).toContain('408');
    expect(performance.now() - begin).toBeLessThan(18_000);
  });

  it.each([
    ['the token', 'Bearer a-token-of-the-test'],
    ['a wrong token', 'Bearer wrong'],
  ])('is cut off when the body takes too long, with %s', async (_what, authorization) => {
    const scripted = openScriptedHome();
    const access = ownerAccess(scripted.operations.callRemotely, 'a-token-of-the-test');
    const app = buildApp({ access, timeouts: { headersMs: 300, requestMs: 1_000 } });
    try {
      const answer = await drip(await app.listen({ host: '127.0.0.1', port: 0 }), head(authorization) + BODY, 'x');
      expect(answer).toMatch(/ 40[18] /);
    } finally {
      await app.close();
      await scripted.remove();
    }
  });

  it('is cut off when it stops to read a stream', async () => {
    const run = '0tbq1aaaaaaaaaaa';
    const scripted = openScriptedHome();
    const access = ownerAccess(scripted.operations.callRemotely, 'a-token-of-the-test');
    const app = buildApp({ access, timeouts: { stalledMs: 1_000 } });
    try {
      await scripted.addRun([created(run, 1), { type: 'run.started' }]);
      await scripted.writeRaw(run, 'us-001', 'x'.repeat(32 * 1024 * 1024));
      const client = connectTo(await app.listen({ host: '127.0.0.1', port: 0 })).pause();
      client.write(
        `GET /v1/runs/${run}/raw?follow=true HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer a-token-of-the-test\r\n\r\n`,
      );
      const connections = () =>
        new Promise<number>((resolve) => app.server.getConnections((_error, count) => resolve(count)));
      await expect.poll(connections).toBe(1);
      await expect.poll(connections, { timeout: 8_000 }).toBe(0);
      client.destroy();
    } finally {
      await app.close();
      await scripted.remove();
    }
  });
});
