import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Page } from 'playwright-core';
import { expect } from 'vitest';
import { casesAtLevel } from '../suite/level.ts';

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

type ColorScheme = 'light' | 'dark';

/** The rules that depend on colors. All others have the same result in each color scheme of a window. */
const COLOR_RULES = ['color-contrast', 'link-in-text-block'];

/** The windows in which a screen is checked: whether it is too wide in all, and with axe in these color schemes. */
const WINDOWS = casesAtLevel<{ width: number; colorSchemes: ColorScheme[] }>(
  [
    { width: 1440, colorSchemes: ['light'] },
    { width: 390, colorSchemes: [] },
  ],
  [
    { width: 1440, colorSchemes: ['dark'] },
    { width: 1024, colorSchemes: ['light', 'dark'] },
    { width: 390, colorSchemes: ['light', 'dark'] },
  ],
);

/** Resolves when nothing in the page has changed for so many ms. */
const settled = (ms: number) => `new Promise((resolve) => {
  const end = () => { observer.disconnect(); resolve(); };
  let timer = setTimeout(end, ${ms});
  const observer = new MutationObserver(() => { clearTimeout(timer); timer = setTimeout(end, ${ms}); });
  observer.observe(document.body, { subtree: true, childList: true });
})`;

/** Resolves when nothing in the page changes anymore. */
export async function untilSettled(page: Page): Promise<void> {
  await page.evaluate(settled(100));
}

/**
 * Expects that the page is not wider than its window, and passes axe, in windows of several widths. `prepare` is called in
 * each window. HALO_TEST_SCREENSHOTS names a folder for its pictures.
 */
export async function checkScreen(
  page: Page,
  name: string,
  prepare: (width: number) => Promise<unknown> = () => Promise.resolve(),
): Promise<void> {
  for (const window of WINDOWS) {
    await page.setViewportSize({ width: window.width, height: 900 });
    await prepare(window.width);
    await untilSettled(page);
    await checkWindow(page, name, window);
  }
}

async function checkWindow(page: Page, name: string, { width, colorSchemes }: (typeof WINDOWS)[0]): Promise<void> {
  const overflow = await page.evaluate('document.documentElement.scrollWidth - innerWidth');
  expect(overflow, `${name} at ${width}`).toBeLessThanOrEqual(0);
  const folder = process.env.HALO_TEST_SCREENSHOTS;
  for (const [index, colorScheme] of colorSchemes.entries()) {
    await page.emulateMedia({ colorScheme });
    if (folder !== undefined)
      await page.screenshot({ path: `${folder}/${name}-${width}-${colorScheme}.png`, fullPage: true });
    if (!(await page.evaluate<boolean>('"axe" in globalThis'))) await page.evaluate(AXE);
    const options = { resultTypes: ['violations'], ...(index > 0 && { runOnly: COLOR_RULES }) };
    const found = await page.evaluate<string[]>(
      `axe.run(${JSON.stringify(options)}).then(({ violations }) => violations.map(({ id, nodes }) => id + " " + nodes.map(({ html }) => html).join(" ").slice(0, 400)))`,
    );
    expect(found, `${name} at ${width}, ${colorScheme}`).toEqual([]);
  }
}
