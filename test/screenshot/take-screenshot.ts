import { mkdtempSync, mkdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { serveApi } from '../../src/api/http/serve-api.ts';
import { openLocal } from '../../src/api/local.ts';
import { registerWorker } from '../../src/store/process-registry.ts';
import { startChromium } from '../support/network/chromium.ts';
import { fillDemoHome, NOW } from './demo-home.ts';

const TOKEN = 'the-token-of-the-picture';
const SIZE = { width: 1440, height: 900 };

/** Writes the picture of the dashboard for the README to the path that is given. */
async function takeScreenshot(path: string): Promise<void> {
  const home = mkdtempSync(join(tmpdir(), 'halo-demo-'));
  const host = { home, redisUrl: undefined, apiUrl: undefined, apiToken: TOKEN };
  await fillDemoHome(home);
  const workers = [await registerWorker(home, 'any'), await registerWorker(home, 'any')];
  const operations = openLocal({ host });
  const served = await serveApi({ operations, listen: '127.0.0.1:0', host });
  const browser = await startChromium();
  try {
    const page = await browser.newPage({ viewport: SIZE, colorScheme: 'light', locale: 'en-GB', timezoneId: 'UTC' });
    await page.clock.setFixedTime(NOW);
    await page.goto(served.url);
    await page.getByLabel('Token').fill(TOKEN);
    await page.getByRole('button', { name: 'Sign in with the token' }).click();
    await page.getByText('Remind customers').or(page.getByText('warehouse')).first().waitFor();
    await page.evaluate('document.fonts.ready');
    mkdirSync(dirname(path), { recursive: true });
    await page.screenshot({ path, animations: 'disabled' });
  } finally {
    await browser.close();
    await served.close();
    await operations.close();
    for (const worker of workers) await worker.leave();
    rmSync(home, { recursive: true, force: true });
  }
}

await takeScreenshot(resolve(process.argv[2] ?? 'docs/images/dashboard.png'));
process.exit();
