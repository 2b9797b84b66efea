import { beforeEach, describe, expect, it } from 'vitest';
import type { JournalEntry } from '../../../src/core/journal/events.ts';
import { asked, COMMIT, created, held } from '../../support/journal.ts';
import { hasChromium } from '../../support/network/chromium.ts';
import { useDashboard } from '../../support/network/dashboard.ts';
import { skipFor } from '../../support/skip.ts';

const FEEDBACK = { commit: COMMIT, text: 'Round it.', comments: [], by: 'lena' };

function ref(story: string) {
  return { story, attempt: 1 };
}

/** The end of an attempt that needed a person, and what became of it. */
const REPLIES: [text: string, first: JournalEntry[], reply: JournalEntry | undefined][] = [
  ['asked, answered by lena', asked('US-001'), { type: 'story.answered', ...ref('US-001'), text: 'EUR', by: 'lena' }],
  ['sent back by lena', held('US-002'), { type: 'feedback.given', ...ref('US-002'), ...FEEDBACK }],
  ['approved by lena', held('US-003'), { type: 'story.approved', ...ref('US-003'), commit: COMMIT, by: 'lena' }],
  [
    'rejected by lena',
    held('US-004'),
    { type: 'story.rejected', ...ref('US-004'), commit: COMMIT, reason: 'Wrong.', by: 'lena' },
  ],
  ['approved by lena', held('US-005'), { type: 'approval.given', ...ref('US-005'), commit: COMMIT, by: 'lena' }],
  [
    'asked, not answered in time',
    asked('US-006'),
    { type: 'question.expired', ...ref('US-006'), then: 'fail', by: 'halo' },
  ],
  ['needs a human', asked('US-007'), undefined],
];

describe('an attempt that needed a person', skipFor(!hasChromium && 'chromium is missing'), () => {
  const dashboard = useDashboard();

  beforeEach(async () => {
    const stories = REPLIES.flatMap(([, first, reply]) => [
      ...first.filter(({ type }) => type !== 'run.ended'),
      ...(reply === undefined ? [] : [reply]),
    ]);
    await dashboard.home.addRun([created('reply001', REPLIES.length), { type: 'run.started' }, ...stories]);
    await dashboard.signIn();
  });

  it('shows what the person did, on the page of the run and of the story', async () => {
    const { page, show } = dashboard;
    await show('run/reply001', 'shop');
    const rows = page.getByRole('region', { name: 'Attempts' }).getByRole('listitem');
    for (const [index, [text]] of REPLIES.entries())
      expect(
        await rows
          .filter({ hasText: `US-00${index + 1}` })
          .locator('.label')
          .innerText(),
      ).toContain(text);
    await show('run/reply001/story/US-001/attempt/1', 'US-001');
    const chip = page.getByRole('navigation', { name: 'Attempts' }).getByRole('link', { name: 'Attempt 1' });
    expect(await chip.innerText()).toContain('asked, answered by lena');
    expect(await page.locator('.facts').innerText()).toContain('asked, answered by lena');
    // It has not failed, and the question is shown.
    expect(await page.getByRole('region', { name: 'Failure' }).count()).toBe(0);
    await page.getByText('Which currency?').waitFor();
    expect(await page.getByText('The agent needs a human').count()).toBe(0);
    await show('run/reply001/story/US-004/attempt/1', 'US-004');
    await page.getByText('Wrong.').first().waitFor();
  });
});
