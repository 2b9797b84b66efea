import { describe, expect, it, vi } from 'vitest';
import { created, failed } from '../../support/journal.ts';
import { hasChromium } from '../../support/network/chromium.ts';
import { useDashboard } from '../../support/network/dashboard.ts';
import { skipFor } from '../../support/skip.ts';

const ATTEMPT = { story: 'US-001', attempt: 1 };

describe('the facts of a review', skipFor(!hasChromium && 'chromium is missing'), () => {
  const { home, page, show, signIn } = useDashboard();

  it('warn about no story while its diff is being read, which ends with the page', async () => {
    await home.addLandedRun('landed01', { stories: 6 });
    await signIn();
    const isDiff = (url: string) => url.includes('/diff?story=');
    const [asked, stopped]: [string[], string[]] = [[], []];
    page.on('request', (request) => isDiff(request.url()) && asked.push(request.url()));
    page.on('requestfailed', (request) => isDiff(request.url()) && stopped.push(request.url()));
    // These requests get no answer.
    await page.route('**/diff?story=*', () => undefined);
    await show('run/landed01/diff', 'Review landed01');
    await page.getByText('Reading the diffs of the stories …').waitFor();
    expect(await page.getByRole('region', { name: 'To check in the stories' }).count()).toBe(0);
    await vi.waitFor(() => expect(asked).toHaveLength(4));
    await show('', 'Now');
    await vi.waitFor(() => expect(stopped).toHaveLength(4));
    expect(asked).toHaveLength(4);
  });

  it('are not touched by the boxes around them', async () => {
    await home.addHeldRun('heldrun1');
    await home.addLandedRun('landed01');
    const { commit } = (await home.operations.getRun({ runId: 'heldrun1' })).state.stories[0]!.held!;
    const feedback = { commit, text: 'Round it.', comments: [], by: 'lena' };
    await home.append('heldrun1', { type: 'feedback.given', ...ATTEMPT, ...feedback });
    await signIn();
    await show('run/heldrun1/diff/US-001', 'Review US-001');
    await page.getByText('Earlier feedback (1)').waitFor();
    expect(await gapsOf('.notice, .card')).toEqual([expect.any(Number)]);
    for (const gap of await gapsOf('.notice, .card')) expect(gap).toBeGreaterThanOrEqual(8);
  });

  it('are missing for a run that failed before it landed anything, whose boxes do not touch', async () => {
    const failure = { type: 'run.ended', stopReason: 'ATTEMPTS_EXHAUSTED', detail: 'US-001 failed' } as const;
    await home.addRun([created('failed01', 1), { type: 'run.started' }, ...failed('US-001'), failure]);
    await signIn();
    await show('run/failed01/diff', 'Review failed01');
    await page.getByText('No story of this run has passed.').waitFor();
    const gaps = await gapsOf('.notice');
    expect(gaps).toHaveLength(1);
    for (const gap of gaps) expect(gap).toBeGreaterThanOrEqual(8);
  });

  /** Pixels between the boxes that a selector names, from the top of the page on. */
  function gapsOf(selector: string): Promise<number[]> {
    return page.evaluate(`(() => {
      const boxes = [...document.querySelectorAll('main :is(${selector})')].filter((box) => !box.parentElement.closest('${selector}'));
      const places = boxes.map((box) => box.getBoundingClientRect());
      return places.slice(1).map((place, at) => place.top - places[at].bottom);
    })()`);
  }
});
