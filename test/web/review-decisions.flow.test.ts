import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { holdCommit } from '../../src/git/commit/held-commits.ts';
import { created, failed } from '../support/journal.ts';
import { hasChromium } from '../support/network/chromium.ts';
import { shareDashboard } from '../support/network/dashboard.ts';
import { skipFor } from '../support/skip.ts';

const AXE = createRequire(import.meta.url).resolve('axe-core/axe.min.js');
const CHANGE = { base: { 'src/cart.ts': 'one\n' }, files: { 'src/cart.ts': 'one\ntwo\n' } };

describe('a decision of a review', skipFor(!hasChromium && 'chromium is missing'), () => {
  const { home, page, show, problems } = shareDashboard();

  const decisions = () => page.getByRole('button', { name: /Approve|Reject|Send back|Land|Open pull request/ });

  it('is not offered for a failed run of which nothing landed, and nothing about it is green', async () => {
    const end = { type: 'run.ended', stopReason: 'ATTEMPTS_EXHAUSTED', detail: 'US-001 failed twice.' } as const;
    await home.addRun([created('failed01', 2), { type: 'run.started' }, ...failed('US-001'), end]);
    await show('run/failed01/diff', 'Review failed01');
    await page.getByText('The run ended with ATTEMPTS_EXHAUSTED.').waitFor();
    await page.getByText('No story of this run has passed.').waitFor();
    const link = page.getByRole('link', { name: 'Diff of attempt 1 at US-001' });
    expect(await link.getAttribute('href')).toBe('#/run/failed01/story/US-001/attempt/1/diff');
    expect(await page.locator('main').innerText()).toContain('US-001 failed twice.');
    expect(await page.locator('.fact, main .good, [role=alert]').count()).toBe(0);
    expect(await decisions().count()).toBe(0);
    await show('run/failed01/diff/US-002', 'Review US-002');
    await page.getByText('US-002 has not started.').waitFor();
    expect(await page.getByRole('alert').count()).toBe(0);
    await expect(home.operations.readDiff({ runId: 'failed01', story: 'US-002' })).rejects.toThrow(
      'Story US-002 has not started, so it has no diff.',
    );
  });

  it('asks in a window before it rejects, and says that the run ends', async () => {
    await home.addHeldRun('heldrun1', CHANGE);
    await show('run/heldrun1/diff/US-001', 'Review US-001');
    await page.getByText('shop', { exact: true }).first().waitFor();
    await page.locator('.diff-file').waitFor();
    await page.keyboard.press('X');
    const question = page.getByRole('dialog', { name: 'Reject US-001 and end the run?' });
    await question
      .getByText(
        /Commit \w{7} does not land, and run heldrun1 ends with APPROVAL_DENIED\. The commits on its branch stay/,
      )
      .waitFor();
    await page.evaluate(readFileSync(AXE, 'utf8'));
    const found = await page.evaluate<string[]>('axe.run().then(({ violations }) => violations.map(({ id }) => id))');
    expect(found).toEqual([]);
    await page.keyboard.press('Escape');
    await question.waitFor({ state: 'detached' });
    await page.keyboard.press('X');
    await question.waitFor();
    // The key comes before the browser's own event, which says that a window has closed.
    await page.evaluate(`
      document.querySelector('dialog.question button').click();
      queueMicrotask(() => queueMicrotask(() => dispatchKey('X')));
      function dispatchKey(key) { document.body.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true })); }
    `);
    await question.waitFor();
    await page.keyboard.press('Escape');
    await question.waitFor({ state: 'detached' });
    expect((await home.operations.getRun({ runId: 'heldrun1' })).state.stories[0]?.held).toBeDefined();
    await page.keyboard.press('X');
    await question.getByRole('button', { name: 'Reject' }).click();
    await page.getByRole('status').getByText('US-001 is rejected.').waitFor();
    await page.getByText('US-001 was rejected.').waitFor();
    expect(await page.getByRole('alert').count()).toBe(0);
    expect((await home.operations.getRun({ runId: 'heldrun1' })).state).toMatchObject({
      stopReason: 'APPROVAL_DENIED',
      stories: [{ id: 'US-001', progress: 'failed' }],
    });
  });

  it('replaces a commit that was sent back by one state, until the next commit waits', async () => {
    const repository = await home.addHeldRun('heldrun2', CHANGE);
    await show('run/heldrun2/diff/US-001', 'Review US-001');
    const diff = await page.locator('.diff-file').first().boundingBox();
    expect(diff!.y, 'the diff begins near the top').toBeLessThan(400);
    await page.keyboard.press('s');
    await page.locator('textarea:focus').waitFor();
    await page.getByRole('button', { name: 'Your comments (0)' }).click();
    await page.getByRole('button', { name: 'Comment on line 2', exact: true }).click();
    await page.getByRole('textbox', { name: 'Comment on line 2', exact: true }).fill('Name it.');
    await page.keyboard.press('Control+Enter');
    await page.getByRole('button', { name: 'Send back with 1 comment' }).click();
    const state = page.getByRole('status').filter({ hasText: 'Sent back' });
    await state.getByText(/^With 1 comment by \S+ at \d\d:\d\d:\d\d, about attempt 1\./).waitFor();
    expect(await state.innerText()).toContain('the next attempt waits for a worker');
    expect(await decisions().count()).toBe(0);
    expect(await page.locator('.diff-file, [role=alert]').count()).toBe(0);

    const ref = { story: 'US-001', attempt: 2 };
    const run = (await home.operations.getRun({ runId: 'heldrun2' })).state;
    const { base, mirror } = run.repo;
    await home.append('heldrun2', { type: 'run.started' }, { type: 'story.started', ...ref, epoch: 2, base });
    await state.getByText('the next attempt is running').waitFor();
    expect(await page.locator('.diff-file, [role=alert]').count()).toBe(0);

    repository.git('checkout', '-q', '-b', 'second');
    repository.write('src/cart.ts', 'one\nthird\n');
    const commit = repository.commit('Name it.');
    const candidateDir = join(repository.root, '.git');
    const mirrorDir = join(home.host.home, 'repos', mirror, 'mirror.git');
    await holdCommit({ candidateDir, mirrorDir, runId: 'heldrun2', storyKey: run.stories[0]!.key, commit });
    const usage = { requests: 1, inputTokens: 1, cachedTokens: 0, outputTokens: 1 };
    const end = { verdict: 'needs_human', stopReason: 'NEEDS_HUMAN', summary: 'waits', usage } as const;
    await home.append('heldrun2', { type: 'story.ended', ...ref, ...end, held: { commit, paths: [] } });
    await page.locator('.diff-file').getByText('third').waitFor();
    expect(await state.count()).toBe(0);
    await page.getByRole('button', { name: 'Approve' }).waitFor();
    expect(await page.locator('.fact-line').textContent()).toMatch(/Attempt\s*2\s*Cost/);
    const summary = page.locator('.earlier summary');
    const heading = summary.getByRole('heading', { name: 'Earlier feedback (1)' });
    const [outer, inner] = [await summary.boundingBox(), await heading.boundingBox()];
    expect(outer!.height, 'the heading is on the line of its triangle').toBeLessThan(inner!.height * 2);
    expect(await page.locator('main').innerText()).toContain('1 file, 0 viewed');
    const kept = await page.evaluate<string[]>('Object.keys(localStorage)');
    expect(
      kept.filter((key) => key.startsWith('halo comments')),
      'comments that were sent',
    ).toEqual([]);
    expect(await page.getByRole('button', { name: 'Send back', exact: false }).innerText()).toMatch(/^Send back\s*s$/);
  });

  it('asks again for what the shown commit has, but not about a commit that replaced it', async () => {
    await home.addHeldRun('heldrun4', CHANGE);
    const shown = (await home.operations.getRun({ runId: 'heldrun4' })).state.stories[0]!.held!.commit;
    await show('run/heldrun4/diff/US-001', 'Review US-001');
    await page.locator('.diff-file').waitFor();
    const refusals = [
      { message: 'It is at fffffff now.', unconfirmed: { commit: 'f'.repeat(40), found: [] } },
      {
        message: 'It has to be confirmed.',
        unconfirmed: { commit: shown, found: [{ run: 'heldrun3', flag: 'hidden', text: 'US-001: adds 1 character' }] },
      },
    ];
    const sent: unknown[] = [];
    await page.route('**/heldrun4/approve', (route) => {
      sent.push(route.request().postDataJSON());
      const refusal = refusals.shift();
      return refusal === undefined
        ? route.continue()
        : route.fulfill({ status: 409, json: { code: 'UNCONFIRMED', ...refusal } });
    });
    const approve = page.getByRole('button', { name: 'Approve' });
    await approve.click();
    await page.getByRole('alert').getByText('It is at fffffff now.').waitFor();
    expect(await page.getByRole('dialog').count()).toBe(0);
    await approve.click();
    const question = page.getByRole('dialog', { name: 'It has to be confirmed.' });
    await question.getByRole('button', { name: 'Approve' }).click();
    await page.getByRole('status').getByText('US-001 is approved').waitFor();
    const first = { story: 'US-001', commit: shown };
    expect(sent).toEqual([first, first, { ...first, confirm: ['hidden'] }]);
    // The browser reports the refused requests as errors.
    for (const problem of problems.splice(0)) expect(problem).toContain('409');
  });
});
