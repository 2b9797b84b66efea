import { beforeEach, describe, expect, it } from 'vitest';
import { registerWorker } from '../../src/store/process-registry.ts';
import { startTakingWorker } from '../support/halo/taking-worker.ts';
import { asked, created, succeeded } from '../support/journal.ts';
import { hasChromium } from '../support/network/chromium.ts';
import { useDashboard, type OpenedDashboard } from '../support/network/dashboard.ts';

import { skipFor } from '../support/skip.ts';

describe('the screen Now', skipFor(!hasChromium && 'chromium is missing'), () => {
  const dashboard = useDashboard();
  let home: OpenedDashboard['home'];
  let page: OpenedDashboard['page'];

  beforeEach(async () => {
    ({ home, page } = dashboard);
    await dashboard.signIn();
  });

  it('finds runs by their texts and by what they do, and shows more on request', async () => {
    for (let n = 10; n < 65; n++) await home.addRun([created(`queued${n}`, 1)]);
    await home.addRunningRun('running1', 1);
    const cards = page.locator('main .runs > li');
    await page.getByText('50 of 56 runs').waitFor();
    // The list may have read the run before its story started; it looks again within a second.
    await page.locator('.figures > div', { hasText: 'Running stories' }).getByText('1', { exact: true }).waitFor();
    expect(await cards.first().innerText()).toContain('running1');
    await page.getByRole('button', { name: 'Show more' }).click();
    await page.getByText('queued10').waitFor();
    expect(await cards.count()).toBe(56);
    await page.keyboard.press('/');
    await page.keyboard.type('shop queued42');
    await page.getByText('queued10').waitFor({ state: 'detached' });
    expect(await cards.count()).toBe(1);
    await page.getByLabel('Find runs').fill('');
    await page.getByLabel('running', { exact: true }).check();
    await page.getByText('queued42').waitFor({ state: 'detached' });
    expect(await cards.count()).toBe(1);
  });

  it('counts ended runs with a question among those that wait, not among the ended ones', async () => {
    await home.addRun(succeeded('donerun1'));
    await home.addRun([created('asking01', 1), { type: 'run.started' }, ...asked('US-001')]);
    const cards = page.locator('main .runs > li');
    await page.getByText('asking01').waitFor();
    const tile = page.locator('.figures > div', { hasText: 'Waiting for a person' });
    await tile.getByText('1', { exact: true }).waitFor();
    await page.getByLabel('waiting', { exact: true }).check();
    await page.getByText('donerun1').waitFor({ state: 'detached' });
    expect(await cards.count()).toBe(1);
    await page.getByLabel('ended', { exact: true }).check();
    await page.getByText('asking01').waitFor({ state: 'detached' });
    await page.getByText('donerun1').waitFor();
  });

  it('says once, on top, that no worker is running', async () => {
    for (const runId of ['queued01', 'queued02']) await home.addRun([created(runId, 1)]);
    await page.getByText('queued02').waitFor();
    await page.reload();
    await page.getByText('No worker is running').first().waitFor();
    await page.getByText('queued01').waitFor();
    const text = await page.locator('main').innerText();
    expect(text.match(/no worker is running/gi)).toHaveLength(1);
    expect(text.indexOf('No worker is running')).toBeLessThan(text.search(/open runs/i));
  });

  it('drains and resumes a worker, and says that queued stories wait', async () => {
    const worker = await startTakingWorker(home.host.home);
    const own = await registerWorker(home.host.home, 'own');
    try {
      await worker.enqueue('abcdefgh01');
      await expect.poll(() => worker.taken).toEqual(['abcdefgh01']);
      await home.addRunningRun('running1', 1);
      await page.reload();
      const table = page.getByRole('region', { name: 'Workers' });
      await table.getByText('1 of 2 slots busy').waitFor();
      await table.getByText('its own runs').waitFor();
      const drain = table.getByRole('button', { name: /^Drain \S+ process \d+$/ });
      await drain.focus();
      await page.keyboard.press('Enter');
      await table.getByText('drains, 1 story left').waitFor();
      await page
        .getByRole('status')
        .getByText(/takes no more stories\.$/)
        .waitFor();
      expect(await page.locator('button:focus').textContent()).toBe('Resume');
      // Nothing waits for a worker yet.
      await page.getByText('running1').waitFor();
      expect(await page.getByText('All workers are draining.').count()).toBe(0);
      await home.addRun([{ ...created('ownrun01', 1), owner: own.id }]);
      await page.getByText('ownrun01').waitFor();
      expect(await page.getByText('All workers are draining.').count()).toBe(0);
      await home.addRun([created('queued01', 1)]);
      await page.getByText('All workers are draining.').waitFor();
      worker.finish('abcdefgh01');
      await table.getByText('drained', { exact: true }).waitFor();
      await table.getByRole('button', { name: 'Resume' }).click();
      await table.getByText('0 of 2 slots busy').waitFor();
      await page.getByText('All workers are draining.').waitFor({ state: 'detached' });
    } finally {
      await own.leave();
      await worker.close();
    }
  });
});
