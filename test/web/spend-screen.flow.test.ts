import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { created, failed, failedWithTests, passed } from '../support/journal.ts';
import { hasChromium } from '../support/network/chromium.ts';
import { useDashboard, type OpenedDashboard } from '../support/network/dashboard.ts';

import { skipFor } from '../support/skip.ts';
import { PATIENCE } from '../support/patience.ts';

describe('the screens Spend and Failures', skipFor(!hasChromium && 'chromium is missing'), () => {
  const dashboard = useDashboard();
  let home: OpenedDashboard['home'];
  let page: OpenedDashboard['page'];
  let show: OpenedDashboard['show'];

  beforeEach(async () => {
    ({ home, page, show } = dashboard);
    await dashboard.signIn();
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

  it('names who spent most, and shows the results of each person', async () => {
    await addPaidRun('adasrun1', 'ada', 4.5);
    await addPaidRun('bensrun1', 'ben', 1);
    await show('spend', 'Spend');
    const most = page.locator('.figures > div', { hasText: 'Spent most' });
    await most.getByText('ada').waitFor();
    expect(await most.innerText()).toContain('$4.50');
    const costs = page.getByRole('region', { name: 'Costs' });
    await costs.getByText('1 of 1').first().waitFor();
    expect(await costs.getByRole('row').nth(1).innerText()).toMatch(
      /^ada\s+\$4\.50[\s\S]*1 of 1\s+100 %\s+1\.0\s+\$4\.50/,
    );
    const perStory = page.locator('.figures > div', { hasText: 'Cost per landed story' });
    await perStory.getByText('$5.50 with failed stories / 2 landed').waitFor();
    await page.getByLabel('Model').check();
    await costs.getByText('gpt-5').waitFor();
    await page.getByLabel('90 days').check();
    await page.locator('.figures').getByText('$5.50', { exact: true }).waitFor();
  });

  it('divides the metered cost only by the landed stories that are metered', async () => {
    await addPaidRun('adasrun1', 'ada', 4.5);
    await addPaidRun('bensrun1', 'ben');
    await show('spend', 'Spend');
    const figure = page.locator('.figures > div', { hasText: 'Cost per landed story' });
    await figure.getByText('$4.50 with failed stories / 1 landed; 1 not metered').waitFor();
    await figure.getByText('$4.50', { exact: true }).waitFor();
    expect(await page.getByRole('row', { name: /^ben/ }).innerText()).toContain('not metered');
  });

  it('shows on which repositories and models a person spent, with the keyboard', async () => {
    await addPaidRun('adasrun1', 'ada', 4.5);
    await addPaidRun('bensrun1', 'ben', 1);
    await addPaidRun('adasrun2', 'ada', 2, 'large');
    await show('spend', 'Spend');
    const costs = page.getByRole('region', { name: 'Costs' });
    const toggle = costs.getByRole('button', { name: 'ada' });
    expect(await toggle.getAttribute('aria-expanded')).toBe('false');
    await toggle.focus();
    await page.keyboard.press('Enter');
    await costs.getByRole('row', { name: /^\/home\/me\/shop gpt-5 \$4\.50 1 1/ }).waitFor();
    await costs.getByRole('row', { name: /^\/home\/me\/shop large \$2\.00 1 1/ }).waitFor();
    // Only the parts of this row.
    expect(await costs.getByRole('row').count()).toBe(1 + 2 + 2);
    expect(await toggle.getAttribute('aria-expanded')).toBe('true');
    await page.keyboard.press('Enter');
    await costs.getByText('large').waitFor({ state: 'detached' });
    for (const [group, parts] of [
      ['Repository', /^ada gpt-5 \$4\.50/],
      ['Model', /^ada \/home\/me\/shop \$4\.50/],
      ['Day', /^ada \/home\/me\/shop \$6\.50/],
    ] as const) {
      await page.getByLabel(group, { exact: true }).check();
      await costs.getByRole('columnheader', { name: group }).waitFor();
      await costs.getByRole('button').first().click();
      await costs.getByRole('row', { name: parts }).waitFor();
    }
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

  it('says that a cost is not metered, which is not a cost of $0', async () => {
    await addPaidRun('adasrun1', 'ada');
    await show('spend', 'Spend');
    const costs = page.getByRole('region', { name: 'Costs' });
    const figure = page.locator('.figures > div', { hasText: 'not metered' });
    await figure.getByText('Cost', { exact: true }).waitFor();
    expect(await costs.getByRole('row').nth(1).innerText()).toMatch(/^ada\s+not metered\s+1\s/);
    await addPaidRun('bensrun1', 'ben', 0);
    await page.reload();
    await costs.getByRole('row', { name: /^ben \$0/ }).waitFor();
    await costs.getByRole('row', { name: /^ada not metered/ }).waitFor();
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

  it('shows what is spent of the budgets of the day', async () => {
    writeFileSync(join(home.host.home, 'config.toml'), '[budget]\nday_usd = 5\nuser_usd = 50\n');
    await addPaidRun('adasrun1', 'ada', 4.5);
    await show('spend', 'Spend');
    const budgets = page.getByRole('region', { name: 'Budgets of today' });
    await budgets.getByText('$4.50 of $5.00, 90 %').waitFor();
    await budgets.getByText('$4.50 of $50.00, 9 %').waitFor();
  });

  it('links a failure to the attempt that failed last', async () => {
    await home.addRun([created('failed01', 1), { type: 'run.started' }, ...failed('US-001')]);
    await show('failures', 'Failures');
    const link = page.getByRole('link', { name: 'US-001, attempt 1' });
    expect(await link.getAttribute('href')).toBe('#/run/failed01/story/US-001/attempt/1');
  });

  it('names project, story and person of each failure, and its failed tests', async () => {
    const withTests = failedWithTests('US-002');
    await home.addRun([{ ...created('failed01', 2), user: 'ada' }, { type: 'run.started' }, ...failed('US-001')]);
    await home.addRun([{ ...created('failed02', 2), user: 'ben' }, { type: 'run.started' }, ...withTests]);
    await show('failures', 'Failures');
    const plain = page.locator('.card', { hasText: 'US-001' });
    for (const text of ['shop', 'Story number 1', 'ada', '/home/me/shop'])
      await plain.getByText(text).first().waitFor();
    const tests = page.locator('.card', { hasText: 'US-002' });
    for (const text of ['Story number 2', 'ben', 'test 5']) await tests.getByText(text).first().waitFor();
    expect(await tests.innerText()).not.toMatch(/failed02/);
    await page.getByText(/^Times are in \S+, unless they name UTC\.$/).waitFor();
    // The same form of time as on other screens.
    expect(await plain.locator('time[title$=" UTC"]').first().innerText()).toMatch(/^\d+ \w{3} \d{4}, \d\d:\d\d:\d\d$/);
  });

  it('shows a run that a budget stopped in the inbox, and retries it', async () => {
    const summary = 'raise budget.story_usd to continue.';
    const broken = failed('US-001').map((entry) =>
      entry.type === 'story.ended' ? { ...entry, stopReason: 'BUDGET_EXCEEDED' as const, summary } : entry,
    );
    const end = { type: 'run.ended', stopReason: 'BUDGET_EXCEEDED', detail: summary } as const;
    await home.addRun([created('stopped1', 1), { type: 'run.started' }, ...broken, end]);
    await show('inbox', 'Inbox');
    await page.getByText(summary).waitFor();
    expect(await page.title()).toBe('(1) Inbox – halo');
    await page.keyboard.press('j');
    await page.keyboard.press('r');
    await page.getByText('Nothing waits for you.').waitFor();
    expect((await home.operations.get('stopped1')).state.status).not.toBe('ended');
  });
});
