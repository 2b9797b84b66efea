import { beforeEach, describe, expect, it } from 'vitest';
import { registerWorker } from '../../src/store/process-registry.ts';
import { created, failed, passed } from '../support/journal.ts';
import { hasChromium } from '../support/network/chromium.ts';
import { useDashboard } from '../support/network/dashboard.ts';

import { skipFor } from '../support/skip.ts';

describe('the screen Now', skipFor(!hasChromium && 'chromium is missing'), () => {
  const { home, page, signIn, problems } = useDashboard();

  beforeEach(async () => {
    await signIn();
  });

  it('finds stories by their ids and titles, and keeps the filter in the address', async () => {
    await home.addRun([created('manyrun1', ['PAY-1', 'PAY-2'])]);
    await home.addRun([created('otherrun', ['CART-1'])]);
    await page.getByLabel('Find runs').fill('pay-2 number');
    await page.getByText('otherrun').waitFor({ state: 'detached' });
    await page.getByLabel('State').selectOption('Waiting');
    await page.waitForURL(/#\/\?runs=waiting&find=pay-2\+number$/);
    await page.getByRole('link', { name: 'shop' }).click();
    await page.getByRole('heading', { level: 1, name: 'shop' }).waitFor();
    await page.goBack();
    await page.getByText('manyrun1').waitFor();
    expect(await page.getByLabel('Find runs').inputValue()).toBe('pay-2 number');
    expect(await page.getByLabel('State').inputValue()).toBe('waiting');
    await page.getByRole('link', { name: 'Now' }).click();
    await page.getByText('otherrun').waitFor();
  });

  it('says for which person, run or worker a run waits', async () => {
    await home.addHeldRun('heldrun1');
    await home.addRun([{ ...created('later001', 1), after: ['heldrun1'] }]);
    await page.getByText('Run heldrun1 has not ended').waitFor();
    await page.getByRole('link', { name: 'Waits for a person', exact: true }).waitFor();
  });

  it('names the stories of an ended run that have not landed', async () => {
    await home.addRun([created('failed01', 2), { type: 'run.started' }, ...passed('US-001'), ...failed('US-002')]);
    await home.append('failed01', { type: 'run.ended', stopReason: 'PARTIAL', detail: 'US-002 failed.' });
    const stories = page.getByRole('list', { name: 'Stories' }).getByRole('link');
    await stories.last().waitFor();
    const names = (await stories.all()).map((link) => link.getAttribute('aria-label'));
    expect(await Promise.all(names)).toEqual([
      'US-001 Story number 1: passed',
      'US-002 Story number 2: failed: npm test',
    ]);
    await page.locator('.what').getByText('US-002 Story number 2').waitFor();
    // One stop of the Tab key; arrow keys lead to the others.
    await stories.first().focus();
    await page.keyboard.press('ArrowRight');
    expect(await page.locator('a:focus').getAttribute('href')).toBe('#/run/failed01/story/US-002');
  });

  it('says why a worker cannot be drained', async () => {
    const worker = await registerWorker(home.host.home, 'any');
    try {
      await page.reload();
      await page.getByRole('region', { name: 'Workers' }).getByRole('button', { name: 'Drain' }).click();
      await page.getByRole('alert').getByText(`The queue does not know worker ${worker.id}`).waitFor();
    } finally {
      await worker.leave();
    }
    // The browser logs the refusal, too.
    expect(problems.splice(0)).toEqual([expect.stringContaining('409')]);
  });

  it('lists workers with their hosts and their last contact', async () => {
    const worker = await registerWorker(home.host.home, 'own');
    try {
      await page.reload();
      const row = page.getByRole('region', { name: 'Workers' }).getByRole('row').last();
      await row.getByText(`process ${process.pid}`).waitFor();
      expect(await row.innerText()).toMatch(/its own runs[\s\S]*ago/);
    } finally {
      await worker.leave();
    }
  });
});
