import type { Locator } from 'playwright-core';
import { beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import type { JournalEntry } from '../../src/core/journal/events.ts';
import type { HeldChange } from '../support/halo/scripted-home.ts';
import { hasChromium } from '../support/network/chromium.ts';
import { shareDashboard, type OpenedDashboard } from '../support/network/dashboard.ts';
import { PATIENCE } from '../support/patience.ts';
import { skipFor } from '../support/skip.ts';

const ATTEMPT = { story: 'US-001', attempt: 1 };

const CART = `import { round } from './money.ts';

/** A cart with the items of a customer. */
export class Cart {
  readonly items: Item[] = [];

  total(): number {
    return this.items.reduce((sum, item) => sum + item.price, 0);
  }
}
`;

/** A change with everything that a review shows. */
const CHANGE: HeldChange = {
  title: 'Discounts for large orders',
  acceptance: [
    'An order above 100 EUR has a discount of 5 %.',
    'An empty cart has the total 0.',
    'The invoice names the discount.',
  ],
  protectedPaths: ['.github/workflows/ci.yml'],
  base: {
    'src/shop/cart.ts': CART,
    'src/shop/money.ts': 'export const round = (value: number) => Math.round(value * 100) / 100;\n',
    'test/shop/old-cart.test.ts': "it('has a total', () => {});\n",
    '.github/workflows/ci.yml': 'on: push\njobs:\n  test:\n    runs-on: ubuntu-latest\n',
    'package-lock.json': '{\n  "lockfileVersion": 3\n}\n',
  },
  files: {
    'src/shop/cart.ts': CART.replace('sum + item.price, 0);', 'sum + item.price * item.count, 0);').replace(
      '\n}\n',
      `

  /** Large orders have a discount. */
  discount(): number {
    const total = this.total();
    return total > 100 ? round(total * 0.05) : 0; // 5 %
  }
}
`,
    ),
    'test/shop/discount.test.ts':
      "import { Cart } from '../../src/shop/cart.ts';\n\nit('gives 5 % above 100 EUR', () => {\n  expect(new Cart().discount()).toBe(0);\n});\n",
    'test/shop/old-cart.test.ts': null,
    '.github/workflows/ci.yml': 'on: [push, pull_request]\njobs:\n  test:\n    runs-on: ubuntu-latest\n',
    'package-lock.json': '{\n  "lockfileVersion": 4\n}\n',
  },
  events: [
    { type: 'model.used', ...ATTEMPT, model: 'gpt-5', told: 'all', usage: usageOf(1.23), tokens: 1000 },
    { type: 'gate.ended', ...ATTEMPT, command: 'npm test', exitCode: 0, ms: 4200, log: 'gates/1.log' },
    { type: 'gate.ended', ...ATTEMPT, command: 'npm run lint', exitCode: 0, ms: 900, log: 'gates/2.log' },
    {
      type: 'tests.compared',
      ...ATTEMPT,
      before: 12,
      after: 12,
      removed: ['old-cart > has a total'],
      skipped: [],
      emptied: [],
    },
    {
      type: 'criteria.claimed',
      ...ATTEMPT,
      reported: true,
      criteria: [
        {
          n: 1,
          tests: [{ name: 'discount > gives 5 % above 100 EUR', found: 'ran' }],
          files: ['src/shop/cart.ts'],
        },
        { n: 2, tests: [{ name: 'cart > is empty', found: 'missing' }], files: [] },
      ],
    },
  ] satisfies JournalEntry[],
};

function usageOf(costUsd: number) {
  return { requests: 3, inputTokens: 1000, cachedTokens: 0, outputTokens: 200, costUsd };
}

describe('the review', skipFor(!hasChromium && 'chromium is missing'), () => {
  const dashboard = shareDashboard();
  let home: OpenedDashboard['home'];
  let page: OpenedDashboard['page'];
  let show: OpenedDashboard['show'];

  beforeEach(() => {
    ({ home, page, show } = dashboard);
  });

  beforeAll(() => dashboard.home.addHeldRun('heldrun1', CHANGE));

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
      await page.getByLabel('Comment on line 12').last().fill(`Comment ${count}\n\nwith\nmany\nlines`);
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
