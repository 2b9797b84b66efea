import { beforeAll, describe, expect, it, vi } from 'vitest';
import { NO_USAGE } from '../../src/core/agent.ts';
import { attempted, created, failed, gateFailure } from '../support/journal.ts';
import { checkScreen } from '../support/network/check-screen.ts';
import { hasChromium } from '../support/network/chromium.ts';
import { shareDashboard } from '../support/network/dashboard.ts';
import { addSampleRun } from '../support/network/sample-run.ts';
import { casesAtLevel } from '../support/suite/level.ts';
import { skipFor } from '../support/skip.ts';
import { PATIENCE } from '../support/patience.ts';

const STORY = 'run/sample01/story/US-003';

describe('the screen of a run', skipFor(!hasChromium && 'chromium is missing'), () => {
  const { home, page, served, show, problems } = shareDashboard();

  beforeAll(() => addSampleRun(home, 'sample01'));

  it('shows why a story failed, when, and leads to the whole log', async () => {
    await show('run/sample01', 'shop');
    const failures = page.getByRole('region', { name: 'Failures' });
    const text = await failures.innerText();
    for (const part of ['US-003', 'failed: gate', 'attempt 2 of 2', 'npm test', 'exit 1', 'expected 100 to be 90'])
      expect(text).toContain(part);
    expect(await page.locator('main').innerText(), 'the cause is said once').not.toContain('did not exit 0');
    expect(await failures.locator('time').first().getAttribute('title')).toMatch(/^2030-01-01 00:0\d:\d\d UTC$/);
    expect(await failures.locator('.ansi-1').first().innerText()).toBe('FAIL');
    await failures.getByRole('link', { name: 'Whole log' }).click();
    await page.getByRole('log').getByText('> npm test').waitFor();
    await page.getByRole('link', { name: 'Line 2', exact: true }).click();
    await page.waitForURL(/attempt\/2\/log\/gates%2F2\.log\/L2$/);
    await page.locator('.log-row.target').getByText('FAIL').waitFor();
  });

  it.each(['nosuchrun', 'a%20b%2F..%2Fc', '%E0%A4%A'])(
    'says that there is no run %s, which is no interrupted connection',
    async (runId) => {
      await page.goto(`${served.url}/#/run/${runId}`);
      await page.getByText('There is no run ').waitFor();
      await page.getByRole('main').getByRole('link', { name: 'Now' }).click();
      await page.getByRole('heading', { name: 'Now', level: 1 }).waitFor();
      expect(await page.getByText('The connection to the server is interrupted.').count()).toBe(0);
      // The browser reports the refused requests as errors.
      for (const problem of problems.splice(0)) expect(problem).toContain('404');
    },
  );

  it('has a button by which people with the role retry a run without attempts left', async () => {
    const end = { type: 'run.ended', stopReason: 'ATTEMPTS_EXHAUSTED', detail: 'US-001 failed 2 times' } as const;
    const attempts = [...failed('US-001', 1), ...failed('US-001', 2)];
    await home.addRun([created('failed01', 2), { type: 'run.started' }, ...attempts, end]);
    await show('run/failed01', 'shop');
    await page.getByRole('button', { name: 'Retry', exact: true }).click();
    await page.getByRole('button', { name: 'Pause' }).waitFor();
    expect((await home.operations.getRun({ runId: 'failed01' })).state.status).not.toBe('ended');
  });

  it('lands what is not on the branch yet', async () => {
    await home.addLandedRun('landed01');
    await show('run/landed01', 'shop');
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await page.getByText('In the shell').click();
    await page.getByRole('button', { name: 'Copy halo land landed01' }).click();
    await page.getByRole('button', { name: 'Copied halo land landed01' }).waitFor();
    expect(await page.evaluate('navigator.clipboard.readText()')).toBe('halo land landed01');
    const { tip } = (await home.operations.getRun({ runId: 'landed01' })).state;
    const landing = page.waitForRequest('**/landed01/land');
    await page.getByRole('button', { name: 'Land', exact: true }).click();
    const question = page.getByRole('dialog', { name: 'Land run landed01?' });
    await question.getByRole('button', { name: 'Land' }).click();
    expect((await landing).postDataJSON(), 'the commit that the page shows').toEqual({ commit: tip });
    await page.locator('.badge', { hasText: '✓ landed' }).waitFor();
    expect(await page.getByRole('button', { name: 'Land', exact: true }).count()).toBe(0);
  });

  it('shows the dependencies of stories, whose links work by key', async () => {
    await show('run/sample01', 'shop');
    const graph = page.getByRole('region', { name: 'Dependencies of the stories' });
    await graph.getByRole('link', { name: /^US-004 blocked by US-003/ }).waitFor();
    expect(await graph.locator('.edge').count()).toBe(4);
    await graph.getByRole('link', { name: /^US-002 passed/ }).focus();
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name: 'US-002 Show the total' }).waitFor();
    await page.goBack();
    await page.getByRole('button', { name: 'List' }).click();
    await page
      .getByRole('list', { name: 'Stories' })
      .getByRole('link', { name: /US-004 blocked by US-003/ })
      .waitFor();
  });

  it('shows the prompt, diff, network, usage and cassette of an attempt', async () => {
    await show(STORY, 'US-003');
    const tab = (name: string) =>
      page.getByRole('navigation', { name: 'Attempt', exact: true }).getByText(name).click();
    await tab('Prompt');
    await page.getByText('Apply coupons, attempt 2.').waitFor();
    await page.getByRole('row', { name: /repository AGENTS.md 2,000 150/ }).waitFor();
    await tab('Diff');
    await page.locator('[data-row].added', { hasText: 'export const rate1 = 0.1;' }).waitFor();
    await page.getByRole('list', { name: 'Changed files' }).getByText('src/coupon.ts').waitFor();
    await tab('Network');
    await page.getByRole('row', { name: /CONNECT evil.example.com:443 .* agent ✗ refused 403 2 0/ }).waitFor();
    await tab('Usage');
    await page.getByRole('row', { name: 'gpt-5 2 24,000 8,000 900 $0.05' }).waitFor();
    await tab('Cassette');
    await page.getByRole('log').getByText('halo_cassette').waitFor();
    await tab('Agent log');
    await page.getByRole('log').getByText('Looking at US-003 first.').waitFor();
  });

  it('compares two attempts, and marks what differs', async () => {
    await show(STORY, 'US-003');
    await page.getByRole('link', { name: 'Compare' }).click();
    await page.getByRole('row', { name: 'Input tokens differs 12,000 24,000' }).waitFor();
    await page.getByRole('row', { name: 'src/coupon.ts differs +1 −0 +2 −0' }).waitFor();
    const groups = await page.locator('.compare .group').allInnerTexts();
    expect(groups.slice(0, 2).map((each) => each.toLowerCase())).toEqual(['result', 'files']);
    expect(await page.getByRole('row', { name: /^npm test/ }).innerText()).not.toContain('differs');
    await page.getByLabel('First attempt').selectOption('Attempt 2');
    await page.waitForURL(/compare\/2\/2$/);
    await vi.waitFor(async () => expect(await page.locator('.differs').count()).toBe(0), PATIENCE);
  });

  it('has the stderr of an agent beside its log, not among the gates', async () => {
    await home.addRun([created('stderr01', 2), { type: 'run.started' }, ...attempted('US-001')]);
    const { state } = await home.operations.getRun({ runId: 'stderr01' });
    home.writeArtifact('stderr01', `${state.stories[0]!.key}/1/agent.stderr.log`, 'warning: no color\n');
    await show('run/stderr01/story/US-001/attempt/1/agent', 'US-001');
    await page.getByRole('link', { name: 'stderr of the agent' }).click();
    await page.getByRole('log').getByText('warning: no color').waitFor();
    await page.getByRole('link', { name: 'Gates' }).click();
    await page.waitForURL(/attempt\/1\/log$/);
    expect(await page.getByText('stderr of the agent').count()).toBe(0);
  });

  it('follows the log of a gate that is running, and its end', async () => {
    await home.addRun([created('running1', 2), { type: 'run.started' }, ...attempted('US-001')]);
    const { state } = await home.operations.getRun({ runId: 'running1' });
    const path = `${state.stories[0]!.key}/1/gates/1.log`;
    const lines = ['first'];
    home.writeArtifact('running1', path, 'first\n');
    await show('run/running1/story/US-001/attempt/1/log', 'US-001');
    const log = page.getByRole('log');
    await log.getByText('first').waitFor();
    for (let at = 0; at < 300; at++) lines.push(`test ${at} passed`);
    home.writeArtifact('running1', path, `${lines.join('\n')}\n`);
    await log.getByText('test 299 passed').waitFor();
    const end = { exitCode: 1, ms: 900, log: 'gates/1.log', tail: lines.slice(-20).join('\n') };
    await home.append('running1', { type: 'gate.ended', story: 'US-001', attempt: 1, command: 'npm test', ...end });
    await page
      .getByRole('list', { name: 'Commands' })
      .getByRole('link', { name: /✗ failed gate npm test exit 1 · 0.9s/ })
      .waitFor();
    const stopped = { verdict: 'failed', stopReason: 'GATE_FAILED', summary: 'npm test', usage: NO_USAGE } as const;
    await home.append('running1', {
      type: 'story.ended',
      story: 'US-001',
      attempt: 1,
      ...stopped,
      failure: gateFailure('hint'),
    });
    await show('run/running1/story/US-001', 'US-001');
    await page.getByLabel('End of the output').getByText('test 299 passed').waitFor();
  });

  it('passes axe in each part, and is as wide as its window', async () => {
    const parts = [
      ['run/sample01', 'shop'],
      [STORY, 'US-003'],
      // Those with diffs are checked in the tests of the diff of an attempt.
      ...casesAtLevel(['log', 'network'], ['prompt', 'agent', 'usage', 'cassette']).map((tab) => [
        `${STORY}/attempt/2/${tab}`,
        'US-003',
      ]),
    ];
    for (const [path = '', heading = ''] of parts) {
      await show(path, heading);
      await checkScreen(page, path.split('/').slice(2).join('-') || 'run');
    }
  });
});
