import { describe, expect, it } from 'vitest';
import { asked, created, failed } from '../support/journal.ts';
import { hasChromium } from '../support/network/chromium.ts';
import { shareDashboard } from '../support/network/dashboard.ts';
import { skipFor } from '../support/skip.ts';

const CHANGE = { base: { 'src/cart.ts': 'one\n' }, files: { 'src/cart.ts': 'one\ntwo\n' } };

describe('a decision of a review', skipFor(!hasChromium && 'chromium is missing'), () => {
  const { home, page, show, problems } = shareDashboard();

  const decisions = () => page.getByRole('button', { name: /Approve|Reject|Send back|Land|Open pull request/ });

  it('is not offered for a question without a diff, which is not an error', async () => {
    const question = [{ type: 'run.started' }, ...asked('US-001')] as const;
    await home.addRun([created('asking01', 1), ...question]);
    const withWork = question.map((each) => (each.type === 'story.ended' ? { ...each, left: 'c'.repeat(40) } : each));
    await home.addRun([created('asking02', 1), ...withWork]);
    await show('inbox', 'Inbox');
    const entries = page.locator('.entry');
    await entries.filter({ hasText: 'asking02' }).getByRole('link', { name: 'Review the diff' }).waitFor();
    await entries.filter({ hasText: 'asking01' }).waitFor();
    const asking = entries.filter({ hasText: /asking0\d/ });
    expect(await asking.getByRole('link', { name: 'Review the diff' }).count()).toBe(1);
    await show('run/asking01/diff/US-001', 'Review US-001');
    await page.getByText('The last attempt left no diff.').waitFor();
    expect(await page.getByRole('alert').count()).toBe(0);
    expect(await page.getByText('Reading the diff').count()).toBe(0);
    expect(await decisions().count()).toBe(0);
    // The browser reports the missing diff as an error.
    expect(problems.splice(0)).toEqual([expect.stringContaining('404')]);
  });

  it('is not offered for a story that the run does not have, which is an error', async () => {
    await home.addRun([created('failed02', 1), { type: 'run.started' }, ...failed('US-001')]);
    await show('run/failed02/diff/US-9', 'Review US-9');
    await page.getByRole('alert').getByText('US-9').waitFor();
    expect(await page.getByText('left no diff').count()).toBe(0);
    expect(await decisions().count()).toBe(0);
    expect(problems.splice(0)).toEqual([expect.stringContaining('404')]);
  });

  it('has the project of the run in the title of the page', async () => {
    await home.addLandedRun('landed01');
    await show('run/landed01/diff', 'Review landed01 shop');
  });

  it('asks before it approves a commit while there are comments that were not sent', async () => {
    await home.addHeldRun('heldrun3', CHANGE);
    await show('run/heldrun3/diff/US-001', 'Review US-001');
    await page.getByRole('button', { name: 'Comment on line 2', exact: true }).click();
    await page.getByRole('textbox', { name: 'Comment on line 2', exact: true }).fill('Name it.');
    await page.keyboard.press('Control+Enter');
    await page.getByRole('button', { name: 'Approve' }).click();
    const question = page.getByRole('dialog', { name: 'Approve without your comment?' });
    await question.waitFor();
    expect((await home.operations.getRun({ runId: 'heldrun3' })).state.stories[0]?.held).toBeDefined();
    await question.getByRole('button', { name: 'Approve' }).click();
    await page.getByRole('status').getByText('US-001 is approved').waitFor();
  });
});
