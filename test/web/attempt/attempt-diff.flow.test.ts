import { rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Locator } from 'playwright-core';
import { beforeAll, describe, expect, it, vi } from 'vitest';
import { checkScreen } from '../../support/network/check-screen.ts';
import { hasChromium } from '../../support/network/chromium.ts';
import { shareDashboard } from '../../support/network/dashboard.ts';
import { addSampleRun } from '../../support/network/sample-run.ts';
import { skipFor } from '../../support/skip.ts';
import { PATIENCE } from '../../support/patience.ts';

const STORY = 'run/sample01/story/US-003';
const HELP = patchOf('docs/help.md', 1, ['+Coupons are described here.']);

describe('the diff of an attempt', skipFor(!hasChromium && 'chromium is missing'), () => {
  const { page, show, home, problems } = shareDashboard();

  beforeAll(() => addRun('sample01'));
  /** Adds a run with two attempts at US-003, whose diffs are these by default. */
  async function addRun(
    runId: string,
    first = patchOf('src/price.js', 7, [' const a = 1;', ' ', '+const tax = 3;']) + HELP,
    second = patchOf('src/price.js', 7, ['-const a = 1;', '+const a = 2;', ' ']) + HELP,
  ): Promise<string> {
    const { write } = await addSampleRun(home, runId);
    write('US-003', 1, 'diff.patch', first);
    write('US-003', 2, 'diff.patch', second);
    return `run/${runId}/story/US-003`;
  }

  function fileOf(path: string): Locator {
    return page.getByRole('region', { name: path, exact: true });
  }

  it('has the line numbers of the files, colors, and files that can be collapsed', async () => {
    await show(`${STORY}/attempt/1/diff`, 'US-003');
    const file = fileOf('src/price.js');
    const line = file.locator('[data-row]', { hasText: 'const tax' });
    await line.waitFor();
    expect(await line.locator('.number').allInnerTexts()).toEqual(['', '9']);
    expect(await line.locator('.code-keyword').innerText()).toBe('const');
    const text = await page.getByRole('main').innerText();
    expect(text).not.toContain('diff --git');
    expect(text).not.toContain('+++');
    await file.getByRole('button', { name: 'src/price.js' }).press('Enter');
    await vi.waitFor(async () => expect(await line.count()).toBe(0), PATIENCE);
    await fileOf('docs/help.md').getByText('Coupons are described here.').waitFor();
    await page.getByRole('button', { name: 'Split' }).click();
    await page.locator('.side-by-side').first().waitFor();
  });

  it('opens in a comparison, by keys, beside that of the other attempt', async () => {
    await show(`${STORY}/compare/1/2`, 'US-003');
    const name = page.getByRole('rowheader').getByRole('button', { name: 'src/price.js' });
    await name.focus();
    await page.keyboard.press('Enter');
    const [first, second] = [1, 2].map((n) =>
      page.getByRole('region', { name: `src/price.js in attempt ${n}`, exact: true }),
    );
    await first!.locator('[data-row]', { hasText: 'const tax' }).locator('[data-line="9"]').waitFor();
    await second!.locator('.removed .changed', { hasText: '1' }).waitFor();
    const boxes = async () => [(await first!.boundingBox())!, (await second!.boundingBox())!] as const;
    const [left, right] = await boxes();
    expect(right.x).toBeGreaterThanOrEqual(left.x + left.width);
    expect(right.y).toBe(left.y);
    await page.setViewportSize({ width: 390, height: 900 });
    await vi.waitFor(async () => {
      const [above, below] = await boxes();
      expect(below.y).toBeGreaterThanOrEqual(above.y + above.height);
    }, PATIENCE);
    await name.press('Enter');
    await vi.waitFor(async () => expect(await first!.count()).toBe(0), PATIENCE);
  });

  it('says that halo has cut it off, also in a comparison', async () => {
    const note = 'halo: this patch is cut off, because it takes too long to make.';
    const story = await addRun('cutoff01', `${note}\n${HELP}`);
    await show(`${story}/attempt/1/diff`, 'US-003');
    await page.getByText(note).waitFor();
    await fileOf('docs/help.md').getByText('Coupons are described here.').waitFor();
    await show(`${story}/compare/1/2`, 'US-003');
    await page.getByText(note).waitFor();
  });

  it('is not compared with one that is not kept, or that is larger than the page can read', async () => {
    const story = await addRun('notkept1', undefined, HELP + ' '.repeat(16 * 1024 * 1024));
    const { key } = (await home.operations.getRun({ runId: 'notkept1' })).state.stories.find(
      ({ id }) => id === 'US-003',
    )!;
    rmSync(join(home.host.home, 'runs/notkept1/artifacts', key, '1/diff.patch'));
    await show(`${story}/compare/1/2`, 'US-003');
    await page.getByText('The diff of attempt 1 is not kept, or has more than 16 MiB.').waitFor();
    await page.getByText('The diff of attempt 2 is not kept, or has more than 16 MiB.').waitFor();
    expect(await page.getByRole('rowheader', { name: 'docs/help.md' }).count()).toBe(0);
    // The browser reports the refused requests as errors.
    for (const problem of problems.splice(0)) expect(problem).toContain('404');
  });

  it('passes axe, and is as wide as its window', async () => {
    await show(`${STORY}/attempt/1/diff`, 'US-003');
    await page.locator('[data-row]').first().waitFor();
    await checkScreen(page, 'attempt-1-diff');
    await show(`${STORY}/compare/1/2`, 'US-003');
    for (const path of ['src/price.js', 'docs/help.md']) await page.getByRole('button', { name: path }).click();
    await page.locator('[data-row]').first().waitFor();
    await checkScreen(page, 'compare-1-2');
  });
});

/** A patch of one file with one hunk that begins at a line. */
function patchOf(path: string, line: number, lines: readonly string[]): string {
  const count = (sign: string) => lines.filter((text) => !text.startsWith(sign)).length;
  const header = `@@ -${line},${count('+')} +${line},${count('-')} @@`;
  return `diff --git a/${path} b/${path}\nindex 1111111..2222222 100644\n--- a/${path}\n+++ b/${path}\n${header}\n${lines.join('\n')}\n`;
}
