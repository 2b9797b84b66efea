import { readFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import { resolve } from 'node:path';
import type { Locator } from 'playwright-core';
import { beforeAll, describe, expect, it, vi } from 'vitest';
import type { HeldChange } from '../support/halo/scripted-home.ts';
import { checkScreen } from '../support/network/check-screen.ts';
import { hasChromium } from '../support/network/chromium.ts';
import { shareDashboard } from '../support/network/dashboard.ts';
import { PATIENCE } from '../support/patience.ts';
import { casesAtLevel } from '../support/suite/level.ts';
import { skipFor } from '../support/skip.ts';
import { CHANGE } from './review-change.ts';

const BUNDLE = resolve(import.meta.dirname, '../../dist/web/main.js');
describe('the review', skipFor(!hasChromium && 'chromium is missing'), () => {
  const { home, page, show, problems } = shareDashboard();

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

  async function readFeedback(runId: string) {
    return (await home.operations.getRun({ runId })).state.stories[0]?.feedback?.at(-1);
  }

  /** The lines of a file that is on the page, as they are drawn. */
  function lineOf(path: string, text: string): Locator {
    return fileOf(path).locator('[data-row]', { hasText: text });
  }

  function numberOf(path: string, line: number, side = ''): Locator {
    return fileOf(path).getByRole('button', { name: `Comment on ${side}line ${line}`, exact: true });
  }

  it('shows protected paths, lost tests, gates and costs before the diff', async () => {
    await openReview();
    const facts = page.locator('.fact-line');
    const shown = await facts.innerText();
    for (const text of [
      ...['Protected: .github/workflows/ci.yml', 'Tests removed or weakened'],
      ...['removed: old-cart > has a total', 'deleted file: test/shop/old-cart.test.ts', 'All gates passed', '$1.23'],
    ])
      expect(shown).toContain(text);
    expect(shown).not.toContain('exit code 0');
    for (const name of ['All gates passed', /^5 files/]) await facts.getByRole('button', { name }).click();
    const opened = await facts.innerText();
    for (const text of ['npm test', 'exit code 0', 'gpt-5', '5, 2 of them tests']) expect(opened).toContain(text);
    await expect(fileOf('package-lock.json').innerText()).resolves.toContain('Show 2 changed lines');
    await page.getByRole('button', { name: 'Show 2 changed lines' }).click();
    await lineOf('package-lock.json', '"lockfileVersion": 4').waitFor();
  });

  it('leads from a criterion to its test and to the lines of the test', async () => {
    await openReview();
    const criteria = page.getByRole('region', { name: '1 of 3 criteria with tests that ran' });
    expect(await criteria.innerText()).toMatch(/not in the report[^]*No test named by the agent/);
    await criteria.getByRole('button', { name: 'discount > gives 5 % above 100 EUR' }).click();
    await vi.waitFor(async () => {
      const focused = await page.evaluate('document.activeElement.dataset.line');
      expect(focused, 'the line that names the test').toBe('3');
    }, PATIENCE);
    await expect.poll(() => fileOf('src/shop/cart.ts').getByText('criterion 1').count()).toBe(1);
  });

  it('keeps comments on lines and ranges over a reload, and sends them with a message', async () => {
    await openReview('sentback1', CHANGE);
    const path = 'src/shop/cart.ts';
    await numberOf(path, 12).click();
    await page.getByRole('textbox', { name: 'Comment on line 12', exact: true }).fill('A first thought.');
    await page.keyboard.press('Control+Enter');
    // A range by Shift, one by dragging, and one by keys.
    await numberOf(path, 13).click();
    await numberOf(path, 14).click({ modifiers: ['Shift'] });
    await page.getByLabel('Comment on lines 13 to 14').fill('Use the constant.');
    await page.getByRole('button', { name: 'Add comment' }).click();
    await numberOf('test/shop/discount.test.ts', 3).hover();
    await page.mouse.down();
    await numberOf('test/shop/discount.test.ts', 5).hover();
    await page.mouse.up();
    await page.getByLabel('Comment on lines 3 to 5').fill('Test the limit.');
    await page.keyboard.press('Control+Enter');
    await numberOf(path, 8, 'old ').focus();
    await page.keyboard.press('Enter');
    await page.getByRole('textbox', { name: 'Comment on old line 8', exact: true }).fill('Why was it');
    await page.reload();
    await page.getByRole('textbox', { name: 'Comment on old line 8', exact: true }).press('End');
    await page.keyboard.type(' wrong?');
    await page.getByRole('button', { name: 'Your comments (4)' }).click();
    const panel = page.getByRole('region', { name: 'Your comments' });
    await panel
      .getByRole('listitem')
      .filter({ hasText: 'A first thought.' })
      .getByRole('button', { name: 'Delete' })
      .click();
    await panel.getByRole('button', { name: `${path}, lines 13 to 14` }).click();
    await panel
      .getByRole('listitem')
      .filter({ hasText: 'Use the constant.' })
      .getByRole('button', { name: 'Edit' })
      .click();
    await page.getByLabel('Comment on lines 13 to 14').fill('Use a constant.');
    await page.getByRole('button', { name: 'Save comment' }).click();
    await panel.getByLabel('Message about the whole change').fill('Nearly done.');
    await panel.getByRole('button', { name: 'Send back with 3 comments' }).click();
    await page.getByText(/With 3 comments and a message by /).waitFor();
    const feedback = await readFeedback('sentback1');
    expect(feedback).toMatchObject({ text: 'Nearly done.' });
    expect(
      feedback?.comments.map(({ quote, ...comment }) => ({ ...comment, lines: quote?.split('\n').length })),
    ).toEqual(
      expect.arrayContaining([
        { path, side: 'new', line: 13, endLine: 14, text: 'Use a constant.', lines: 2 },
        { path: 'test/shop/discount.test.ts', side: 'new', line: 3, endLine: 5, text: 'Test the limit.', lines: 3 },
        { path, side: 'old', line: 8, text: 'Why was it wrong?', lines: 1 },
      ]),
    );
    await vi.waitFor(async () => {
      expect(await page.getByRole('button', { name: /Your comments|Send back|Approve/ }).count()).toBe(0);
    }, PATIENCE);
    await page.reload();
    await page.getByText('Earlier feedback (1)').waitFor();
  });

  it('approves by a key after a question about what halo flags, and says what happened', async () => {
    await openReview('approved1', CHANGE);
    await page.keyboard.press('a');
    const question = page.getByRole('dialog', { name: 'Approve US-001 with what halo flags in it?' });
    await question.getByText('changes protected paths: .github/workflows/ci.yml').waitFor();
    expect((await home.operations.getRun({ runId: 'approved1' })).state.stories[0]?.held).toBeDefined();
    await question.getByRole('button', { name: 'Approve' }).click();
    await page
      .getByRole('status')
      .getByText(/US-001 is approved: \w{7} is on the branch of the run, and not on yours/)
      .waitFor();
    await page.getByRole('link', { name: 'Whole run' }).click();
    await page.getByRole('heading', { name: 'Review approved1' }).waitFor();
    await lineOf('src/shop/cart.ts', 'item.count').waitFor();
  });

  it('lands a run by a key, and says why no pull request can be opened', async () => {
    await home.addLandedRun('landed01');
    await show('run/landed01/diff', 'Review landed01');
    await page.getByRole('button', { name: 'Open pull request' }).click();
    await page.getByRole('alert').waitFor();
    expect(problems.splice(0)).toEqual([expect.stringContaining('Failed to load resource')]);
    await page.keyboard.press('L');
    await page.getByRole('dialog').getByRole('button', { name: 'Land' }).click();
    await page
      .getByRole('status')
      .getByText(/^main is at \w{7} now\.$/)
      .waitFor();
    await vi.waitFor(async () => {
      expect(await page.getByRole('button', { name: /Land|Open pull request/ }).count()).toBe(0);
    }, PATIENCE);
  });

  it.each(casesAtLevel<[string, number, number]>([['one file', 1, 8_000]], [['500 files', 500, 40]]))(
    'draws only what is near of thousands of lines in %s',
    async (_, files, lines) => {
      const text = (file: number) =>
        Array.from({ length: lines }, (_, line) => `export const value${file}x${line} = ${line}; // line\n`).join('');
      const written = Array.from({ length: files }, (_, file) => [`src/part${file % 7}/file${file}.ts`, text(file)]);
      await openReview(files === 1 ? 'longfile1' : 'manyfile1', {
        files: Object.fromEntries(written) as Record<string, string>,
      });
      const first = page.getByText(/^export const value0x0 /);
      await first.waitFor();
      const rows = page.locator('[data-row]');
      expect(await rows.count()).toBeGreaterThan(40);
      expect(await rows.count()).toBeLessThan(2_000);
      const path = String(
        written
          .map(([name]) => name)
          .sort()
          .at(-1),
      );
      const last = fileOf(path).getByText(new RegExp(`x${lines - 1} `));
      await vi.waitFor(async () => {
        await page.evaluate('scrollTo(0, document.documentElement.scrollHeight)');
        expect(await last.count()).toBe(1);
      }, PATIENCE);
      await vi.waitFor(async () => expect(await first.count(), 'lines far above').toBe(0), PATIENCE);
      expect(await rows.count()).toBeLessThan(2_000);
    },
  );

  it('keeps the scripts of the dashboard small', () => {
    expect(gzipSync(readFileSync(BUNDLE)).length).toBeLessThan(140_000);
  });

  it('passes axe, and is as wide as its window', async () => {
    await openReview();
    await numberOf('src/shop/cart.ts', 12).click();
    await numberOf('src/shop/cart.ts', 14).click({ modifiers: ['Shift'] });
    await page.getByRole('textbox', { name: 'Comment on lines 12 to 14' }).fill('Name the limit of 100 EUR.');
    await page.keyboard.press('Control+Enter');
    await numberOf('test/shop/discount.test.ts', 4).click();
    await page.getByRole('textbox', { name: 'Comment on line 4' }).fill('Test the limit.');
    for (const view of casesAtLevel(['Split'], ['Unified']))
      await checkScreen(page, `review-${view}`, async (width) => {
        if (width > 390) await page.getByRole('button', { name: view, exact: true }).click();
      });
    await page.getByRole('button', { name: 'Your comments' }).click();
    await checkScreen(page, 'review-comments');
  });
});
