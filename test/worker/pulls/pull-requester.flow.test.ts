import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, vi } from 'vitest';
import { runIdOf, withAgent } from '../../support/forge/issue-home.ts';
import { it } from '../../support/forge/pull-home.ts';
import { OK, prdOf } from '../../support/halo/halo.ts';
import { PATIENCE } from '../../support/patience.ts';

const STORIES = [{ id: 'A', title: 'Pay @team' }, { id: 'B' }];
const AGENT = `echo "$(date +%N)" > "$(date +%N)"; ${OK}`;
const PR = ['-c', 'land.mode="pr"'];

function writePrd({ root }: { root: string }, stories = STORIES): string {
  const file = join(root, '../prd.json');
  writeFileSync(file, prdOf(stories).bytes);
  return file;
}

describe('a run with land.mode = "pr"', () => {
  it('pushes its branch and records, and has one pull request with all stories', async ({
    forge,
    haloHome,
    command,
    repository,
    origin,
  }) => {
    const ended = await command(['run', writePrd(repository), ...withAgent(AGENT), ...PR]);
    expect(ended.code, ended.stderr).toBe(0);
    const runId = runIdOf(ended);
    const tip = repository.git('rev-parse', `halo/${runId}`);
    const status = await command(['status', runId]);
    expect(origin.git('rev-parse', `refs/heads/halo/${runId}`), status.stdout).toBe(tip);
    expect(origin.git('notes', '--ref=halo', 'show', tip)).toContain(`"commit": "${tip}"`);
    expect(forge.pulls.all).toMatchObject([
      {
        branch: `halo/${runId}`,
        base: 'main',
        isDraft: false,
        title: expect.stringContaining('2 of 2 stories') as string,
      },
    ]);
    const [{ body = '' } = {}] = forge.pulls.all;
    expect(body).toContain('### `A` `Pay @team`');
    expect(body).toMatch(/- gate: `true` exited 0/);
    // Once each, also if the pull request was updated twice at this commit: after the last story, and at the end.
    const states = forge.pulls.statuses.filter(({ commit }) => commit === tip);
    expect(states.map(({ context, state }) => `${context} ${state}`)).toEqual(['halo/A success', 'halo/B success']);
    const shown = await command(['status', runId]);
    expect(shown.stdout).toContain(`${forge.url}/acme/shop/pulls/1`);
    const files = readdirSync(haloHome.dir, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
    const found = files.filter(({ parentPath, name }) =>
      readFileSync(join(parentPath, name), 'latin1').includes(forge.token),
    );
    expect(found, 'the token is in no file').toEqual([]);
    expect(readdirSync(join(haloHome.dir, 'pull-requests'))).toEqual([]);
  });

  it('opens no second pull request if the answer to the first was lost', async ({
    forge,
    haloHome,
    command,
    repository,
    origin,
  }) => {
    let isLost = false;
    forge.fault = (request) => {
      if (isLost || !request.startsWith('POST /repos/acme/shop/pulls')) return undefined;
      isLost = true;
      return { drop: 'after' };
    };
    const worker = haloHome.start(['worker'], { cwd: repository.root, env: { TEST_FORGE_TOKEN: forge.token } });
    const submitted = await command([
      'submit',
      writePrd(repository),
      '--repo',
      repository.root,
      ...withAgent(AGENT),
      ...PR,
    ]);
    const runId = submitted.stdout.trim();
    await vi.waitFor(() => expect(forge.pulls.all).toMatchObject([{ isDraft: false }]), PATIENCE);
    expect(isLost).toBe(true);
    await vi.waitFor(() => expect(readdirSync(join(haloHome.dir, 'pull-requests'))).toEqual([]), PATIENCE);
    expect((await command(['status', runId])).stdout, 'the failure is over').not.toContain('Tried again');
    expect(forge.pulls.all).toHaveLength(1);
    expect(origin.git('rev-parse', `refs/heads/halo/${runId}`)).toBe(repository.git('rev-parse', `halo/${runId}`));
    worker.process.kill('SIGTERM');
    await worker.ended;
  });

  it('keeps what people push to its branch, and shows further work that it cannot push', async ({
    forge,
    haloHome,
    command,
    repository,
    origin,
  }) => {
    const worker = haloHome.start(['worker'], { cwd: repository.root, env: { TEST_FORGE_TOKEN: forge.token } });
    const submit = ['submit', writePrd(repository, [{ id: 'A', title: 'Pay' }]), '--repo', repository.root];
    const runId = (await command([...submit, ...withAgent(AGENT), ...PR])).stdout.trim();
    const branch = `halo/${runId}`;
    const settled = (isDraft: boolean) =>
      vi.waitFor(() => expect(forge.pulls.all).toMatchObject([{ isDraft }]), PATIENCE);
    await settled(false);
    const person = ['-c', 'user.name=Tess', '-c', 'user.email=tess@shop.test'];
    const added = origin.git(...person, 'commit-tree', `${branch}^{tree}`, '-p', branch, '-m', 'fix: typo');
    origin.git('update-ref', `refs/heads/${branch}`, added);
    const before = repository.git('rev-parse', branch);
    const rejected = await command(['reject', runId, '--story', 'A', '--feedback', 'Rename it.']);
    expect(rejected.code, rejected.stderr).toBe(0);
    await vi.waitFor(() => expect(repository.git('rev-parse', branch)).not.toBe(before), PATIENCE);
    const tip = repository.git('rev-parse', branch);
    await vi.waitFor(() => expect(forge.pulls.all[0]!.body).toContain(tip), PATIENCE);
    await settled(false);
    expect(origin.git('rev-parse', branch)).toBe(added);
    await vi.waitFor(
      async () =>
        expect((await command(['status', runId])).stdout).toContain(
          `People have pushed to ${branch}, and halo does not overwrite that, so merge ${tip} into it: `,
        ),
      { ...PATIENCE, interval: 500 },
    );
    origin.git('fetch', '-q', repository.root, branch);
    const merged = origin.git(...person, 'commit-tree', `${tip}^{tree}`, '-p', added, '-p', tip, '-m', 'Merge');
    origin.git('update-ref', `refs/heads/${branch}`, merged);
    await vi.waitFor(
      async () => {
        const { stdout } = await command(['status', runId]);
        expect(stdout).toContain('#1 ');
        expect(stdout).not.toContain('People have pushed');
      },
      { ...PATIENCE, interval: 500 },
    );
    expect(forge.pulls.statuses.at(-1)).toMatchObject({ commit: tip, context: 'halo/A', state: 'success' });
    worker.process.kill('SIGTERM');
    await worker.ended;
  });

  it('ends as without a forge if none is configured, and says why', async ({
    haloHome,
    command,
    repository,
    origin,
  }) => {
    expect(origin.git('branch', '--list', 'halo/*')).toBe('');
    writeFileSync(join(haloHome.dir, 'config.toml'), '');
    const ended = await command(['run', writePrd(repository, [{ id: 'A', title: 'Pay' }]), ...withAgent(AGENT), ...PR]);
    expect(ended.code, ended.stderr).toBe(0);
    const shown = await command(['status', runIdOf(ended)]);
    expect(shown.stdout).toContain('no forge is configured for http://127.0.0.1:');
  });
});

describe('halo pr', () => {
  it('opens the pull request of a run that did not ask for one, and prints it when called again', async ({
    forge,
    haloHome,
    command,
    repository,
    origin,
  }) => {
    const runId = runIdOf(await command(['run', writePrd(repository), ...withAgent(AGENT)]));
    expect(forge.pulls.all).toEqual([]);
    const worker = haloHome.start(['worker'], { cwd: repository.root, env: { TEST_FORGE_TOKEN: forge.token } });
    await worker.says('running up to');
    const opened = await command(['pr', runId]);
    expect(opened.stdout, opened.stderr).toContain(`opened  ${runId}  #1 ${forge.url}/acme/shop/pulls/1`);
    expect(forge.pulls.all).toMatchObject([{ branch: `halo/${runId}`, base: 'main', isDraft: false }]);
    expect(origin.git('rev-parse', `refs/heads/halo/${runId}`)).toBe(repository.git('rev-parse', `halo/${runId}`));
    const again = await command(['pr', runId]);
    expect(again.stdout).toContain(`as before  ${runId}  #1 `);
    const status = await command(['status', runId]);
    expect(status.stdout).toMatch(/halo pr \w+ +merge its pull request: http/);
    expect(status.stdout).not.toContain('halo land');
    expect((await command(['audit', '--type', 'pull.requested'])).stdout).toContain(runId);
    worker.process.kill('SIGTERM');
    await worker.ended;
  });

  it('says why it could not be opened, and tries again when called again', async ({
    forge,
    haloHome,
    command,
    repository,
    origin,
  }) => {
    expect(origin.git('branch', '--list', 'halo/*')).toBe('');
    const runId = runIdOf(await command(['run', writePrd(repository), ...withAgent(AGENT)]));
    const worker = haloHome.start(['worker'], { cwd: repository.root, env: { TEST_FORGE_TOKEN: forge.token } });
    await worker.says('running up to');
    forge.fault = (request) =>
      request.startsWith('POST /repos/acme/shop/pulls') ? { status: 422, body: '{"message":"no thanks"}' } : undefined;
    const refused = await command(['pr', runId]);
    expect(refused).toMatchObject({ code: 6, stderr: expect.stringContaining('no thanks') as string });
    forge.fault = () => undefined;
    const opened = await command(['pr', runId]);
    expect(opened.stdout, opened.stderr).toContain(`opened  ${runId}  #1 `);
    worker.process.kill('SIGTERM');
    await worker.ended;
  });

  it('refuses without a forge, and for a run that has landed nothing or is on its branch already', async ({
    haloHome,
    command,
    repository,
    origin,
  }) => {
    expect(origin.git('branch', '--list', 'halo/*')).toBe('');
    const landed = runIdOf(await command(['run', writePrd(repository), ...withAgent(AGENT)]));
    const failed = runIdOf(
      await command(['run', writePrd(repository), ...withAgent('exit 1'), '--from-head', '-c', 'retry.attempts=1']),
    );
    const nothing = await command(['pr', failed]);
    expect(nothing).toMatchObject({ code: 6, stderr: expect.stringContaining('has landed no story') as string });
    expect((await command(['land', landed, '--yes'])).code).toBe(0);
    const merged = await command(['pr', landed]);
    expect(merged).toMatchObject({ code: 6, stderr: expect.stringContaining('is on main already') as string });
    writeFileSync(join(haloHome.dir, 'config.toml'), '');
    const without = await command(['pr', landed]);
    expect(without.stderr).toContain('no forge is configured for http://127.0.0.1:');
  });
});
