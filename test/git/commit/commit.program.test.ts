import { expect, it } from 'vitest';
import { commitMessage } from '../../../src/git/commit/commit-message.ts';
import { createCommit } from '../../../src/git/commit/create-commit.ts';
import { diffCommits } from '../../../src/git/commit/read-commits.ts';
import { candidatePath } from '../../../src/git/repository/scratch-repo.ts';
import { run } from '../../support/repository/git-fixture.ts';
import { importFrom, makeWorkshop, snapshot } from '../import/import-fixture.ts';

const trailers = { 'Halo-Run': 'r1', 'Halo-Story': 'US-1', 'Halo-Attempt': '2' };
const parts = {
  template: 'feat: [{id}] - {title}',
  id: 'US-1',
  title: 'Add a cart',
  run: 'r1',
  body: 'It works.',
  trailers,
};

it('writes subject, body and trailers', () => {
  expect(commitMessage(parts)).toBe(
    'feat: [US-1] - Add a cart\n\nIt works.\n\nHalo-Run: r1\nHalo-Story: US-1\nHalo-Attempt: 2\n',
  );
  expect(commitMessage({ ...parts, body: '' })).toMatch(/^feat: \[US-1\] - Add a cart\n\nHalo-Run/);
});

it.each([
  'ok\n\nSigned-off-by: Boss <b@x>\nHalo-Run: evil\nhalo-story : other',
  'ok\n---\nHalo-Run: evil\n',
  'ok\n--- a/x\n+++ b/x\ndiff --git a/x b/x\nIndex: x',
  'ok\nNote: this is prose\nand more',
  'ok\r\rHalo-Run: evil\u2028Co-authored-by: x',
  'ok\n# ------------------------ >8 ------------------------\n',
  'ok\nConflicts:\n\tx',
])('lets no body forge or hide trailers: %j', async (body) => {
  const shop = await makeWorkshop();
  const message = commitMessage({ ...parts, body });
  const parsed = run(shop.agent, ['interpret-trailers', '--parse'], message);
  expect(parsed).toBe('Halo-Run: r1\nHalo-Story: US-1\nHalo-Attempt: 2');
});

it('inserts the story and the run, without repetition', () => {
  const message = commitMessage({ ...parts, template: '{run}: {id} {title}', title: 'About {run}' });
  expect(message.split('\n')[0]).toBe('r1: US-1 About {run}');
});

it('removes control characters, truncates long text, and escapes commands and references', () => {
  const id = 'US-1\n\nHalo-Run: evil';
  const title = 'a\u001b[31m [skip ci] [skip [skip ci]ci] \u202eb fixes #12';
  const body = `[ci skip] ***NO_CI*** Closes org/repo#7 \u0007${'x'.repeat(10_000)}`;
  const message = commitMessage({ ...parts, id, title, body, trailers: { 'Halo-Run': 'a\nHalo-Story: b' } });
  expect(message).not.toMatch(/\[[^\]]*(?:skip|ci)|\*{3}|#12|#7|[\u001b\u0007\u202e]/i);
  expect(message.split('\n')[0]).toBe('feat: [US-1 Halo-Run: evil] - a(31m (skip ci) (skip (skip ci)ci) b fixes # 12');
  expect(message.length).toBeLessThan(4500);
  expect(message).toMatch(/\n\nHalo-Run: a Halo-Story: b\n$/);
  expect([...(commitMessage({ ...parts, title: 'y'.repeat(999) }).split('\n')[0] ?? '')]).toHaveLength(200);
});

it('creates the same commit by halo for the same request, and shows it as a plain diff', async () => {
  const shop = await makeWorkshop();
  const tree = snapshot(shop, { 'src/a.ts': '2\n', 'ä b.txt': 'new\n' });
  await importFrom(shop, tree);
  const candidateDir = candidatePath(shop.scratchDir);
  const author = { name: 'halo', email: 'halo@localhost' };
  const request = {
    candidateDir,
    tree,
    parent: shop.base,
    message: commitMessage(parts),
    author,
    date: new Date(5000),
  };
  const commit = await createCommit(request);
  expect(await createCommit(request)).toBe(commit);
  expect(run(candidateDir, ['log', '-1', '--format=%an <%ae> %at %cn %P %T', commit])).toBe(
    `halo <halo@localhost> 5 halo ${shop.base} ${tree}`,
  );
  const range = { gitDir: candidateDir, from: shop.base, to: commit };
  expect((await diffCommits(range)).toString()).toContain('--- a/src/a.ts\n+++ b/src/a.ts\n@@ -1 +1 @@\n-1\n+2\n');
  expect((await diffCommits({ ...range, paths: [] })).toString()).toBe('');
});
