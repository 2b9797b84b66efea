import { describe, expect, it, vi } from 'vitest';
import { PAGE_KEY } from '../../src/core/access/page-key.ts';
import type { JournalEntry } from '../../src/core/journal/events.ts';
import { asked, created } from '../support/journal.ts';
import { hasChromium } from '../support/network/chromium.ts';
import { useDashboard } from '../support/network/dashboard.ts';
import { skipFor } from '../support/skip.ts';
import { PATIENCE } from '../support/patience.ts';

describe('the screen Inbox', skipFor(!hasChromium && 'chromium is missing'), () => {
  const { home, page, signIn, show } = useDashboard();

  /** A run of mina that asks for a currency, and proposes two. */
  async function addQuestion(runId: string): Promise<void> {
    const question = asked('US-001').map((entry): JournalEntry =>
      entry.type === 'story.ended' ? { ...entry, question: { options: ['Euro', 'Dollar'] } } : entry,
    );
    await home.addRun([{ ...created(runId, 1), user: 'mina' }, { type: 'run.started' }, ...question]);
  }

  const answersOf = async (runId: string) => (await home.operations.getRun({ runId })).state.stories[0]?.answered;

  it('shows repository, run, person, age and title of an entry, and the branch to land on', async () => {
    await addQuestion('asking01');
    await home.addLandedRun('landed01');
    await signIn();
    await show('inbox', 'Inbox');
    const entries = page.locator('.entry');
    const text = await entries.filter({ hasText: 'asking01' }).innerText();
    for (const part of ['/home/me/shop', 'mina', 'US-001 Story number 1', 'Which currency?'])
      expect(text).toContain(part);
    expect(text).toMatch(/\d ?\w+ ago/);
    expect(await entries.filter({ hasText: 'landed01' }).innerText()).toContain('branch main');
  });

  it('keeps a typed answer in the browser until Ctrl+Enter sends it', async () => {
    await addQuestion('asking01');
    await signIn();
    await show('inbox', 'Inbox');
    const answer = page.getByLabel('Answer to US-001');
    await answer.fill('Francs');
    await page.reload();
    await vi.waitFor(async () => expect(await answer.inputValue()).toBe('Francs'), PATIENCE);
    await answer.press('Control+Enter');
    await page.getByText('Answered US-001. The run continues.').waitFor();
    expect(await answersOf('asking01')).toMatchObject([{ text: 'Francs' }]);
    expect(await page.evaluate('Object.keys(localStorage)')).toEqual([PAGE_KEY]);
  });

  it('lists results to land apart, and does not count them', async () => {
    await home.addLandedRun('donerun1');
    await home.addHeldRun('heldrun1');
    await signIn();
    await page.getByRole('link', { name: '1 result to land' }).waitFor();
    await page.getByRole('link', { name: '1 waits for a person' }).waitFor();
    await show('inbox', 'Inbox');
    await page.getByRole('button', { name: 'Approve' }).waitFor();
    const results = page.getByRole('region', { name: 'Results to land' });
    await results.getByText('donerun1', { exact: true }).waitFor();
    expect(await results.getByRole('listitem').count()).toBe(1);
    await vi.waitFor(async () => expect(await page.title()).toBe('(1) Inbox – halo'), PATIENCE);
  });
});
