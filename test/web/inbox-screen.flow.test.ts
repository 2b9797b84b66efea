import { describe, expect, it, vi } from 'vitest';
import { Users } from '../../src/api/access/users.ts';
import type { JournalEntry } from '../../src/core/journal/events.ts';
import { addEngine } from '../../src/features/engines/api/add-engine.ts';
import { writeOutages } from '../../src/store/engine-outages.ts';
import { asked, created } from '../support/journal.ts';
import { hasChromium } from '../support/network/chromium.ts';
import { useDashboard } from '../support/network/dashboard.ts';
import { skipFor } from '../support/skip.ts';
import { PATIENCE } from '../support/patience.ts';

describe('the screen Inbox', skipFor(!hasChromium && 'chromium is missing'), () => {
  const { home, page, signIn, show, problems } = useDashboard();

  /** A run of mina that asks for a currency, and proposes two. */
  async function addQuestion(runId: string): Promise<void> {
    const question = asked('US-001').map((entry): JournalEntry =>
      entry.type === 'story.ended' ? { ...entry, question: { options: ['Euro', 'Dollar'] } } : entry,
    );
    await home.addRun([{ ...created(runId, 1), user: 'mina' }, { type: 'run.started' }, ...question]);
  }

  const answersOf = async (runId: string) => (await home.operations.getRun({ runId })).state.stories[0]?.answered;

  it('chooses a proposed answer by its digit, and sends it only with the button or Ctrl+Enter', async () => {
    await addQuestion('asking01');
    await signIn();
    await show('inbox', 'Inbox');
    const send = page.getByRole('button', { name: 'Send the answer' });
    await send.waitFor();
    expect(await send.isDisabled()).toBe(true);
    await page.keyboard.press('j');
    await page.keyboard.press('2');
    await vi.waitFor(
      async () => expect(await page.getByLabel('Answer to US-001').inputValue()).toBe('Dollar'),
      PATIENCE,
    );
    expect(await answersOf('asking01')).toBeUndefined();
    await page.locator('button:focus', { hasText: 'Send the answer' }).waitFor();
    await page.keyboard.press('Control+Enter');
    await page.getByText('Answered US-001. The run continues.').waitFor();
    expect(await page.getByLabel('Answer to US-001').count(), 'no emptied form stays').toBe(0);
    expect(await answersOf('asking01')).toMatchObject([{ text: 'Dollar', option: 2 }]);
    await page.getByRole('status').getByRole('link', { name: 'Open shop' }).click();
    await page.waitForURL(/#\/run\/asking01$/);
  });

  it('keeps keys that answer apart from those that open screens, also after the focused entry is decided', async () => {
    await home.addHeldRun('heldrun1');
    await addQuestion('asking01');
    await addQuestion('asking02');
    await signIn();
    await page.keyboard.press('g');
    await page.keyboard.press('i');
    await page.getByRole('heading', { name: 'Inbox' }).waitFor();
    const entry = (runId: string) => page.locator('.entry').filter({ hasText: runId });
    await entry('heldrun1').waitFor();
    await page.keyboard.press('1');
    await entry('asking02').getByRole('button', { name: 'Euro' }).focus();
    await page.keyboard.press('1');
    await entry('asking02').locator('button:focus', { hasText: 'Send the answer' }).waitFor();
    await page.keyboard.press('Enter');
    await page.locator('.entry:focus').filter({ hasText: 'asking01' }).waitFor();
    await page.keyboard.press('2');
    await entry('asking01').locator('button:focus', { hasText: 'Send the answer' }).waitFor();
    expect(await page.getByLabel('Answer to US-001').inputValue()).toBe('Dollar');
    await page.keyboard.press('Enter');
    await page.locator('.entry:focus').filter({ hasText: 'heldrun1' }).waitFor();
    await page.keyboard.press('a');
    await page.getByText(/US-001 is approved/).waitFor();
    for (const digit of ['1', '2', '3']) await page.keyboard.press(digit);
    expect(page.url()).toMatch(/#\/inbox$/);
    await page.keyboard.press('g');
    await page.keyboard.press('n');
    await page.getByRole('heading', { name: 'Now' }).waitFor();
  });

  it('says who can act, and counts only what the person may decide', async () => {
    await addQuestion('asking01');
    await home.addHeldRun('heldrun1');
    const users = new Users(home.host.home);
    const by = { by: 'owner', now: new Date() };
    await users.add({ name: 'mina', role: 'submitter' }, by);
    await signIn((await users.createToken('mina', undefined, by)).token);
    await show('inbox', 'Inbox');
    await page.getByText('Waits for an operator.').waitFor();
    await page.getByRole('button', { name: 'Send the answer' }).waitFor();
    await vi.waitFor(async () => expect(await page.title()).toBe('(1) Inbox – halo'), PATIENCE);
    await users.add({ name: 'vera', role: 'viewer' }, by);
    await page.context().clearCookies();
    await signIn((await users.createToken('vera', undefined, by)).token);
    await show('inbox', 'Inbox');
    await page.getByText('Waits for mina or an operator.').waitFor();
    await vi.waitFor(async () => expect(await page.title()).toBe('Inbox – halo'), PATIENCE);
  });

  it('has engines that take no stories, and the settings have the ends of their certificates', async () => {
    const since = new Date(Date.now() - 600_000).toISOString();
    await writeOutages(home.host.home, [{ engine: 'build-2', since, why: 'away' }]);
    await addEngine(home.host.home, { name: 'build-2', address: 'tcp://build-2:2376' });
    await signIn();
    await show('inbox', 'Inbox');
    const entry = page.locator('.entry').filter({ hasText: 'build-2 does not answer, or lacks an image since' });
    await entry.getByText('halo engine check build-2').waitFor();
    await vi.waitFor(async () => expect(await page.title()).toBe('(1) Inbox – halo'), PATIENCE);
    await show('settings', 'Settings');
    await page.getByText(/The keys of this server: valid until \d{4}-/).waitFor();
  });

  it('offers no landing if the branch has moved since, and says what to do, as the review and the page of the run', async () => {
    const repository = await home.addLandedRun('landed01');
    repository.git('commit', '--allow-empty', '-qm', 'Work of somebody else');
    await signIn();
    for (const [path, heading] of [
      ['inbox', 'Inbox'],
      ['run/landed01', 'shop'],
      ['run/landed01/diff', 'Review landed01 shop'],
    ] as const) {
      await show(path, heading);
      await page.getByText('main has moved since: it has a commit that the run lacks').waitFor();
      await page.getByText('git merge halo/landed01').first().waitFor();
      expect(await page.getByRole('button', { name: 'Land', exact: true }).count(), path).toBe(0);
    }
  });

  it('says why a run did not land, what to do and where', async () => {
    const repository = await home.addLandedRun('landed01');
    repository.write('README.md', 'changed\n');
    await signIn();
    await show('inbox', 'Inbox');
    await page.getByRole('button', { name: 'Land' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Land' }).click();
    const alert = page.locator('.entry').getByRole('alert');
    await alert.waitFor();
    expect(await alert.innerText()).toContain(`Where: ${repository.root}`);
    expect(await alert.locator('p').count(), 'a hint and the place').toBe(2);
    for (const problem of problems.splice(0)) expect(problem).toContain('409');
  });
});
