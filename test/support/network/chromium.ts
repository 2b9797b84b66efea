import { existsSync } from 'node:fs';
import { chromium, type Browser as Chromium, type Page as ChromiumPage } from 'playwright-core';

/** Debian's, preferably without a window: it takes less of the machine. `HALO_SETUP_TESTS=1 npm run setup` installs it. */
const PATH = ['/usr/lib/chromium/chromium-headless-shell', '/usr/bin/chromium'].find((path) => existsSync(path));
export const hasChromium = PATH !== undefined;

/** Starts the browser. Root may not use its sandbox. */
export function startChromium(): Promise<Chromium> {
  return chromium.launch({
    executablePath: PATH ?? 'chromium',
    args: process.getuid?.() === 0 ? ['--no-sandbox'] : [],
  });
}

let shared: Promise<Chromium> | undefined;

/** The browser of this process, for the tests of all files that it executes. It ends with the process. */
export async function shareChromium(): Promise<Chromium> {
  shared ??= startChromium();
  const browser = await shared;
  if (browser.isConnected()) return browser;
  shared = startChromium();
  return shared;
}

/** Collects errors of a page: exceptions, messages of the console, and with them each violation of its content security policy. */
export async function collectProblems(page: ChromiumPage): Promise<string[]> {
  const problems: string[] = [];
  await page.addInitScript(
    `addEventListener('securitypolicyviolation', (event) => console.error('policy violated: ' + event.violatedDirective + ' ' + event.blockedURI))`,
  );
  page.on('pageerror', (error) => problems.push(error.message));
  page.on('console', (message) => {
    if (message.type() === 'error') problems.push(message.text());
  });
  page.on('dialog', (dialog) => {
    problems.push(`dialog: ${dialog.message()}`);
    // A page that closes takes its dialog with it.
    dialog.dismiss().catch(() => undefined);
  });
  return problems;
}
