import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';

import { hasChromium } from '../support/network/chromium.ts';
import { useDashboard } from '../support/network/dashboard.ts';

import { skipFor } from '../support/skip.ts';

describe('the screen Settings', skipFor(!hasChromium && 'chromium is missing'), () => {
  const { home, page, show, signIn } = useDashboard();

  beforeEach(async () => {
    await signIn();
  });

  it('scrolls a table of a narrow page instead of breaking its words', async () => {
    writeFileSync(join(home.host.home, 'config.toml'), '[budget]\nday_usd = 5\n');
    await page.setViewportSize({ width: 390, height: 844 });
    await show('settings', 'Settings');
    const key = page.getByRole('region', { name: 'Settings of the server' }).getByText('budget.day_usd');
    await key.waitFor();
    expect((await key.boundingBox())?.height, 'one line').toBeLessThan(30);
    expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBeLessThanOrEqual(0);
  });
});
