import { get, type IncomingMessage } from 'node:http';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { JournalEntry } from '../../src/core/journal/events.ts';
import { transcribe } from '../../src/core/transcript/transcript.ts';
import { sleep } from '../../src/lib/async.ts';
import { openStore, type Store } from '../../src/store/store.ts';
import { openHome, type HaloHome } from '../support/halo/halo-process.ts';
import { BASE, COMMIT, created, succeeded } from '../support/journal.ts';
import { copyRuns } from './filled-home.ts';
import { cpuMs } from './processor-time.ts';
import { median, print, showRound, type Measure } from './report.ts';

const PAGES = 50;
const RUNS = 20;
const STORIES = 20;
const ENDED = 10_000;
/** Each run appends an event in this time, and a story has as many activities of its agent. */
const EVENT_MS = 500;
const ACTIVITIES = 40;
/** Time in which all pages have read what there is, and time of a measurement, in ms. */
const SETTLE_MS = 8_000;
const MEASURE_MS = 20_000;
const LIMIT = 0.1;

/**
 * What 50 open pages cost the server, as a share of one processor core: each follows the list of runs and one of 20 runs
 * that append two events a second; in a home with these runs alone, and with 10,000 ended runs.
 */
export async function measureDashboard({ rounds, json }: { rounds: number; json: boolean }): Promise<void> {
  const home = openHome();
  const store = openStore(home.dir, { transcribe });
  try {
    const ended = await addEndedRun(store);
    const running = await addRunningRuns(store);
    report('dashboard', await measure(home, { store, running, rounds }), json);
    // The pass over all runs that a server makes once a day has been made.
    writeFileSync(join(home.dir, 'retention.json'), JSON.stringify({ v: 1, at: new Date().toISOString() }));
    copyRuns(home.dir, Array<string>(ENDED).fill(ended));
    await home.halo(['status'], { cwd: home.dir });
    report('dashboard with 10,000 ended runs', await measure(home, { store, running, rounds }), json);
  } finally {
    await home.close();
  }
}

function report(name: string, measures: Measure[], json: boolean): void {
  print({ name, measures, ratio: median(measures.map(({ ratio }) => ratio)), limit: LIMIT, json });
}

interface Load {
  store: Store;
  running: readonly string[];
  rounds: number;
}

async function measure(home: HaloHome, { store, running, rounds }: Load): Promise<Measure[]> {
  const server = home.start(['serve', '--listen', '127.0.0.1:0'], { cwd: home.dir });
  await server.says('/api-token\n');
  const said = (name: string) => new RegExp(`^${name} +(\\S+)$`, 'm').exec(server.stdout())?.[1] ?? '';
  const stop = new AbortController();
  const pages: Page[] = [];
  const writing = Promise.all(running.map((runId, index) => write(store, { runId, index, signal: stop.signal })));
  try {
    for (let index = 0; index < PAGES; index += 1)
      pages.push(await openPage(said('dashboard'), { token: said('token'), runId: running[index % RUNS] ?? '' }));
    await sleep(SETTLE_MS);
    const pid = server.process.pid ?? 0;
    const measures: Measure[] = [];
    for (let round = 0; round < rounds; round += 1) {
      showRound(round, rounds);
      const [before, cpu, started] = [pages.map(({ events }) => events()), cpuMs(pid), performance.now()];
      await sleep(MEASURE_MS);
      const floor = performance.now() - started;
      const halo = cpuMs(pid) - cpu;
      const fewest = Math.min(...pages.map(({ events }, index) => events() - (before[index] ?? 0)));
      if (fewest < (MEASURE_MS / EVENT_MS) * 0.8) throw new Error(`a page got only ${fewest} events`);
      measures.push({ halo, floor, ratio: halo / floor });
    }
    return measures;
  } finally {
    stop.abort();
    for (const { close } of pages) close();
    await writing;
    server.process.kill('SIGTERM');
    await server.ended;
  }
}

interface Page {
  /** How many events of its run it got. */
  events: () => number;
  close: () => void;
}

async function openPage(url: string, { token, runId }: { token: string; runId: string }): Promise<Page> {
  const secret = readFileSync(token, 'utf8').trim();
  const open = async (path: string): Promise<IncomingMessage> => {
    const headers = { accept: 'text/event-stream', authorization: `Bearer ${secret}` };
    const [response] = (await once(get(new URL(path, url), { headers, agent: false }), 'response')) as [
      IncomingMessage,
    ];
    if (response.statusCode !== 200) throw new Error(`${path}: ${response.statusCode}`);
    return response.on('error', () => undefined);
  };
  const streams = [await open('/v1/run-changes?follow=true'), await open(`/v1/runs/${runId}/events?follow=true`)];
  let events = 0;
  streams[0]?.resume();
  streams[1]?.on('data', (chunk: Buffer) => (events += chunk.toString().split('\ndata: ').length - 1));
  return { events: () => events, close: () => streams.forEach((stream) => stream.destroy()) };
}

async function addEndedRun(store: Store): Promise<string> {
  const [first, ...rest] = succeeded(created().runId);
  if (first?.type !== 'run.created') throw new Error('the first event creates the run');
  await addRun(store, first, rest);
  return first.runId;
}

async function addRunningRuns(store: Store): Promise<string[]> {
  const ids: string[] = [];
  for (let index = 0; index < RUNS; index += 1) {
    const first = created(undefined, STORIES);
    await addRun(store, first, [{ type: 'run.started' }]);
    ids.push(first.runId);
  }
  return ids;
}

async function addRun(store: Store, first: ReturnType<typeof created>, rest: readonly JournalEntry[]): Promise<void> {
  const origin = { haloVersion: '0.1.0', agent: { name: 'codex' as const }, args: [], config: {} };
  await store.createRun({ ...first, prdIsHere: false }, origin);
  await store.append(first.runId, rest);
}

/** Appends the events of a worker, one each time, until the signal is aborted. */
async function write(
  store: Store,
  { runId, index, signal }: { runId: string; index: number; signal: AbortSignal },
): Promise<void> {
  // Not all of them at the same moment.
  await sleep((EVENT_MS / RUNS) * index);
  let due = performance.now();
  for (const entry of workOn()) {
    if (signal.aborted) return;
    await store.append(runId, [entry]);
    due += EVENT_MS;
    await sleep(Math.max(0, due - performance.now()));
  }
}

/** The stories of a run again and again, each with an agent that works for 20 seconds. */
function* workOn(): Generator<JournalEntry> {
  for (let round = 0; ; round += 1) {
    const ref = { story: `US-00${(round % STORIES) + 1}`, attempt: Math.floor(round / STORIES) + 1 };
    yield { type: 'story.started', ...ref, epoch: round + 1, base: BASE };
    for (const phase of ['prepare', 'agent', 'export', 'import', 'gates', 'land'] as const) {
      yield { type: 'phase.started', ...ref, phase };
      for (let step = 0; phase === 'agent' && step < ACTIVITIES; step += 1)
        yield { type: 'agent.activity', ...ref, activity: activityOf(step) };
      yield { type: 'phase.ended', ...ref, phase, ms: EVENT_MS };
    }
    const usage = { requests: 3, inputTokens: 12_345, cachedTokens: 4_000, outputTokens: 678 };
    const end = { verdict: 'passed', stopReason: 'SUCCESS', summary: 'Adds the cart.', usage, commit: COMMIT } as const;
    yield { type: 'story.ended', ...ref, ...end };
  }
}

function activityOf(step: number): (JournalEntry & { type: 'agent.activity' })['activity'] {
  const command = `npm test -- test/cart-${step}.test.ts`;
  if (step % 4 === 0)
    return { kind: 'say', text: `I look at step ${step} of the cart next, and at what uses its total.` };
  if (step % 4 === 1) return { kind: 'run', command };
  if (step % 4 === 2)
    return { kind: 'ran', command, exitCode: 0, output: 'ok: a line of output of a test\n'.repeat(20) };
  return { kind: 'edit', path: `src/cart-${step}.ts`, change: 'update' };
}
