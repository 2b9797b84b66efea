import type { Page } from 'playwright-core';
import { afterEach, describe, expect, it } from 'vitest';
import { Users } from '../../src/api/access/users.ts';
import type { Role } from '../../src/core/access/access.ts';
import { asked, attempted, created } from '../support/journal.ts';
import { collectProblems, hasChromium } from '../support/network/chromium.ts';
import { shareDashboard } from '../support/network/dashboard.ts';
import { skipFor } from '../support/skip.ts';

describe('people at the dashboard', skipFor(!hasChromium && 'chromium is missing'), () => {
  const { home, served, page: first } = shareDashboard();

  const pages: Page[] = [];
  const problems: string[][] = [];

  afterEach(async () => {
    await Promise.all(pages.splice(0).map((page) => page.close()));
    expect(takeProblems()).toEqual([]);
  });

  async function tokenOf(name: string, role: Role, repositories?: string[]): Promise<string> {
    const users = new Users(home.host.home);
    const by = { by: 'owner', now: new Date() };
    await users.add({ name, role, ...(repositories && { repositories }) }, by);
    return (await users.createToken(name, undefined, by)).token;
  }

  /** A browser of its own, signed in. */
  async function openPage(token: string, link = ''): Promise<Page> {
    const context = await first.context().browser()!.newContext();
    const page = await context.newPage();
    pages.push(page);
    problems.push(await collectProblems(page));
    await page.goto(`${served.url}/${link}`);
    await page.getByLabel('Token').fill(token);
    await page.getByRole('button', { name: 'Sign in with the token' }).click();
    await page.getByRole('heading', { level: 1 }).waitFor();
    return page;
  }

  /** Two people of other names than those of the tests before. */
  async function openTwo(names: [string, string]): Promise<[Page, Page]> {
    const [one, two] = [await tokenOf(names[0], 'operator'), await tokenOf(names[1], 'operator')];
    return [await openPage(one), await openPage(two)];
  }

  /** The problems of all pages so far. */
  const takeProblems = () => problems.flatMap((each) => each.splice(0));

  it('are on the screen of a link after they have signed in', async () => {
    await home.addRun([created('linked01', 1), { type: 'run.started' }, ...attempted('US-001')]);
    const link = '#/run/linked01/story/US-001/attempt/1';
    const page = await openPage(await tokenOf('vera', 'viewer'), link);
    await page.getByRole('heading', { name: 'US-001' }).waitFor();
    expect(page.url()).toBe(`${served.url}/${link}`);
  });

  it('are refused a second answer to a question, with the reason', async () => {
    await home.addRun([created('asking01', 1), { type: 'run.started' }, ...asked('US-001')]);
    const [ada, bob] = await openTwo(['ada', 'bob']);
    for (const page of [ada, bob]) {
      await page.goto(`${served.url}/#/inbox`);
      await page.getByLabel('Answer to US-001').fill(page === ada ? 'Euro' : 'Dollar');
    }
    // Bob's answer is on its way while Ada's is accepted.
    let pass = (): void => undefined;
    const passed = new Promise<void>((resolve) => (pass = resolve));
    await bob.route('**/v1/runs/asking01/answer', async (route) => {
      await passed;
      await route.continue();
    });
    const answered = bob.waitForResponse('**/v1/runs/asking01/answer');
    // Awaited below; if a step before fails, the page closes without an answer.
    answered.catch(() => undefined);
    await bob.getByRole('button', { name: 'Send the answer' }).click();
    await ada.getByRole('button', { name: 'Send the answer' }).click();
    await ada.getByText('Nothing waits for you.').waitFor();
    pass();
    const response = await answered;
    expect(response.status()).toBe(409);
    expect((await response.json()) as object).toMatchObject({ message: expect.stringContaining('US-001') as string });
    await bob.getByText('Nothing waits for you.').waitFor();
    const { state } = await home.operations.getRun({ runId: 'asking01' });
    expect(state.stories[0]?.answered).toMatchObject([{ text: 'Euro', by: 'ada' }]);
    expect(takeProblems()).toEqual([expect.stringContaining('409')]);
  });

  it('see what another one has approved, without a reload', async () => {
    await home.addHeldRun('heldrun1');
    const [ada, bob] = await openTwo(['ada2', 'bob2']);
    for (const page of [ada, bob]) await page.goto(`${served.url}/#/inbox`);
    await bob.getByRole('button', { name: 'Approve' }).waitFor();
    await ada.getByRole('button', { name: 'Approve' }).click();
    await bob.getByRole('button', { name: 'Land' }).waitFor();
    expect(await bob.getByRole('button', { name: 'Approve' }).count()).toBe(0);
  });

  it('see only the runs of their repositories, also those that start later', async () => {
    const start = (runId: string, source: string) =>
      home.addRun([
        { ...created(runId, 1), repo: { ...created().repo, source } },
        { type: 'run.started' },
        ...attempted('US-001'),
      ]);
    await start('shoprun1', '/src/shop');
    await start('bankrun1', '/src/bank');
    const page = await openPage(await tokenOf('olga', 'operator', ['/src/shop']));
    await page.getByText('shoprun1').waitFor();
    await start('bankrun2', '/src/bank');
    await start('shoprun2', '/src/shop');
    await page.getByText('shoprun2').waitFor();
    expect(await page.locator('main').innerText()).not.toContain('bankrun');
    await page.goto(`${served.url}/#/run/bankrun1`);
    await page.getByText('There is no run bankrun1.').waitFor();
    // The screen has more than one request; none is left when the page has gone.
    await page.goto('about:blank');
    expect(takeProblems().filter((text) => !text.includes('404'))).toEqual([]);
  });
});
