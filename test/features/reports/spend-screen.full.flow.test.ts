import { beforeEach, describe, expect, it, vi } from 'vitest';
import { created, failed, passed } from '../../support/journal.ts';
import { hasChromium } from '../../support/network/chromium.ts';
import { useDashboard } from '../../support/network/dashboard.ts';

import { skipFor } from '../../support/skip.ts';
import { PATIENCE } from '../../support/patience.ts';

describe('the screens Spend and Failures', skipFor(!hasChromium && 'chromium is missing'), () => {
  const { home, page, show, signIn } = useDashboard();

  beforeEach(async () => {
    await signIn();
  });

  /** A run of a user that cost so much; without a cost, its model has no price. */
  async function addPaidRun(runId: string, user: string, costUsd?: number, model = 'gpt-5'): Promise<void> {
    const usage = {
      requests: 1,
      inputTokens: 1000,
      cachedTokens: 0,
      outputTokens: 100,
      ...(costUsd !== undefined && { costUsd }),
    };
    const [start, ...rest] = passed('US-001');
    const asked = { type: 'model.used', story: 'US-001', attempt: 1, model, told: 'all' } as const;
    const first = { ...created(runId, 1), user };
    await home.addRun([first, { type: 'run.started' }, start!, { ...asked, usage, tokens: 1100 }, ...rest]);
  }

  it('divides the metered cost only by the passed stories that are metered', async () => {
    await addPaidRun('adasrun1', 'ada', 4.5);
    await addPaidRun('bensrun1', 'ben');
    await show('spend', 'Spend');
    const figure = page.locator('.figures > div', { hasText: 'Cost per passed story' });
    await figure.getByText('$4.50 with failed stories / 1 passed; 1 not metered').waitFor();
    await figure.getByText('$4.50', { exact: true }).waitFor();
    expect(await page.getByRole('row', { name: /^ben/ }).innerText()).toContain('not metered');
  });

  it('reads the rows again when one opens, so that its parts belong to them', async () => {
    await addPaidRun('adasrun1', 'ada', 4.5);
    await show('spend', 'Spend');
    const costs = page.getByRole('region', { name: 'Costs' });
    await costs.getByRole('row', { name: /^ada \$4\.50/ }).waitFor();
    await addPaidRun('adasrun2', 'ada', 2);
    await costs.getByRole('button', { name: 'ada' }).click();
    await costs.getByRole('row', { name: /gpt-5 \$6\.50/ }).waitFor();
    await costs.getByRole('row', { name: /^ada \$6\.50/ }).waitFor();
  });

  it('names the project, the person and the repository of each run', async () => {
    await addPaidRun('adasrun1', 'ada', 4.5);
    await show('spend?by=run', 'Spend');
    const row = page.getByRole('region', { name: 'Costs' }).getByRole('row').nth(1);
    await row.getByRole('link', { name: 'shop' }).waitFor();
    expect(await row.getByRole('link').getAttribute('href')).toBe('#/run/adasrun1');
    for (const text of ['ada', '/home/me/shop', 'adasrun1']) await row.getByText(text, { exact: true }).waitFor();
    await row.getByRole('button', { name: 'Parts of shop' }).click();
    await page.getByRole('row', { name: /^gpt-5 \$4\.50/ }).waitFor();
  });

  it('keeps period and grouping in the address, also on the way back', async () => {
    await addPaidRun('adasrun1', 'ada', 4.5);
    await show('spend', 'Spend');
    await page.getByLabel('30 days').check();
    await page.getByLabel('Run', { exact: true }).check();
    await page.waitForURL(/#\/spend\?days=30&by=run$/);
    await page.getByRole('region', { name: 'Costs' }).getByRole('link').first().click();
    await page.waitForURL(/#\/run\/adasrun1/);
    await page.goBack();
    await page.getByRole('region', { name: 'Costs' }).waitFor();
    const isChosen = (name: string) => page.getByLabel(name, { exact: true }).isChecked();
    expect([await isChosen('30 days'), await isChosen('Run')]).toEqual([true, true]);
    await page.reload();
    await page.getByRole('region', { name: 'Costs' }).waitFor();
    expect([await isChosen('30 days'), await isChosen('Run')]).toEqual([true, true]);
    await show('failures', 'Failures');
    await page.getByLabel('90 days').check();
    await page.waitForURL(/#\/failures\?days=90$/);
    await page.reload();
    await vi.waitFor(async () => expect(await isChosen('90 days')).toBe(true), PATIENCE);
  });

  it('has a bar for each day, which says if its costs are not metered', async () => {
    const yesterday = new Date(Date.now() - 86_400_000).toISOString().slice(0, 10);
    home.setTime(new Date(`${yesterday}T12:00:00Z`));
    await addPaidRun('adasrun1', 'ada');
    await show('spend', 'Spend');
    const days = page.getByRole('region', { name: 'Cost by day' });
    const texts = () => days.locator('.day-bar').allInnerTexts();
    await days.getByTitle(/^\d+ \w+: not metered$/).waitFor();
    expect((await texts()).sort()).toEqual([...Array<string>(6).fill('$0.00'), 'not metered']);
    await addPaidRun('bensrun1', 'ben', 2.5);
    await page.reload();
    await days.getByTitle(/: \$2\.50$/).waitFor();
    expect((await texts()).sort()).toEqual([...Array<string>(6).fill('$0.00'), '$2.50']);
    await days.getByRole('img', { name: /^Cost by day; \d+ \w+: \$2\.50$/ }).waitFor();
    // Its bar is inside of the figure.
    const figure = await days.locator('figure').boundingBox();
    const bar = await days.getByTitle(/: \$2\.50$/).boundingBox();
    expect(bar?.y).toBeGreaterThan(figure?.y ?? Infinity);
    expect(bar?.width).toBeGreaterThan((figure?.width ?? 0) / 10);
    await page.getByLabel('30 days').check();
    await vi.waitFor(async () => expect(await days.locator('.day-bar').count()).toBe(30), PATIENCE);
    expect(await days.locator('figcaption span').count()).toBe(2);
  });

  it('links a failure to the attempt that failed last', async () => {
    await home.addRun([created('failed01', 1), { type: 'run.started' }, ...failed('US-001')]);
    await show('failures', 'Failures');
    const link = page.getByRole('link', { name: 'US-001, attempt 1' });
    expect(await link.getAttribute('href')).toBe('#/run/failed01/story/US-001/attempt/1');
  });
});
