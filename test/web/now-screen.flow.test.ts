import { randomBytes } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import type { JournalEntry } from '../../src/core/journal/events.ts';
import { newRunId } from '../../src/lib/run-id.ts';
import { registerWorker } from '../../src/store/process-registry.ts';
import { startTakingWorker } from '../support/halo/taking-worker.ts';
import { asked, created, succeeded } from '../support/journal.ts';
import { hasChromium } from '../support/network/chromium.ts';
import { shareDashboard, useDashboard } from '../support/network/dashboard.ts';
import { skipFor } from '../support/skip.ts';

const ended = (runId: string) =>
  [created(runId), { type: 'run.ended', stopReason: 'USER_ABORT', detail: 'cancelled' }] as const;

const idAt = (day: string) => newRunId(new Date(`${day}T10:00:00Z`), randomBytes);

describe('the screen Now', skipFor(!hasChromium && 'chromium is missing'), () => {
  const { home, page, show } = shareDashboard();

  it('counts ended runs with a question among those that wait', async () => {
    await home.addRun(succeeded('donerun1'));
    await home.addRun([created('asking01', 1), { type: 'run.started' }, ...asked('US-001')]);
    await show('', 'Now');
    await page.getByText('asking01').waitFor();
    await page.getByRole('link', { name: '1 waits for a person' }).click();
    await page.getByText('donerun1').waitFor({ state: 'detached' });
    expect(await page.locator('main .run-list > li').count()).toBe(1);
  });

  it('finds runs by their texts and by what they do, and shows more on request', async () => {
    for (let n = 10; n < 65; n++) await home.addRun([created(`queued${n}`, 1)]);
    await show('', 'Now');
    await home.addRunningRun('running1', 1);
    const rows = page.locator('main .run-list > li');
    await page.getByText('50 of 58 runs').waitFor();
    // The list may have read the run before its story started; it looks again within a second.
    await page.getByRole('link', { name: '1 running story' }).waitFor();
    expect(await rows.first().innerText()).toContain('running1');
    await page.getByRole('button', { name: 'Show more' }).click();
    await page.getByText('queued10').waitFor();
    expect(await rows.count()).toBe(58);
    await page.keyboard.press('/');
    await page.keyboard.type('shop queued42');
    await page.getByText('queued10').waitFor({ state: 'detached' });
    await page.getByText('1 of 1 run').waitFor();
    expect(await rows.locator('mark').allInnerTexts()).toEqual(['shop', 'queued42']);
    await page.getByRole('button', { name: 'Clear' }).click();
    await page.getByRole('link', { name: '1 running story' }).click();
    await page.getByText('queued42').waitFor({ state: 'detached' });
    expect(await rows.count()).toBe(1);
    await page.getByRole('link', { name: '1 running story' }).click();
    await page.getByText('50 of 58 runs').waitFor();
  });

  it('says once, on top, that no worker is running', async () => {
    await show('', 'Now');
    await page.getByText('No worker is running').first().waitFor();
    await page.getByText('queued60').waitFor();
    const text = await page.locator('main').innerText();
    expect(text.match(/no worker is running/gi)).toHaveLength(1);
    expect(text.indexOf('No worker is running')).toBeLessThan(text.indexOf('open runs'));
  });
});

describe('the screen Now, of more runs than it follows', skipFor(!hasChromium && 'chromium is missing'), () => {
  const { home, page, show } = shareDashboard();

  const [OPEN, APPROVED, SETTLED] = [idAt('2029-10-01'), idAt('2029-11-01'), idAt('2029-11-02')];
  const [TITLED, OLDER, NEWER] = [idAt('2029-12-01'), idAt('2029-12-05'), idAt('2030-01-01')];

  beforeAll(async () => {
    await home.addRun([created(OPEN, 1)]);
    home.setTime(new Date('2029-11-01T10:00:00Z'));
    const [first, ...rest] = succeeded(APPROVED);
    await home.addRun([{ ...first, prdPath: '/home/me/other.json', needsApproval: true } as JournalEntry, ...rest]);
    await home.addRun([created(SETTLED, 1), { type: 'run.started' }, ...asked('US-001')]);
    await home.append(SETTLED, { type: 'run.ended', stopReason: 'NEEDS_HUMAN', detail: 'asks' });
    home.setTime(new Date('2029-12-01T10:00:00Z'));
    const { prd, ...titled } = created(TITLED);
    const titles = ['Sum', 'Rotate signing keys'];
    const stories = prd.stories.map((story, index) => ({ ...story, title: titles[index] ?? story.title }));
    await home.addRun([{ ...titled, prd: { ...prd, stories } }, ...succeeded(TITLED).slice(1)]);
    await home.addRun(ended(OLDER));
    home.setTime(new Date('2030-01-01T00:00:00Z'));
    await home.addRun(succeeded(NEWER));
    for (let n = 0; n < 100; n++) await home.addRun(ended(idAt('2030-01-01')));
    await page.reload();
  });

  it('finds runs of the server that are older than those that it follows, and the story that matches', async () => {
    await show('', 'Now');
    await page.getByText('50 of 106 runs').waitFor();
    await page.getByRole('button', { name: 'Show more' }).click();
    await page.getByText('100 of 106 runs').waitFor();
    await page.getByRole('button', { name: 'Show more' }).click();
    await page.getByText('106 of 106 runs').waitFor();
    await page.getByText(TITLED).waitFor();
    await page.getByLabel('Find runs').fill('signing ROTATE');
    const row = page.locator('main .run-list > li');
    await page.getByText('1 of 1 run').waitFor();
    expect(await row.locator('mark').allInnerTexts()).toEqual(['Rotate', 'signing']);
    await row.getByRole('link', { name: /^US-002 Rotate signing keys: / }).waitFor();
    await page.getByLabel('From').fill('2029-12-02');
    await page.getByText('No run matches.').waitFor();
    await page.getByLabel('From').fill('2029-11-30');
    await page.getByLabel('to', { exact: true }).fill('2029-12-02');
    await row.waitFor();
    await page.reload();
    await page.getByText('1 of 1 run').waitFor();
    expect(page.url()).toMatch(/#\/\?find=signing\+ROTATE&from=2029-11-30&to=2029-12-02$/);
    await page.getByLabel('State').selectOption('Failed');
    await page.getByText('No run matches.').waitFor();
  });

  it('finds all runs that wait for a person, also older ones with an approval, and no question that a newer run settled', async () => {
    await show('', 'Now');
    await page.getByText('50 of 106 runs').waitFor();
    await page.getByLabel('State').selectOption('Waiting for a person');
    await page.locator('main .run-list').getByText(APPROVED).waitFor();
    await page.getByText('1 of 1 run').waitFor();
    await page.getByLabel('State').selectOption('Waiting');
    await page.locator('main .run-list').getByText(APPROVED).waitFor();
  });

  it('still finds runs that it does not follow after an older open one has ended', async () => {
    await show('', 'Now');
    await page.getByText('50 of 106 runs').waitFor();
    await home.append(OPEN, { type: 'run.ended', stopReason: 'USER_ABORT', detail: 'cancelled' });
    await page.getByRole('link', { name: '0 open runs' }).waitFor();
    await page.getByRole('link', { name: 'Spend' }).click();
    await page.getByRole('link', { name: 'Now', exact: true }).click();
    await page.getByText('50 of 106 runs').waitFor();
    await page.getByLabel('Find runs').fill(OLDER);
    await page.getByText('1 of 1 run').waitFor();
    await page.getByRole('button', { name: 'Last 7 days' }).click();
    await page.waitForURL(/from=\d{4}-\d\d-\d\d$/);
    await page.getByLabel('From').fill('');
    await page.getByLabel('Find runs').fill(OPEN);
    await page.locator('main .run-list').getByText(OPEN).waitFor();
    await page.getByText('1 of 1 run').waitFor();
  });
});

describe('the screen Now, with a worker', skipFor(!hasChromium && 'chromium is missing'), () => {
  const dashboard = useDashboard();

  it('drains and resumes a worker, and says that queued stories wait', async () => {
    const { home, page } = dashboard;
    await dashboard.signIn();
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
      const busy = async () => (await home.operations.listWorkers()).workers.map((each) => each.busy ?? 0);
      await expect.poll(busy).toEqual([0, 0]);
      // Without this, the page asks for the workers again within ten seconds.
      await page.reload();
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
