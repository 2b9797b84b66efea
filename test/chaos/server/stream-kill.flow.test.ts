import { createServer as createHttpServer } from 'node:http';
import { join } from 'node:path';
import { readFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { openHttp } from '../../../src/api/http/http-client.ts';
import { PAGE_KEY } from '../../../src/core/access/page-key.ts';
import type { JournalEvent } from '../../../src/core/journal/events.ts';
import { transcribe } from '../../../src/core/transcript/transcript.ts';
import type { ListedRun } from '../../../src/api/runs/limited-runs.ts';
import { openStore, type Store } from '../../../src/store/store.ts';
import { openHome, type HaloHome, type HaloProcess } from '../../support/halo/halo-process.ts';
import { created } from '../../support/journal.ts';
import { freePort } from '../../support/network/free-port.ts';
import { PATIENCE } from '../../support/patience.ts';
import { LEVEL, FULL } from '../../support/suite/level.ts';

/** How the dashboard reads a stream. Its types are those of a browser, so that the compiler must not follow the import. */
const READ_EVENTS: string = join(import.meta.dirname, '../../../src/web/page/read-events.ts');
interface PageStreams {
  openEvents: <T>(
    path: string,
    handler: {
      onFrames: (frames: T[]) => void;
      onConnection: (isOpen: boolean) => void;
      onProblem: (problem: unknown) => void;
    },
  ) => () => void;
}

const RUN = '0tbq1aaaaaaaaaaa';
const KILLS = LEVEL < FULL ? 1 : 5;

let home: HaloHome;
let store: Store;
let port: number;

beforeEach(async () => {
  home = openHome();
  store = openStore(home.dir, { transcribe });
  await store.createRun(created(RUN, 1), { haloVersion: '0.1.0', agent: { name: 'codex' }, args: [], config: {} });
  port = await freePort();
});
afterEach(async () => {
  vi.unstubAllGlobals();
  await home.close();
});

describe('hazard 59: a server that is killed while clients follow it', () => {
  it('sends each event once to a command, to a page and to its list of runs, when it is started again', async () => {
    let server = await serve();
    const token = readFileSync(join(home.dir, 'api-token'), 'utf8').trim();
    actAsPage(token);
    const { openEvents } = (await import(READ_EVENTS)) as PageStreams;
    const command: number[] = [];
    const following = (async () => {
      for await (const {
        event: { seq },
      } of await openHttp({ url: urlOf(port), token }).followEvents({
        runId: RUN,
        after: 0,
        follow: true,
      }))
        command.push(seq);
    })();
    const page: number[] = [];
    const listed: ListedRun[] = [];
    const problems: unknown[] = [];
    const rest = { onConnection: () => undefined, onProblem: (problem: unknown) => problems.push(problem) };
    const closePage = openEvents<{ event: JournalEvent }>(`/v1/runs/${RUN}/events?follow=true&after=0`, {
      ...rest,
      onFrames: (frames) => page.push(...frames.map(({ event }) => event.seq)),
    });
    const closeList = openEvents<{ runs: ListedRun[] }>('/v1/run-changes?follow=true', {
      ...rest,
      onFrames: (frames) => listed.push(...frames.flatMap(({ runs }) => runs)),
    });
    for (let kill = 0; kill < KILLS; kill++) {
      const before = await append();
      await vi.waitFor(() => expect([command.at(-1), page.at(-1)]).toEqual([before, before]), PATIENCE);
      server.process.kill('SIGKILL');
      await server.ended;
      await append();
      // Until the server is back, a proxy answers in its place.
      const asked = new Set<string>();
      const proxy = createHttpServer(({ headers, url = '' }, response) => {
        if (headers.accept === 'text/event-stream') asked.add(url);
        response.writeHead(502).end('<html>');
      }).listen(port);
      await vi.waitFor(() => expect(asked.size).toBe(2), PATIENCE);
      proxy.closeAllConnections();
      await new Promise((done) => proxy.close(done));
      server = await serve();
      await append();
    }
    const [{ seq: last = 0 } = {}] = await store.append(RUN, [
      { type: 'run.ended', stopReason: 'SUCCESS', detail: '' },
    ]);
    const all = Array.from({ length: last }, (_, index) => index + 1);
    await following;
    expect(command).toEqual(all);
    await vi.waitFor(() => expect(page.at(-1)).toBe(last), PATIENCE);
    expect(page).toEqual(all);
    await vi.waitFor(() => expect(listed.at(-1)).toMatchObject({ runId: RUN, status: 'ended' }), PATIENCE);
    expect(problems).toEqual([]);
    closePage();
    closeList();
  });
});

/** Further events of the run; returns the number of the last one. */
async function append(): Promise<number> {
  const entries = [1, 2, 3].map(() => ({ type: 'marks.caught_up' as const }));
  return (await store.append(RUN, entries)).at(-1)?.seq ?? 0;
}

async function serve(): Promise<HaloProcess> {
  const server = home.start(['serve', '--listen', `127.0.0.1:${port}`], { cwd: home.dir });
  await server.says('token');
  return server;
}

/** What the dashboard uses of a browser, with a token in place of its session. */
function actAsPage(token: string): void {
  const kept = new Map([[PAGE_KEY, 'the key of a page']]);
  vi.stubGlobal('localStorage', { getItem: (name: string) => kept.get(name) ?? null });
  vi.stubGlobal('dispatchEvent', () => true);
  const { fetch } = globalThis;
  vi.stubGlobal('fetch', (path: string | URL, init: RequestInit = {}) => {
    if (path instanceof URL) return fetch(path, init);
    const headers = { ...(init.headers as Record<string, string>), authorization: `Bearer ${token}` };
    delete (headers as Record<string, unknown>)[PAGE_KEY];
    return fetch(`${urlOf(port)}${path}`, { ...init, headers });
  });
}

function urlOf(at: number): string {
  return `http://127.0.0.1:${at}`;
}
