import type { FastifyInstance } from 'fastify';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { buildApp } from '../../../src/api/http/http-server.ts';
import { openScriptedHome, type ScriptedHome } from '../../support/halo/scripted-home.ts';
import { ownerAccess } from '../../support/halo/owner-access.ts';
import { succeeded } from '../../support/journal.ts';

const TOKEN = 'a-token-of-the-test';
const RUN = '0tbq1aaaaaaaaaaa';

let home: ScriptedHome;
let app: FastifyInstance;

beforeEach(async () => {
  home = openScriptedHome();
  app = buildApp({ access: ownerAccess(home.operations.callRemotely(), TOKEN) });
  await home.addRun(succeeded(RUN));
});
afterEach(async () => {
  await app.close();
  await home.remove();
});

async function read(headers: Record<string, string> = {}) {
  const { body, headers: answered } = await app.inject({
    url: `/v1/runs/${RUN}/events?follow=true`,
    headers: { authorization: `Bearer ${TOKEN}`, accept: 'text/event-stream', ...headers },
  });
  const ids = [...body.matchAll(/^id: (.*)$/gm)].map(([, id]) => Number(id));
  return { body, ids, type: answered['content-type'] };
}

describe('server-sent events', () => {
  it('have the seq of each event as their id, and say when nothing follows', async () => {
    const { body, ids, type } = await read();
    expect(type).toBe('text/event-stream; charset=utf-8');
    expect(ids.length).toBeGreaterThan(10);
    expect(ids).toEqual(ids.map((_id, index) => index + 1));
    expect(body.endsWith('event: end\ndata: {}\n\n')).toBe(true);
  });

  it('continue after Last-Event-ID without a gap or a repetition', async () => {
    const { ids } = await read();
    expect((await read({ 'last-event-id': '5' })).ids).toEqual(ids.slice(5));
  });

  it('refuse a Last-Event-ID that is not a seq', async () => {
    expect((await read({ 'last-event-id': 'x' })).body).toContain('"code":"USAGE"');
  });
});
