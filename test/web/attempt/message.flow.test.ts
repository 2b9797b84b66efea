import { beforeEach, describe, expect, it } from 'vitest';
import { BASE, created, passed } from '../../support/journal.ts';
import { hasChromium } from '../../support/network/chromium.ts';
import { useDashboard } from '../../support/network/dashboard.ts';
import { skipFor } from '../../support/skip.ts';

const RUN = 'tell0001';
const ref = { story: 'US-001', attempt: 1 };

describe('a message from the page of a story', skipFor(!hasChromium && 'chromium is missing'), () => {
  const dashboard = useDashboard();

  beforeEach(async () => {
    await dashboard.home.addRun([
      ...[created(RUN, 2), { type: 'run.started' } as const, ...passed('US-002')],
      { type: 'story.started', ...ref, epoch: 9, base: BASE },
      { type: 'phase.started', ...ref, phase: 'agent' },
    ]);
    await dashboard.signIn();
  });

  it('says where it goes, is sent, and shows what has become of it', async () => {
    const { page, show, home } = dashboard;
    await show(`run/${RUN}/story/US-001`, 'US-001');
    await page.getByLabel('Message for the next prompt').waitFor();
    await home.append(RUN, { type: 'agent.listens', ...ref });
    await page.getByLabel('Message to the agent that is working').fill('Use euros.');
    await page.getByRole('button', { name: 'Send the message' }).click();
    await page.getByText('queued: Use euros.').waitFor();
    await page.getByRole('status').filter({ hasText: 'goes to the agent that is working' }).waitFor();
    const { messages } = (await home.operations.getRun({ runId: RUN })).state.stories[0]!;
    await home.append(RUN, { type: 'message.delivered', ...ref, ids: [messages![0]!.id], how: 'live' });
    await page.getByText('delivered: Use euros.').waitFor();
    await show(`run/${RUN}/story/US-002`, 'US-002');
    expect(await page.getByRole('button', { name: 'Send the message' }).count()).toBe(0);
  });
});
