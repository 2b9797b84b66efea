import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { NO_USAGE } from '../../../src/core/agent.ts';
import { created, failed, failedWithTests, passed, succeeded } from '../../support/journal.ts';
import { hasChromium } from '../../support/network/chromium.ts';
import { useDashboard } from '../../support/network/dashboard.ts';

import { skipFor } from '../../support/skip.ts';

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
    const perStory = page.locator('.figures > div', { hasText: 'Cost per passed story' });
    await perStory.getByText('$5.50 with failed stories / 2 passed').waitFor();
    await page.getByLabel('Model').check();
    await costs.getByText('gpt-5').waitFor();
    await page.getByLabel('90 days').check();
    await page.locator('.figures').getByText('$5.50', { exact: true }).waitFor();
  });

  it('does not say that stories cost nothing if no model of theirs was metered', async () => {
    const entries = succeeded('scripted').map((entry) =>
      entry.type === 'story.ended' ? { ...entry, usage: NO_USAGE } : entry,
    );
    await home.addRun(entries);
    await show('spend', 'Spend');
    await page.getByText('1 of 1 that passed or failed').waitFor();
    const cost = page.locator('.figures > div').filter({ has: page.getByText('Cost', { exact: true }) });
    expect(await cost.innerText()).toMatch(/not metered\s+no run used a model through halo/);
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

  it('shows what is spent of the budgets of the day', async () => {
    writeFileSync(join(home.host.home, 'config.toml'), '[budget]\nday_usd = 5\nuser_usd = 50\n');
    await addPaidRun('adasrun1', 'ada', 4.5);
    await show('spend', 'Spend');
    const budgets = page.getByRole('region', { name: 'Budgets of today' });
    await budgets.getByText('$4.50 of $5.00, 90 %').waitFor();
    await budgets.getByText('$4.50 of $50.00, 9 %').waitFor();
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
    await page.getByText(/^Times are (?:in UTC|yours \(\S+\); budgets count days in UTC)\.$/).waitFor();
    // The age, as on other screens, with the time in its title.
    const last = plain.locator('time').first();
    expect(await last.innerText()).toMatch(/ ago$/);
    expect(await last.getAttribute('title')).toMatch(/^\d+ \w{3} \d{4}, \d\d:\d\d:\d\d \(.* UTC\)$/);
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
    expect((await home.operations.getRun({ runId: 'stopped1' })).state.status).not.toBe('ended');
  });
});
