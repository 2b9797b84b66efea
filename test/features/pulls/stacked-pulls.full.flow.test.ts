import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, vi } from 'vitest';
import { OK, prdOf } from '../../support/halo/halo.ts';
import { readJournal } from '../../support/halo/read-journal.ts';
import { withAgent } from '../../support/forge/issue-home.ts';
import { it as base } from '../../support/forge/pull-home.ts';
import { PATIENCE } from '../../support/patience.ts';

const STACKED = ['-c', 'land.mode="pr"', '-c', 'land.pull_requests="story"'];
const AGENT = `cat > "prompt-$(date +%N)"; ${OK}`;

const it = base.extend('stack', ({ forge, haloHome, repository, command, origin }) => {
  const file = join(haloHome.dir, 'config.toml');
  writeFileSync(file, `${readFileSync(file, 'utf8')}\n[land]\nfeedback_interval = "1s"\n`);
  const filesIn = (folder: string) =>
    existsSync(join(haloHome.dir, folder)) ? readdirSync(join(haloHome.dir, folder)) : [];
  return {
    startWorker: () => haloHome.start(['worker'], { cwd: repository.root, env: { TEST_FORGE_TOKEN: forge.token } }),
    async submit(ids: string[]) {
      const prd = join(repository.root, '../prd.json');
      writeFileSync(prd, prdOf(ids.map((id) => ({ id, title: `Do ${id}` }))).bytes);
      const submitted = await command(['submit', prd, '--repo', repository.root, ...withAgent(AGENT), ...STACKED]);
      const runId = submitted.stdout.trim();
      expect(runId, submitted.stderr).not.toBe('');
      return runId;
    },
    events: (runId: string) => readJournal(haloHome.dir, runId),
    commitsOf: (runId: string) => repository.git('log', '--reverse', '--format=%H', `main..halo/${runId}`).split('\n'),
    heads: () => forge.pulls.all.map(({ branch }) => origin.git('rev-parse', `refs/heads/${branch}`)),
    /** Waits until the run has ended, so often, and the forge has everything. */
    async untilSent(runId: string, ends = 1) {
      await vi.waitFor(() => {
        const ended = readJournal(haloHome.dir, runId).filter(({ type }) => type === 'run.ended');
        expect(ended).toHaveLength(ends);
        expect(forge.pulls.all.some(({ isDraft }) => isDraft)).toBe(false);
        expect(filesIn('feed')).toEqual([]);
        expect(filesIn('pull-requests')).toEqual([]);
      }, PATIENCE);
    },
  };
});

describe('a run with a pull request for each story', () => {
  it('stacks them, changes the base when one is merged, and answers a review of one further up', async ({
    forge,
    stack,
    origin,
    command,
  }) => {
    const worker = stack.startWorker();
    const runId = await stack.submit(['A', 'B', 'C']);
    await stack.untilSent(runId);
    const commits = stack.commitsOf(runId);
    expect(commits).toHaveLength(3);
    const branches = forge.pulls.all.map(({ branch }) => branch);
    expect(branches).toEqual([1, 2, 3].map((n) => expect.stringMatching(`^halo-pr/${runId}/${n}-[abc]`) as string));
    expect(forge.pulls.all.map(({ base }) => base)).toEqual(['main', branches[0], branches[1]]);
    expect(stack.heads()).toEqual(commits);
    expect(forge.pulls.all[1]!.title).toContain('B: Do B (2 of 3');
    expect(forge.pulls.all[1]!.body).toContain(
      `Pull request 2 of 3, after [#1](${forge.url}/acme/shop/pulls/1), before [#3](${forge.url}/acme/shop/pulls/3).`,
    );
    const statuses = forge.pulls.statuses.map(({ commit, context, state }) => [commit, context, state]);
    expect(statuses).toEqual(['A', 'B', 'C'].map((id, n) => [commits[n], `halo/${id}`, 'success']));
    expect(origin.git('branch', '--list', 'halo/*')).toBe('');

    forge.pulls.all[0]!.state = 'merged';
    origin.git('update-ref', '-d', `refs/heads/${branches[0]}`);
    await vi.waitFor(() => expect(forge.pulls.all[1]!.base).toBe('main'), PATIENCE);
    expect(forge.pulls.all[2]!.base).toBe(branches[1]);
    expect(stack.events(runId)).toContainEqual(
      expect.objectContaining({ type: 'pull.closed', number: 1, merged: true }),
    );
    expect(origin.git('branch', '--list', branches[0]!), 'a merged branch is not pushed again').toBe('');

    const status = (await command(['status', runId])).stdout;
    expect(status).toContain(`#1 ${forge.url}/acme/shop/pulls/1 (merged)`);
    expect(status).toMatch(/halo pr \w+ +merge its pull request: \S+\/pulls\/2/);
    forge.pulls.review({ author: 'alice', pull: 2, text: 'Rename it.' });
    await vi.waitFor(() => expect(forge.pulls.all).toHaveLength(4), PATIENCE);
    await stack.untilSent(runId, 2);
    const given = stack.events(runId).filter(({ type }) => type === 'feedback.given');
    expect(given).toMatchObject([{ story: 'B', author: 'alice' }]);
    expect(forge.pulls.all[3]).toMatchObject({
      base: branches[2],
      title: expect.stringContaining('B (follow-up): Do B (4 of 4') as string,
    });
    expect(forge.pulls.all[1]!.body).toContain('is answered in [#4](');
    const after = stack.commitsOf(runId);
    expect(after.slice(0, 3), 'no branch was rewritten').toEqual(commits);
    expect(forge.pulls.all.slice(1).map(({ branch }) => origin.git('rev-parse', branch))).toEqual(after.slice(1));
    worker.process.kill('SIGTERM');
    await worker.ended;
  });

  it.for(['before', 'after'] as const)(
    'has one for each story after kill -9 between push and pull request: %s it was opened',
    async (drop, { forge, stack }) => {
      const first = stack.startWorker();
      let isKilled = false;
      forge.fault = (request) => {
        if (isKilled || forge.pulls.all.length === 0 || !request.startsWith('POST /repos/acme/shop/pulls'))
          return undefined;
        isKilled = true;
        const wait = async () => {
          first.process.kill('SIGKILL');
          await first.ended;
        };
        return { wait, drop };
      };
      const runId = await stack.submit(['A', 'B']);
      await first.ended;
      expect(isKilled).toBe(true);
      const second = stack.startWorker();
      await stack.untilSent(runId);
      const [a, b] = forge.pulls.all;
      expect(forge.pulls.all).toHaveLength(2);
      expect([a!.base, b!.base]).toEqual(['main', a!.branch]);
      expect(stack.heads()).toEqual(stack.commitsOf(runId));
      second.process.kill('SIGTERM');
      await second.ended;
    },
  );
});
