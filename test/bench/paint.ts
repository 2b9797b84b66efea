import { readFileSync } from 'node:fs';
import type { Browser } from 'playwright-core';
import { PAGE_KEY } from '../../src/core/access/page-key.ts';
import type { JournalEntry } from '../../src/core/journal/events.ts';
import { transcribe } from '../../src/core/transcript/transcript.ts';
import { openStore } from '../../src/store/store.ts';
import { openHome } from '../support/halo/halo-process.ts';
import { created, passed } from '../support/journal.ts';
import { startChromium } from '../support/network/chromium.ts';
import { median, print, showRound, type Measure } from './report.ts';

const STORIES = 100;
const LAST = `US-00${STORIES}`;
/** Of each story, in addition to its phases and gates. */
const ACTIVITIES = 30;
const LIMIT = 10.0;

/**
 * How long a browser with an empty cache takes from the address of a run to its last of 100 stories, whose journal has
 * several thousand events, against the first text of the page to sign in on the same server.
 */
export async function measurePaint({ rounds, json }: { rounds: number; json: boolean }): Promise<void> {
  const home = openHome();
  const browser = await startChromium();
  try {
    const runId = await addRun(home.dir);
    const server = home.start(['serve', '--listen', '127.0.0.1:0'], { cwd: home.dir });
    await server.says('/api-token\n');
    const said = (name: string) => new RegExp(`^${name} +(\\S+)$`, 'm').exec(server.stdout())?.[1] ?? '';
    const site = { url: said('dashboard'), token: readFileSync(said('token'), 'utf8').trim() };
    const measures: Measure[] = [];
    // The first round warms the server and the files of the browser.
    for (let round = -1; round < rounds; round += 1) {
      showRound(round, rounds);
      const floor = await timeOf(browser, site, { path: 'sign-in', selector: 'h1' });
      const halo = await timeOf(browser, site, { path: `#/run/${runId}`, selector: `a[href*="${LAST}"]` });
      if (round >= 0) measures.push({ halo, floor, ratio: halo / floor });
    }
    print({ name: 'paint', measures, ratio: median(measures.map(({ ratio }) => ratio)), limit: LIMIT, json });
  } finally {
    await browser.close();
    await home.close();
  }
}

/** From the navigation to the first frame that shows what `selector` finds, in a browser without cache, in ms. */
async function timeOf(
  browser: Browser,
  { url, token }: { url: string; token: string },
  { path, selector }: { path: string; selector: string },
): Promise<number> {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 } });
  try {
    const form = { token, return: '/' };
    const signedIn = await context.request.post(`${url}sign-in`, { form, headers: { origin: new URL(url).origin } });
    const key = /data-key="([^"]+)"/.exec(await signedIn.text())?.[1];
    const page = await context.newPage();
    await page.addInitScript(`localStorage.setItem('${PAGE_KEY}', '${key}')`);
    await page.addInitScript(`window.shown = new Promise((resolve) => {
      const look = () => {
        if (document.querySelector(${JSON.stringify(selector)}) === null) requestAnimationFrame(look);
        else requestAnimationFrame(() => resolve(performance.now()));
      };
      requestAnimationFrame(look);
    })`);
    await page.goto(`${url}${path}`, { waitUntil: 'commit' });
    return await page.evaluate<number>('window.shown');
  } finally {
    await context.close();
  }
}

async function addRun(home: string): Promise<string> {
  const store = openStore(home, { transcribe });
  const first = created(undefined, STORIES);
  const origin = { haloVersion: '0.1.0', agent: { name: 'codex' as const }, args: [], config: {} };
  await store.createRun({ ...first, prdIsHere: false }, origin);
  const entries = first.prd.stories.flatMap(({ id }) => passed(id).flatMap((entry) => withActivities(entry, id)));
  await store.append(first.runId, [{ type: 'run.started' }, ...entries]);
  return first.runId;
}

function withActivities(entry: JournalEntry, story: string): JournalEntry[] {
  if (entry.type !== 'phase.ended' || entry.phase !== 'agent') return [entry];
  const activities = Array.from({ length: ACTIVITIES }, (_, step): JournalEntry => {
    const command = `npm test -- test/cart-${step}.test.ts`;
    const activity = {
      kind: 'ran',
      command,
      exitCode: 0,
      output: 'ok: a line of output of a test\n'.repeat(10),
    } as const;
    return { type: 'agent.activity', story, attempt: 1, activity };
  });
  return [...activities, entry];
}
