import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { holdCommit } from '../../../src/git/commit/held-commits.ts';
import { updateMirror } from '../../../src/git/mirror/mirror.ts';
import { hasChromium } from '../../support/network/chromium.ts';
import { useDashboard, type OpenedDashboard } from '../../support/network/dashboard.ts';
import { skipFor } from '../../support/skip.ts';

const USAGE = { requests: 1, inputTokens: 1, cachedTokens: 0, outputTokens: 1 };
const FIRST = { 'src/cart.ts': 'one\nsecond\n', 'src/total.ts': 'total\n' };

describe('the change since a commit was sent back', skipFor(!hasChromium && 'chromium is missing'), () => {
  const dashboard = useDashboard();
  let home: OpenedDashboard['home'];
  let page: OpenedDashboard['page'];

  beforeEach(() => {
    ({ home, page } = dashboard);
  });

  /** A story whose second commit waits, on a base on which another story may have landed. */
  async function addSecondRound(other?: Record<string, string>): Promise<string> {
    const repository = await home.addHeldRun('heldrun1', { base: { 'src/cart.ts': 'one\n' }, files: FIRST });
    const run = (await home.operations.get('heldrun1')).state;
    const { key, held } = run.stories[0]!;
    const feedback = { commit: held!.commit, text: 'Name it.', comments: [], by: 'lena' };
    await home.append('heldrun1', { type: 'feedback.given', story: 'US-001', attempt: 1, ...feedback });
    const candidateDir = join(repository.root, '.git');
    const mirrorDir = join(home.host.home, 'repos', run.repo.mirror, 'mirror.git');
    let { base } = run.repo;
    if (other !== undefined) {
      for (const [path, text] of Object.entries(other)) repository.write(path, text);
      base = repository.commit('Another story.');
      await updateMirror({ home: home.host.home, name: run.repo.mirror, from: candidateDir, commit: base });
    }
    const ref = { story: 'US-001', attempt: 2 };
    await home.append('heldrun1', { type: 'run.started' }, { type: 'story.started', ...ref, epoch: 2, base });
    repository.git('checkout', '-q', '-b', 'second');
    for (const [path, text] of Object.entries({ ...FIRST, 'src/cart.ts': 'one\nthird\n' }))
      repository.write(path, text);
    const commit = repository.commit('Name it.');
    await holdCommit({ candidateDir, mirrorDir, runId: 'heldrun1', storyKey: key, commit });
    const end = { verdict: 'needs_human', stopReason: 'NEEDS_HUMAN', summary: 'waits', usage: USAGE } as const;
    await home.append('heldrun1', { type: 'story.ended', ...ref, ...end, held: { commit, paths: [] } });
    return mirrorDir;
  }

  it('is what the two commits of the story differ in', async () => {
    await addSecondRound();
    const patch = (await home.operations.diff('heldrun1', 'US-001', 1)).toString();
    expect(patch).toContain('-second\n+third\n');
    expect(patch).not.toContain('total.ts');
  });

  it('has no files that only another story changed', async () => {
    await addSecondRound({ 'docs/other.md': 'other\n' });
    const patch = (await home.operations.diff('heldrun1', 'US-001', 1)).toString();
    expect(patch).toContain('-second\n+third\n');
    expect(patch).not.toContain('other.md');
  });

  it('is refused for attempts that were not sent back, and for commits that are not stored any more', async () => {
    const mirrorDir = await addSecondRound();
    await expect(home.operations.diff('heldrun1', 'US-001', 2)).rejects.toMatchObject({
      code: 'USAGE',
      hint: 'Commits of these attempts were: 1.',
    });
    await expect(home.operations.diff('heldrun1', undefined, 1)).rejects.toMatchObject({ code: 'USAGE' });
    rmSync(join(mirrorDir, '..', 'held.git'), { recursive: true });
    await expect(home.operations.diff('heldrun1', 'US-001', 1)).rejects.toMatchObject({
      code: 'ARTIFACT_UNREADABLE',
      message: 'The commit of attempt 1 at story US-001 is not stored any more.',
    });
  });

  it('can be chosen in the review instead of the whole change', async () => {
    await addSecondRound();
    await dashboard.signIn();
    await dashboard.show('run/heldrun1/diff/US-001', 'Review US-001');
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
