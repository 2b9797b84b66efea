import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { Users } from '../../src/api/access/users.ts';
import type { Role } from '../../src/core/access/access.ts';
import { asked, created, failed } from '../support/journal.ts';
import { checkScreen } from '../support/network/check-screen.ts';
import { hasChromium } from '../support/network/chromium.ts';
import { shareDashboard, useDashboard } from '../support/network/dashboard.ts';
import { newRepository } from '../support/repository/new-repository.ts';
import { skipFor } from '../support/skip.ts';
import { PATIENCE } from '../support/patience.ts';

/** Part of a URL that works like a password. */
const TOPIC = 'my-secret-topic';

describe('the dashboard', skipFor(!hasChromium && 'chromium is missing'), () => {
  const { home, page, signIn, show, problems } = shareDashboard();

  /** Adds a user, and returns a token of theirs. */
  async function addUser(name: string, role: Role): Promise<string> {
    const users = new Users(home.host.home);
    const by = { by: 'owner', now: new Date() };
    await users.add({ name, role }, by);
    return (await users.createToken(name, undefined, by)).token;
  }

  function addEndpoint(): void {
    const settings = `[notify.phone]\ntype = "ntfy"\nurl = "https://ntfy.example.com/${TOPIC}"\n`;
    writeFileSync(join(home.host.home, 'config.toml'), settings);
  }

  it('shows a run that starts, and each phase as it happens', async () => {
    await show('', 'Now');
    await page.getByText('No runs yet.').waitFor();
    await home.addRunningRun('running1', 2);
    await page.getByRole('link', { name: /^US-001 Story number 1: gates/ }).waitFor();
    await show('run/running1', 'shop');
    await page.getByRole('log').getByText('Looking at the tests first.').waitFor();
    await home.append('running1', { type: 'phase.started', story: 'US-001', attempt: 1, phase: 'land' });
    await page.getByRole('link', { name: /US-001 land/ }).waitFor();
  });

  it('answers a question', async () => {
    await home.addRun([created('asking01', 1), { type: 'run.started' }, ...asked('US-001')]);
    await show('inbox', 'Inbox');
    await page.getByLabel('Answer to US-001').fill('Euro');
    await page.getByRole('button', { name: 'Send the answer' }).click();
    await page.getByText('Nothing waits for you.').waitFor();
    const { state } = await home.operations.getRun({ runId: 'asking01' });
    expect(state.stories[0]?.answered).toMatchObject([{ text: 'Euro' }]);
  });

  it('approves a commit by a key, and counts what waits in the title', async () => {
    await home.addHeldRun('heldrun1');
    await show('', 'Now');
    await vi.waitFor(async () => expect(await page.title()).toBe('(1) Now – halo'), PATIENCE);
    await page.keyboard.press('g');
    await page.keyboard.press('i');
    await page.getByRole('button', { name: 'Approve' }).waitFor();
    await page.keyboard.press('a');
    expect((await home.operations.getRun({ runId: 'heldrun1' })).state.stories, 'no entry is chosen').toMatchObject([
      { progress: 'needs_human' },
    ]);
    await page.keyboard.press('j');
    await page.keyboard.press('a');
    await page.getByRole('button', { name: 'Land' }).waitFor();
    const { state } = await home.operations.getRun({ runId: 'heldrun1' });
    expect(state.stories).toMatchObject([{ progress: 'passed' }]);
  });

  it('submits a PRD, whose problems it shows with their lines while it is typed', async () => {
    const repository = newRepository({
      'halo.toml': 'agent = "command"\ngates = ["true"]\n[agents.command]\nrun = "true"\n',
    });
    await show('submit', 'Submit');
    const submit = page.getByRole('button', { name: 'Submit', exact: true });
    await page.getByLabel('Repository').fill(repository.root);
    const stories = '{"userStories": [\n{"id": "A", "title": "Add ä"},\n{"id": "A", "title": "Add b"}]}';
    await page.getByLabel('PRD', { exact: true }).fill(stories);
    await page.getByRole('alert').getByRole('button', { name: 'Line 3' }).click();
    expect(await page.evaluate('document.activeElement.value.slice(document.activeElement.selectionStart)')).toMatch(
      /^\{"id": "A", "title": "Add b"\}\]/,
    );
    expect(await submit.isDisabled()).toBe(true);
    const file = { name: 'shop.json', mimeType: 'application/json', buffer: Buffer.from(stories.replace('A', 'B')) };
    await page.getByLabel('PRD file').setInputFiles(file);
    await page.getByRole('heading', { name: '2 stories' }).waitFor();
    await page.getByText('An estimate needs at least 3 stories').waitFor();
    await submit.click();
    const link = page.getByRole('link', { name: /^Open run/ });
    const runId = (await link.innerText()).replace('Open run ', '');
    expect((await home.operations.getRun({ runId })).state.stories.map(({ title }) => title)).toEqual([
      'Add ä',
      'Add b',
    ]);
    await link.click();
    await page.waitForURL(`**/#/run/${runId}`);
    // The browser reports the refused PRD as an error.
    expect(problems.splice(0)).toEqual([expect.stringContaining('422')]);
  });

  it('opens a run by the command palette', async () => {
    await home.addRunningRun('running2', 1);
    await show('', 'Now');
    await page.getByRole('link', { name: 'shop' }).first().waitFor();
    await page.keyboard.press('Control+k');
    await page.getByRole('combobox', { name: 'Go to' }).fill('number 1 in progress');
    await page.getByRole('option', { name: 'US-001 Story number 1 in progress shop running2' }).waitFor();
    await page.getByRole('combobox', { name: 'Go to' }).fill('running2');
    await page.getByRole('option', { name: /^shop: Story number 1 .*running · \S+ ago · .* running2$/ }).waitFor();
    await page.keyboard.press('Enter');
    await page.waitForURL(/#\/run\/running2/);
    await page.getByRole('button', { name: 'Pause' }).waitFor();
    await page.keyboard.press('Control+k');
    await page.getByRole('combobox', { name: 'Go to' }).fill('pause');
    await page.getByRole('option', { name: 'Pause p' }).waitFor();
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Resume' }).waitFor();
  });

  it('passes axe on each screen, which is as wide as its window', async () => {
    await home.addHeldRun('heldrun2');
    await home.addRun([created('failed01', 1), { type: 'run.started' }, ...failed('US-001')]);
    await addUser('adam', 'admin');
    addEndpoint();
    const screens = [
      ['', 'Now'],
      ['inbox', 'Inbox'],
      ['run/heldrun2', 'shop'],
      ['run/heldrun2/diff/US-001', 'Review'],
      ['spend', 'Spend'],
      ['failures', 'Failures'],
      ['submit', 'Submit'],
      ['settings', 'Settings'],
    ];
    for (const [path = '', heading = ''] of screens) {
      await show(path, heading);
      await checkScreen(page, heading);
    }
  });

  // The last one: it signs out.
  it('shows users and endpoints of notifications to an admin without their secrets, and signs out', async () => {
    const token = await addUser('ada', 'admin');
    addEndpoint();
    await page.context().clearCookies();
    await signIn(token);
    await show('settings', 'Settings');
    // The secret part may contain underscores, too.
    const [, id = '', ...parts] = token.split('_');
    const secret = parts.join('_');
    const users = page.getByRole('region', { name: 'Users and tokens' });
    await users.getByText(id).waitFor();
    const endpoints = page.getByRole('region', { name: 'Endpoints of notifications' });
    expect(await endpoints.getByRole('row').last().innerText()).toMatch(/^phone\s+ntfy\s+ntfy\.example\.com\s/);
    expect(secret.length).toBeGreaterThan(30);
    for (const hidden of [secret, TOPIC]) expect(await page.content()).not.toContain(hidden);
    expect(await users.locator('time').first().getAttribute('title')).toMatch(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC$/);
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.locator('input:focus').waitFor();
    await page.getByRole('button', { name: 'Sign in with the token' }).waitFor();
  });
});

describe('the dashboard, without its server', skipFor(!hasChromium && 'chromium is missing'), () => {
  const dashboard = useDashboard();

  it('says that the connection is interrupted, and loads again what failed: on request, and when it is back', async () => {
    const { page, served, problems, show, signIn } = dashboard;
    await signIn();
    const cut = '**/v1/reports/**';
    await page.route(cut, (route) => route.abort());
    await show('spend', 'Spend');
    await page.getByText('halo cannot be reached (network or server).').waitFor();
    await page.unroute(cut);
    await page.getByRole('button', { name: 'Try again' }).first().click();
    await page.getByText('No costs in this period.').waitFor();
    await page.route('**/v1/**', (route) => route.abort());
    await page.reload();
    await page.getByText('halo cannot be reached (network or server).').waitFor();
    await page.unroute('**/v1/**');
    await page.getByText('No costs in this period.').waitFor();
    expect(await page.getByRole('alert').count()).toBe(0);
    await served.close();
    await page.getByText('The connection to the server is interrupted.').waitFor();
    problems.splice(0);
  });
});
