import { beforeEach, describe, expect, it } from 'vitest';
import { created } from '../support/journal.ts';
import { hasChromium } from '../support/network/chromium.ts';
import { useDashboard } from '../support/network/dashboard.ts';
import { newRepository } from '../support/repository/new-repository.ts';
import { skipFor } from '../support/skip.ts';

describe('the screen Submit', skipFor(!hasChromium && 'chromium is missing'), () => {
  const { home, page, show, signIn } = useDashboard();

  beforeEach(async () => {
    await signIn();
  });

  const PRD = '{"userStories": [{"id": "A", "title": "Add a"}]}';
  const CONFIG = 'agent = "command"\ngates = ["true"]\n[agents.command]\nrun = "true"\n';

  it('submits to several known repositories with options, and forgets what was typed', async () => {
    const roots = [1, 2].map(() => newRepository({ 'halo.toml': CONFIG }).root);
    for (const [index, source] of roots.entries()) {
      const first = created(`earlier${index}`, 1);
      await home.addRun([{ ...first, repo: { ...first.repo, source } }]);
    }
    await show('submit', 'Submit');
    for (const root of roots) await page.getByLabel(root).check();
    await page.getByLabel('PRD', { exact: true }).fill(PRD);
    await page.getByText('Options').click();
    await page.getByLabel('Priority').fill('7');
    await page.getByLabel('Settings, one per line').fill('retry.attempts=1');
    await page.getByRole('button', { name: 'Submit 2 runs' }).click();
    await page
      .getByRole('link', { name: /^Open run/ })
      .nth(1)
      .waitFor();
    const runs = (await home.operations.listRuns()).runs.filter(({ priority }) => priority === 7);
    expect(runs.map(({ repo }) => repo.source).sort()).toEqual([...roots].sort());
    expect(await page.getByLabel('PRD', { exact: true }).inputValue()).toBe('');
    await page.reload();
    expect(await page.getByLabel('PRD', { exact: true }).inputValue()).toBe('');
  });
});
