import { beforeAll, describe, expect, it } from 'vitest';
import { created } from '../support/journal.ts';
import { hasChromium } from '../support/network/chromium.ts';
import { shareDashboard } from '../support/network/dashboard.ts';
import { addSampleRun } from '../support/network/sample-run.ts';
import { skipFor } from '../support/skip.ts';
import { PATIENCE } from '../support/patience.ts';

const STORY = 'run/sample01/story/US-003';

describe('the screen of a run', skipFor(!hasChromium && 'chromium is missing'), () => {
  const { home, page, served, show } = shareDashboard();

  beforeAll(() => addSampleRun(home, 'sample01'));

  function scrollLog(to: number): Promise<unknown> {
    return page.evaluate(`document.querySelector('.log').scrollTo(0, ${to})`);
  }

  it('starts at the top of the page, also if the page before was scrolled', async () => {
    for (let n = 10; n < 40; n++) await home.addRun([created(`queued${n}`, 1)]);
    await show('', 'Now');
    const run = page.locator('main .run-list > li').filter({ hasText: 'sample01' });
    const link = run.getByRole('link').first();
    await link.scrollIntoViewIfNeeded();
    expect(await page.evaluate('scrollY')).toBeGreaterThan(300);
    await link.click();
    await page.getByRole('log').getByText('3 of 5 stories passed').waitFor();
    expect(await page.evaluate('scrollY')).toBe(0);
  });

  it('shows titles, times and failed phases of attempts', async () => {
    await show('run/sample01', 'shop');
    const attempts = page.getByRole('region', { name: 'Attempts' });
    const row = attempts.getByRole('listitem').filter({ hasText: 'US-003 attempt 2' });
    await row.getByText('Apply coupons').waitFor();
    const bar = row.locator('.bar.gates');
    expect(await bar.getAttribute('class')).toContain('failed');
    expect(await bar.getAttribute('title')).toMatch(/^gates \S+, failed: open its log$/);
    expect(await bar.getAttribute('href')).toBe('#/run/sample01/story/US-003/attempt/2/log');
    expect(await row.locator('.phases').textContent()).toMatch(/gates [^·]+, failed$/);
    const ended = page.locator('.facts > div', { hasText: 'Ended' }).locator('time');
    expect(await ended.getAttribute('title')).toMatch(/^2030-01-01 00:0\d:\d\d UTC$/);
  });

  it('keeps the tab when another attempt is chosen', async () => {
    await show(`${STORY}/attempt/2/prompt`, 'US-003');
    const attempts = page.getByRole('navigation', { name: 'Attempts' });
    await attempts.getByRole('link', { name: 'Attempt 1' }).click();
    await page.getByText('Apply coupons, attempt 1.').waitFor();
    await show(`${STORY}/attempt/1/log/gates%2F1.log`, 'US-003');
    await attempts.getByRole('link', { name: 'Attempt 2' }).click();
    await page.waitForURL(/attempt\/2\/log$/);
  });

  it('finds any line of a log of 1,000,000 lines, of which few are in the page', async () => {
    const { write } = await addSampleRun(home, 'longlog1');
    const filler = 'x'.repeat(90);
    const lines = Array.from({ length: 1_000_000 }, (_, at) => `${at + 1} ${filler}`);
    lines[654_320] += ' needle';
    lines[900_000] += ' \u001b[31mNEE\u001b[0mDLE';
    write('US-003', 2, 'gates/2.log', `${lines.join('\n')}\n`);
    await page.goto(`${served.url}/#/run/longlog1/story/US-003/attempt/2/log/gates%2F2.log/L987654`);
    const log = page.getByRole('log');
    await log.getByText(`987654 ${filler}`).waitFor();
    await page.getByText('1,000,000 lines').waitFor();
    expect(await log.locator('.log-row').count()).toBeLessThan(150);
    await page.getByRole('searchbox').fill('needle');
    await page.getByText('1 of 2').waitFor(PATIENCE);
    await log.getByText('654321 x').waitFor();
    await page.getByRole('searchbox').press('Enter');
    await page.getByText('2 of 2').waitFor();
    await log.getByText('900001 x').waitFor();
    await scrollLog(1e9);
    await log.getByText(`1000000 ${filler}`).waitFor();
    await scrollLog(0);
    await log.getByText(`1 ${filler}`, { exact: true }).waitFor();
    expect(await log.locator('.log-row').count()).toBeLessThan(150);
  });

  it('finds lines of the log of the run, and links to them', async () => {
    await show('run/sample01', 'shop');
    const log = page.getByRole('log');
    await log.getByText('3 of 5 stories passed').waitFor();
    await scrollLog(0);
    await log.getByText('5 stories of shop').waitFor();
    await page.keyboard.press('/');
    await page.keyboard.type('looking at');
    await page.getByText('1 of 5').waitFor();
    await page.keyboard.press('Shift+Enter');
    await page.getByText('5 of 5').waitFor();
    await page.locator('.log-row.target').getByText('Looking at US-005 first.').waitFor();
    await page.locator('.log-row.target a').click();
    await page.waitForURL(/event\/\d+$/);
    await page.getByLabel('Search the log').fill('no such text');
    await page.getByText('Nothing matches.').waitFor();
  });
});
