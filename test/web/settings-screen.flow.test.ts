import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';

import { hasChromium } from '../support/network/chromium.ts';
import { useDashboard } from '../support/network/dashboard.ts';

import { skipFor } from '../support/skip.ts';
import { PATIENCE } from '../support/patience.ts';

describe('the screen Settings', skipFor(!hasChromium && 'chromium is missing'), () => {
  const { home, page, show, signIn } = useDashboard();

  beforeEach(async () => {
    await signIn();
  });

  it('shows changed settings with their origins, hides those with secrets, and finds others', async () => {
    const path = join(home.host.home, 'config.toml');
    const topic = 'https://ntfy.example.com/hunter2-topic';
    writeFileSync(
      path,
      `[budget]\nday_usd = 5\n[env]\nTZ = "secret-zone"\n[notify.a]\ntype = "ntfy"\nurl = "${topic}"\n`,
    );
    await show('settings', 'Settings');
    const table = page.getByRole('region', { name: 'Settings of the server' });
    await table.getByText('budget.day_usd').waitFor();
    expect(await table.getByRole('row', { name: /budget\.day_usd/ }).innerText()).toContain(`${path}:2`);
    expect(await table.getByRole('row', { name: /env\.TZ/ }).innerText()).toMatch(/hidden/);
    expect(await table.getByText('retry.attempts').count()).toBe(0);
    for (const secret of ['hunter2', 'secret-zone']) expect(await page.content()).not.toContain(secret);
    const settings = (await home.operations.readSettings()).settings;
    expect(JSON.stringify(settings)).not.toMatch(/hunter2|secret-zone/);
    await page.getByLabel('all', { exact: true }).check();
    await page.getByLabel('Find settings').fill('retry.attempts');
    await table.getByRole('row', { name: /retry\.attempts\b.*default/ }).waitFor();
  });

  it('shows the checks of the server that start no container', async () => {
    await show('settings', 'Settings');
    const checks = page.getByRole('region', { name: 'Checks of the server' });
    await checks.getByText(/GiB free at/).waitFor(PATIENCE);
    const { findings, skipped } = await home.operations.readDoctor();
    expect(findings.map(({ name }) => name)).toContain('git');
    expect(findings.map(({ name }) => name)).not.toContain('sandbox');
    expect(skipped).toContain('sandbox');
  });
});
