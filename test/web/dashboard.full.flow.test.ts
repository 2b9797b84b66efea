import { describe, expect, it, vi } from 'vitest';
import { Users } from '../../src/api/access/users.ts';
import type { Role } from '../../src/core/access/access.ts';
import { hasChromium } from '../support/network/chromium.ts';
import { useDashboard } from '../support/network/dashboard.ts';
import { skipFor } from '../support/skip.ts';
import { PATIENCE } from '../support/patience.ts';

describe('the dashboard', skipFor(!hasChromium && 'chromium is missing'), () => {
  const { home, served, page, signIn, show } = useDashboard();

  /** Adds a user, and returns a token of theirs. */
  async function addUser(name: string, role: Role): Promise<string> {
    const users = new Users(home.host.home);
    const by = { by: 'owner', now: new Date() };
    await users.add({ name, role }, by);
    return (await users.createToken(name, undefined, by)).token;
  }

  it('sends a commit back with a comment on a line', async () => {
    await home.addHeldRun('heldrun1');
    await signIn();
    await show('run/heldrun1/diff/US-001', 'Review US-001');
    await page.locator('code.added', { hasText: 'new' }).waitFor();
    await page.getByRole('button', { name: 'Comment on line 1' }).first().click();
    await page.getByRole('textbox', { name: 'Comment on line 1' }).fill('Use a name.');
    await page.getByRole('button', { name: /Send back with 1 comment/ }).click();
    await vi.waitFor(async () => {
      const { state } = await home.operations.getRun({ runId: 'heldrun1' });
      expect(JSON.stringify(state.stories[0]?.feedback)).toContain('Use a name.');
    }, PATIENCE);
  });

  it('offers a viewer no action', async () => {
    await home.addHeldRun('heldrun1');
    await signIn(await addUser('vera', 'viewer'));
    await show('inbox', 'Inbox');
    await page.getByText('Review the diff').waitFor();
    expect(await page.getByRole('button', { name: /Approve|Reject/ }).count()).toBe(0);
    await show('run/heldrun1/diff/US-001', 'Review US-001');
    expect(await page.getByRole('button', { name: /Approve|Reject|Comment/ }).count()).toBe(0);
    await show('submit', 'Submit');
    await page.getByText('Your role does not include submitting.').waitFor();
    expect(await page.locator('main').locator('input, textarea, button').count()).toBe(0);
    await show('settings', 'Settings');
    await page.getByText(/^Only administrators see users/).waitFor();
  });

  it('names the screen in the title, and has an icon', async () => {
    await signIn();
    await show('spend', 'Spend');
    await vi.waitFor(async () => expect(await page.title()).toBe('Spend – halo'), PATIENCE);
    const icon = await page.locator('link[rel=icon]').getAttribute('href');
    const response = await fetch(new URL(icon ?? '', served.url));
    expect(response.headers.get('content-type')).toBe('image/svg+xml');
    expect(await response.text()).toContain('<svg');
  });

  it('lists the keys after "?"', async () => {
    await signIn();
    await page.setViewportSize({ width: 390, height: 500 });
    await page.keyboard.press('?');
    await page.getByRole('dialog', { name: 'Keys' }).getByText('next entry').waitFor();
    expect(await page.evaluate('document.querySelector("dialog").scrollTop')).toBe(0);
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
  });

  it('keeps the chosen theme in the browser, and follows the system without one', async () => {
    await page.emulateMedia({ colorScheme: 'dark' });
    await signIn();
    const back = () => page.evaluate<string>('getComputedStyle(document.body).backgroundColor');
    const dark = await back();
    await page.getByRole('button', { name: 'Theme: system' }).click();
    await page.getByRole('button', { name: 'Theme: light' }).waitFor();
    const light = await back();
    expect(light).not.toBe(dark);
    await page.reload();
    await page.getByRole('button', { name: 'Theme: light' }).click();
    await page.getByRole('button', { name: 'Theme: dark' }).click();
    await page.getByRole('button', { name: 'Theme: system' }).waitFor();
    await page.emulateMedia({ colorScheme: 'light' });
    expect(await back()).toBe(light);
  });

  it('opens the navigation of a narrow page with a button, and closes it with Escape', async () => {
    await page.setViewportSize({ width: 390, height: 844 });
    await signIn();
    const menu = page.getByRole('button', { name: /^Menu/ });
    const inbox = page.getByRole('link', { name: 'Inbox' });
    expect(await page.evaluate('document.querySelector("header").offsetHeight')).toBeLessThan(64);
    expect(await inbox.isVisible()).toBe(false);
    await menu.press('Enter');
    await inbox.waitFor();
    expect(await menu.getAttribute('aria-expanded')).toBe('true');
    await page.keyboard.press('Escape');
    await inbox.waitFor({ state: 'hidden' });
    await menu.click();
    await inbox.click();
    await page.getByRole('heading', { name: 'Inbox' }).waitFor();
    expect(await inbox.isVisible()).toBe(false);
  });

  it('obeys Escape in the very moment in which the navigation opens', async () => {
    await page.setViewportSize({ width: 390, height: 844 });
    await signIn();
    await page.evaluate(`new Promise((resolve) => {
      const button = document.querySelector('.menu-button');
      new MutationObserver((_, observer) => {
        observer.disconnect();
        queueMicrotask(() => {
          button.dispatchEvent(new KeyboardEvent('keydown', { key: 'Escape', bubbles: true }));
          resolve();
        });
      }).observe(button, { attributeFilter: ['aria-expanded'] });
      button.click();
    })`);
    await page.getByRole('link', { name: 'Inbox' }).waitFor({ state: 'hidden' });
  });
});
