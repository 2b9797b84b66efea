import { beforeEach, describe, expect, it } from 'vitest';
import { hasChromium } from '../support/network/chromium.ts';
import { useDashboard } from '../support/network/dashboard.ts';
import { skipFor } from '../support/skip.ts';

describe('the screen Submit', skipFor(!hasChromium && 'chromium is missing'), () => {
  const { page, show, signIn } = useDashboard();

  beforeEach(async () => {
    await signIn();
  });

  const PRD = '{"userStories": [{"id": "A", "title": "Add a"}]}';

  it('keeps what was typed until it is submitted', async () => {
    await show('submit', 'Submit');
    await page.getByLabel('PRD', { exact: true }).fill(PRD);
    await page.getByLabel('Repository').fill('/srv/shop');
    await page.getByRole('heading', { name: '1 story' }).waitFor();
    await page.reload();
    await page.getByRole('heading', { name: '1 story' }).waitFor();
    expect(await page.getByLabel('Repository').inputValue()).toBe('/srv/shop');
    expect(await page.getByLabel('PRD', { exact: true }).inputValue()).toBe(PRD);
  });

  it('reads a file that is dropped on it, and inserts an example', async () => {
    await show('submit', 'Submit');
    await page.getByRole('button', { name: 'Insert an example in Markdown' }).click();
    await page.getByText('Sum up the cart').waitFor();
    await page.getByLabel('PRD', { exact: true }).fill('');
    await page.getByRole('button', { name: 'Insert an example in JSON' }).click();
    await page.getByText('Sum up the cart').waitFor();
    const data = await page.evaluateHandle(
      `(() => { const data = new DataTransfer(); data.items.add(new File([${JSON.stringify(PRD)}], 'shop.json')); return data; })()`,
    );
    await page.getByLabel('PRD', { exact: true }).dispatchEvent('drop', { dataTransfer: data });
    await page.getByRole('heading', { name: '1 story' }).waitFor();
  });
});
