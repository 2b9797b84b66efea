import type { Locator } from 'playwright-core';
import { beforeAll, describe, expect, it, vi } from 'vitest';
import type { HeldChange } from '../support/halo/scripted-home.ts';
import { hasChromium } from '../support/network/chromium.ts';
import { shareDashboard } from '../support/network/dashboard.ts';
import { PATIENCE } from '../support/patience.ts';
import { skipFor } from '../support/skip.ts';
import { CHANGE } from './review-change.ts';

describe('the review', skipFor(!hasChromium && 'chromium is missing'), () => {
  const { home, page, show } = shareDashboard();

  beforeAll(() => home.addHeldRun('heldrun1', CHANGE));

  /** Opens the review of a held commit, by default of the one that no test decides about. */
  async function openReview(runId = 'heldrun1', change?: HeldChange): Promise<void> {
    if (change !== undefined) await home.addHeldRun(runId, change);
    await show(`run/${runId}/diff/US-001`, 'Review US-001');
    await page.locator('.diff-file').first().waitFor();
  }

  function fileOf(path: string): Locator {
    return page.getByRole('region', { name: path, exact: true });
  }

  /** The lines of a file that is on the page, as they are drawn. */
  function lineOf(path: string, text: string): Locator {
    return fileOf(path).locator('[data-row]', { hasText: text });
  }

  function numberOf(path: string, line: number, side = ''): Locator {
    return fileOf(path).getByRole('button', { name: `Comment on ${side}line ${line}`, exact: true });
  }

  it('colors code and the changed part of a line, side by side if the person chose it before', async () => {
    await openReview();
    const path = 'src/shop/cart.ts';
    const line = lineOf(path, 'item.count');
    expect(await line.locator('.code-keyword').first().innerText()).toBe('return');
    expect(await line.locator('.changed').allInnerTexts()).toEqual(
      [' * item.', 'count'].map((each) => expect.stringContaining(each.trim().slice(-5)) as string),
    );
    await page.getByRole('button', { name: 'Split' }).click();
    await page.reload();
    const split = lineOf(path, 'item.count');
    await split.waitFor();
    const [before = '', after = ''] = await split.locator('code').allInnerTexts();
    expect([before.trim(), after.trim()]).toEqual([
      'return this.items.reduce((sum, item) => sum + item.price, 0);',
      'return this.items.reduce((sum, item) => sum + item.price * item.count, 0);',
    ]);
  });

  it('chooses lines by arrow keys', async () => {
    await openReview();
    await numberOf('src/shop/cart.ts', 12).focus();
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Shift+ArrowDown');
    await page.keyboard.press('Enter');
    await page.getByLabel('Comment on lines 13 to 14').fill('Both.');
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'Your comments (0)' }).waitFor();
  });

  it('comments on the first change by a key, after which the focus is on its line again', async () => {
    await openReview();
    const hint = page.getByText('Click a line number, or press c, to comment.');
    await hint.waitFor();
    await page.keyboard.press('c');
    await page.getByRole('textbox', { name: 'Comment on old line 1' }).fill('Why on every push?');
    await page.keyboard.press('Control+Enter');
    const focused = () => page.evaluate('document.activeElement.getAttribute("aria-label")');
    await vi.waitFor(async () => expect(await focused()).toBe('Comment on old line 1'), PATIENCE);
    expect(await hint.count()).toBe(0);
    const icon = await page.evaluate('getComputedStyle(document.activeElement, "::before").content');
    expect(icon, 'the icon of the focused number').toContain('+');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Shift+ArrowDown');
    await page.keyboard.press('c');
    await page.getByRole('textbox', { name: 'Comment on lines 1 to 2' }).fill('Dropped.');
    await page.keyboard.press('Escape');
    await vi.waitFor(async () => expect(await focused()).toBe('Comment on line 2'), PATIENCE);
    await page.getByRole('button', { name: 'Your comments (1)' }).waitFor();
  });

  it('keeps the button that sends back in view, however many comments there are', async () => {
    await openReview();
    const number = numberOf('src/shop/cart.ts', 12);
    for (let count = 1; count <= 8; count++) {
      await number.click();
      await page
        .getByRole('textbox', { name: 'Comment on line 12', exact: true })
        .fill(`Comment ${count}\n\nwith\nmany\nlines`);
      await page.keyboard.press('Control+Enter');
      await page.getByRole('button', { name: `Your comments (${count})` }).waitFor();
    }
    await page.getByRole('button', { name: 'Your comments (8)' }).click();
    const panel = (await page.getByRole('region', { name: 'Your comments' }).boundingBox())!;
    const send = (await page.getByRole('button', { name: 'Send back with 8 comments' }).boundingBox())!;
    expect(send.y).toBeGreaterThan(panel.y);
    expect(send.y + send.height, 'inside the panel, without scrolling').toBeLessThanOrEqual(panel.y + panel.height);
  });

  it('goes to files and changes by keys, and remembers which files were viewed', async () => {
    await openReview();
    const current = page.locator('.file-tree [aria-current]');
    await page.keyboard.press('n');
    await vi.waitFor(
      async () => expect(await page.evaluate('document.activeElement.dataset.line')).toBe('1'),
      PATIENCE,
    );
    await page.keyboard.press('j');
    await vi.waitFor(async () => expect(await current.innerText()).toContain('cart.ts'), PATIENCE);
    await page.keyboard.press('v');
    await page.getByText('1 of 5 files viewed').waitFor();
    await page.reload();
    await page.getByText('1 of 5 files viewed').waitFor();
    expect(await page.getByLabel('Viewed: src/shop/cart.ts').isChecked()).toBe(true);
    expect(await lineOf('src/shop/cart.ts', 'item.count').count()).toBe(0);
    await page.getByRole('searchbox', { name: 'Filter files' }).fill('disc test');
    await page.getByText('1 of 5 files, 1 viewed').waitFor();
  });
});
