import { readFileSync } from 'node:fs';
import type { Locator } from 'playwright-core';
import { beforeAll, describe, expect, it, vi } from 'vitest';
import { hasChromium } from '../../support/network/chromium.ts';
import { shareDashboard } from '../../support/network/dashboard.ts';
import { addSampleRun } from '../../support/network/sample-run.ts';
import { skipFor } from '../../support/skip.ts';
import { PATIENCE } from '../../support/patience.ts';

const STORY = 'run/sample01/story/US-003';
const HELP = patchOf('docs/help.md', 1, ['+Coupons are described here.']);

describe('the diff of an attempt', skipFor(!hasChromium && 'chromium is missing'), () => {
  const { page, show, home } = shareDashboard();

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

  it('can be downloaded as it is stored', async () => {
    await show(`${STORY}/attempt/2/diff`, 'US-003');
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Download' }).click(),
    ]);
    expect(download.suggestedFilename()).toBe('diff.patch');
    expect(readFileSync(await download.path(), 'utf8')).toContain('diff --git a/src/price.js b/src/price.js');
  });

  it('leads from the list of changed files to each', async () => {
    const long = Array.from({ length: 400 }, (_, at) => `+line ${at}`);
    const story = await addRun('longdiff', undefined, patchOf('a.txt', 1, long) + HELP);
    await show(`${story}/attempt/2/diff`, 'US-003');
    await page.getByRole('list', { name: 'Changed files' }).getByRole('button', { name: 'docs/help.md' }).click();
    await vi.waitFor(async () => {
      const top = (await fileOf('docs/help.md').boundingBox())!.y;
      expect(top).toBeLessThan(900);
    }, PATIENCE);
  });

  it('is shown once in a comparison if both attempts change a file in the same way', async () => {
    await show(`${STORY}/compare/1/2`, 'US-003');
    await page.getByRole('button', { name: 'docs/help.md' }).click();
    await page.getByText('Both attempts change it in the same way.').waitFor();
    // The rows of a diff are drawn after its place on the page is known.
    await expect.poll(() => page.getByText('Coupons are described here.').count()).toBe(1);
  });

  it('names the attempt that does not change a file', async () => {
    const story = await addRun('onlyhelp', HELP);
    await show(`${story}/compare/1/2`, 'US-003');
    await page.getByRole('button', { name: 'src/price.js' }).click();
    await page.getByRole('region', { name: 'src/price.js in attempt 2' }).getByText('const a = 2;').waitFor();
    await page.getByText('Attempt 1 does not change it.').waitFor();
  });

  it('shows the stored patch for a link to one of its lines', async () => {
    await show(`${STORY}/attempt/1/diff/L8`, 'US-003');
    await page.locator('.log-row.target', { hasText: '+const tax = 3;' }).waitFor();
    await page.getByRole('link', { name: 'Show the changed files' }).click();
    await fileOf('src/price.js').waitFor();
  });

  it('is compared beside gates that lead to their logs, and heads that lead to the attempts', async () => {
    await show(`${STORY}/compare/1/2`, 'US-003');
    await page
      .getByRole('row', { name: /^npm test/ })
      .getByRole('link')
      .nth(1)
      .click();
    await page.waitForURL(/US-003\/attempt\/2\/log\/gates%2F2\.log$/);
    await page.goBack();
    await page.getByRole('columnheader').getByRole('link', { name: 'Open attempt 1' }).click();
    await page.waitForURL(/US-003\/attempt\/1$/);
  });
});

/** A patch of one file with one hunk that begins at a line. */
function patchOf(path: string, line: number, lines: readonly string[]): string {
  const count = (sign: string) => lines.filter((text) => !text.startsWith(sign)).length;
  const header = `@@ -${line},${count('+')} +${line},${count('-')} @@`;
  return `diff --git a/${path} b/${path}\nindex 1111111..2222222 100644\n--- a/${path}\n+++ b/${path}\n${header}\n${lines.join('\n')}\n`;
}
