import { describe, expect, it } from 'vitest';
import { hasChromium } from '../../support/network/chromium.ts';
import { useDashboard } from '../../support/network/dashboard.ts';
import { addSecondRound } from '../../support/halo/second-round.ts';
import { skipFor } from '../../support/skip.ts';

describe('the change since a commit was sent back', skipFor(!hasChromium && 'chromium is missing'), () => {
  const { home, page, signIn, show } = useDashboard();

  it('can be chosen in the review instead of the whole change', async () => {
    await addSecondRound(home);
    await signIn();
    await show('run/heldrun1/diff/US-001', 'Review US-001');
    const choice = page.getByRole('group', { name: 'Part of the change' });
    await page.getByRole('region', { name: 'src/total.ts' }).waitFor();
    await choice.getByLabel('Since attempt 1').check();
    const file = page.getByRole('region', { name: 'src/cart.ts' });
    await file.locator('[data-row].removed', { hasText: 'second' }).waitFor();
    expect(await page.getByRole('region', { name: 'src/total.ts' }).count()).toBe(0);
    for (const width of [1440, 390]) {
      await page.setViewportSize({ width, height: 900 });
      const folder = process.env.HALO_TEST_SCREENSHOTS;
      if (folder !== undefined) await page.screenshot({ path: `${folder}/since-${width}.png`, fullPage: true });
      expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBeLessThanOrEqual(0);
    }
    await choice.getByLabel('Whole change').check();
    await page.getByRole('region', { name: 'src/total.ts' }).waitFor();
    await page.getByRole('button', { name: 'Approve' }).waitFor();
  });
});
