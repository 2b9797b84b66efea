import { connect, type Socket } from 'node:net';
import { describe, it } from 'vitest';
import { openHttp } from '../../../src/api/http/http-client.ts';
import { buildApp } from '../../../src/api/http/http-server.ts';
import { ownerAccess } from '../../support/halo/owner-access.ts';
import { openScriptedHome } from '../../support/halo/scripted-home.ts';
import { created } from '../../support/journal.ts';

/** Clients that hold connections of a server open by sending or reading almost nothing. */

const TOKEN = 'a-token-of-the-test';

/** A server in this process that waits only for as long as `timeouts` say. */
async function serve(timeouts: NonNullable<Parameters<typeof buildApp>[0]['timeouts']>) {
  const scripted = openScriptedHome();
  const app = buildApp({ access: ownerAccess(scripted.operations.callRemotely(), TOKEN), timeouts });
  const close = () => app.close().then(() => scripted.remove());
  return { scripted, app, url: await app.listen({ host: '127.0.0.1', port: 0 }), close };
}

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

describe.concurrent('incident slow-client: a client sends a byte at a time', () => {
  it('is cut off when the headers take too long, or nothing comes, while others are answered', async ({ expect }) => {
    const { url, close } = await serve({ headersMs: 500 });
    try {
      const slow = [drip(url, `GET /healthz HTTP/1.1\r\nx-slow: `, 'x'), drip(url, '', '')];
      await expect(
        openHttp({ url, token: TOKEN })
          .listRuns()
          .then(({ runs }) => runs),
      ).resolves.toEqual([]);
      for (const text of await Promise.all(slow)) expect(text).toContain('408');
    } finally {
      await close();
    }
  });

  it('has ten seconds for the headers and five minutes for a request, if nothing else is said', async ({ expect }) => {
    const { app, close } = await serve({});
    expect(app.server).toMatchObject({ headersTimeout: 10_000, requestTimeout: 300_000 });
    await close();
  });

  it.for([
    ['the token', `Bearer ${TOKEN}`],
    ['a wrong token', 'Bearer wrong'],
  ] as const)('is cut off when the body takes too long, with %s', async ([, authorization], { expect }) => {
    const { url, close } = await serve({ headersMs: 300, requestMs: 1_000 });
    try {
      expect(await drip(url, head(authorization) + BODY, 'x')).toMatch(/ 40[18] /);
    } finally {
      await close();
    }
  });

  it('is cut off when it stops to read a stream', async ({ expect }) => {
    const run = '0tbq1aaaaaaaaaaa';
    const { app, scripted, url, close } = await serve({ stalledMs: 1_000 });
    try {
      await scripted.addRun([created(run, 1), { type: 'run.started' }]);
      await scripted.writeRaw(run, 'us-001', 'x'.repeat(32 * 1024 * 1024));
      const client = connectTo(url).pause();
      client.write(
        `GET /v1/runs/${run}/raw?follow=true HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer ${TOKEN}\r\n\r\n`,
      );
      const connections = () =>
        new Promise<number>((resolve) => app.server.getConnections((_error, count) => resolve(count)));
      await expect.poll(connections).toBe(1);
      await expect.poll(connections).toBe(0);
      client.destroy();
    } finally {
      await close();
    }
  });
});
