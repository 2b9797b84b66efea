import { describe, expect, it } from 'vitest';
import { attempted } from '../../support/journal.ts';
import { hasChromium } from '../../support/network/chromium.ts';
import { shareDashboard } from '../../support/network/dashboard.ts';
import { skipFor } from '../../support/skip.ts';

const ATTEMPT = { story: 'US-001', attempt: 1 };
const USAGE = { requests: 3, inputTokens: 1000, cachedTokens: 0, outputTokens: 200, costUsd: 0.36 };

describe('the facts of a review', skipFor(!hasChromium && 'chromium is missing'), () => {
  const { home, page, show } = shareDashboard();

  /** What a list of facts says below a name. */
  async function factOf(name: string): Promise<string | null> {
    return page
      .locator('.fact-body dt', { hasText: new RegExp(`^${name}$`) })
      .locator('+ dd')
      .textContent();
  }

  it('have the time of the attempt, without the time in which it waited for a person', async () => {
    const used = { type: 'model.used', ...ATTEMPT, model: 'gpt-5', told: 'all', usage: USAGE, tokens: 1000 } as const;
    await home.addHeldRun('heldrun1', { files: { 'cart.txt': 'new\n' }, events: [used] });
    const { commit } = (await home.operations.getRun({ runId: 'heldrun1' })).state.stories[0]!.held!;
    home.setTime(new Date(Date.UTC(2030, 0, 1, 3)));
    await home.append('heldrun1', { type: 'story.approved', ...ATTEMPT, commit, by: 'lena' });
    await show('run/heldrun1/diff/US-001', 'Review US-001');
    await page.locator('.diff-file').first().waitFor();
    expect(await factOf('Cost')).toBe('$0.36');
    // Events are a second apart.
    expect(await factOf('Time')).toBe(`${attempted('US-001').length + 1}.0s`);
  });

  it('name the doubts about each story of a run, with links to them', async () => {
    await home.addLandedRun('landed01', { stories: 2, acceptance: ['The cart is empty.'] });
    await show('run/landed01/diff', 'Review landed01');
    const doubts = page.getByRole('region', { name: 'To check in the stories' });
    for (const story of ['US-001', 'US-002']) {
      const entry = doubts.getByRole('listitem').filter({ hasText: story });
      await entry.getByText('It adds no test').waitFor();
      await entry.getByText('0 of 1 criteria with tests that ran').waitFor();
    }
    await doubts.getByRole('link', { name: 'US-002' }).click();
    await page.waitForURL(/run\/landed01\/diff\/US-002$/);
  });

  it('are followed by the summary of the agent, without its control characters', async () => {
    await home.addHeldRun('heldrun2');
    const { key } = (await home.operations.getRun({ runId: 'heldrun2' })).state.stories[0]!;
    const answer = { status: 'done', summary: 'I rounded it.\u202e\u001b[2J <b>All</b> tests pass.' };
    home.writeArtifact('heldrun2', `${key}/1/result.json`, JSON.stringify(answer));
    await show('run/heldrun2/diff/US-001', 'Review US-001');
    await page.getByRole('button', { name: 'Summary of the agent' }).click();
    const text = await page.getByRole('region', { name: 'Summary of the agent' }).innerText();
    expect(text).toContain('I rounded it.');
    expect(text).toContain('<b>All</b> tests pass.');
    expect(text).not.toMatch(/[\u202e\u001b]/);
  });
});
