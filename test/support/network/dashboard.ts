import { createRequire } from 'node:module';
import { resolve } from 'node:path';
import type { Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, expect } from 'vitest';
import { PAGE_KEY } from '../../../src/core/access/page-key.ts';
import { serveApi, type Served } from '../../../src/api/http/serve-api.ts';
import { openScriptedHome, type ScriptedHome } from '../halo/scripted-home.ts';
import { collectProblems, shareChromium } from './chromium.ts';

const ROOT = resolve(import.meta.dirname, '../../..');
const OWNER = 'the-token-of-the-server';
const WIDE = { width: 1440, height: 900 };

/** Builds the dashboard, if its sources have changed. */
const { buildWhenStale } = createRequire(import.meta.url)('../../../scripts/build.cjs') as {
  buildWhenStale: (root: string) => void;
};

/** A served home, and a page of a browser for it. */
export interface OpenedDashboard {
  home: ScriptedHome;
  served: Served;
  page: Page;
  /** Errors of the page; `close` expects none. */
  problems: string[];
  signIn: (token?: string) => Promise<void>;
  /** Opens a screen, and waits for its heading. */
  show: (path: string, heading: string) => Promise<void>;
  close: () => Promise<void>;
}

/** Opens a dashboard for each test of the suite, and closes it after the test. Its parts are those of the running test. */
export function useDashboard(): OpenedDashboard {
  let opened: OpenedDashboard;
  beforeEach(async () => {
    opened = await openDashboard();
  });
  afterEach(() => opened.close());
  return partsOf(() => opened);
}

/**
 * Opens one dashboard for all tests of the suite, and signs in. Each test begins with an empty page, and with a browser that
 * remembers nothing else; the runs of other tests are in the home.
 */
export function shareDashboard(): OpenedDashboard {
  let opened: OpenedDashboard;
  beforeAll(async () => {
    opened = await openDashboard();
    await opened.signIn();
  });
  afterEach(async () => {
    const { page, problems } = opened;
    if (page.url() !== 'about:blank')
      await page.evaluate(
        `for (const name of Object.keys(localStorage)) if (name !== '${PAGE_KEY}') localStorage.removeItem(name)`,
      );
    await page.goto('about:blank');
    await page.setViewportSize(WIDE);
    await page.emulateMedia({ colorScheme: null });
    expect(problems.splice(0)).toEqual([]);
  });
  afterAll(() => opened.close());
  return partsOf(() => opened);
}

/** A dashboard whose parts can be named before it is opened. */
function partsOf(find: () => OpenedDashboard): OpenedDashboard {
  return new Proxy({} as OpenedDashboard, {
    get: (_none, part: keyof OpenedDashboard) => later(() => find()[part]),
  });
}

/** An object or function that is looked up at each use. */
function later<T extends object>(find: () => T): T {
  return new Proxy((() => undefined) as unknown as T, {
    get(_none, key) {
      const found = find();
      const value: unknown = Reflect.get(found, key, found);
      return typeof value === 'function' ? (value.bind(found) as unknown) : value;
    },
    set: (_none, key, value) => Reflect.set(find(), key, value),
    apply: (_none, _this, given: unknown[]) => (find() as (...given: unknown[]) => unknown)(...given),
  });
}

async function openDashboard(): Promise<OpenedDashboard> {
  buildWhenStale(ROOT);
  const home = openScriptedHome();
  const host = { ...home.host, apiToken: OWNER };
  const served = await serveApi({ operations: home.operations, listen: '127.0.0.1:0', host });
  const browser = await shareChromium();
  const page = await browser.newPage({ viewport: WIDE });
  const problems = await collectProblems(page);
  return {
    ...{ home, served, page, problems },
    async signIn(token = OWNER) {
      // As the form does, without its page.
      const form = { form: { token, return: '/' }, headers: { origin: served.url } };
      const signedIn = await page.request.post(`${served.url}/sign-in`, form);
      const key = /data-key="([^"]+)"/.exec(await signedIn.text())?.[1];
      await page.goto(`${served.url}/dashboard/icon.svg`);
      await page.evaluate(`localStorage.setItem('${PAGE_KEY}', '${key}')`);
      await page.goto(served.url);
      await page.getByRole('heading', { name: 'Now' }).waitFor();
    },
    async show(path, heading) {
      await page.goto(`${served.url}/#/${path}`);
      await page.getByRole('heading', { name: heading, level: 1 }).waitFor();
    },
    async close() {
      await page.close();
      await served.close();
      await home.remove();
      expect(problems).toEqual([]);
    },
  };
}
