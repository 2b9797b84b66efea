import { describe, expect, vi } from 'vitest';
import { HaloError } from '../../../src/core/failure/errors.ts';
import { registerWorker } from '../../../src/store/process-registry.ts';
import { PATIENCE } from '../../support/patience.ts';
import { it, removeForge } from './pull-world.ts';

const POST = 'POST /repos/acme/shop/pulls';

describe('the pull request of a run', () => {
  it('is a draft from the first commit on and follows the branch, until the run has ended', async ({ forge, open }) => {
    const run = await open(['A', 'B']);
    const first = await run.land('A');
    await run.pass();
    const [pull] = forge.pulls.all;
    expect(pull).toMatchObject({ branch: run.branch, base: 'main', isDraft: true });
    expect(run.head()).toBe(first);
    const second = await run.land('B');
    await run.end();
    await run.pass();
    expect(run.head()).toBe(second);
    expect(forge.pulls.all).toEqual([pull]);
    expect(pull!.isDraft).toBe(false);
    expect(run.files('pull-requests')).toEqual([]);
  });

  it.for(['before', 'after'] as const)(
    'is opened once if the worker is gone, and the answer with it, %s the forge opened it',
    async (drop, { forge, open, command }) => {
      const run = await open(['A']);
      const commit = await run.land('A');
      await run.end();
      forge.fault = (request) => (request.startsWith(POST) ? { drop } : undefined);
      await run.pass();
      expect(run.events('pull.opened')).toEqual([]);
      expect((await command(['status', run.runId])).stdout).toContain('Next try');
      forge.fault = () => undefined;
      run.crash();
      await run.pass();
      expect(forge.pulls.all).toMatchObject([{ branch: run.branch, isDraft: false }]);
      expect(run.head()).toBe(commit);
      expect(run.files('pull-requests')).toEqual([]);
      expect((await command(['status', run.runId])).stdout, 'the failure is over').not.toContain('Next try');
    },
  );

  it('hazard 58: waits without a request for as long as the forge limits requests', async ({
    forge,
    open,
    command,
  }) => {
    const run = await open(['A']);
    await run.land('A');
    await run.end();
    let requests = 0;
    forge.fault = () => ((requests += 1), { status: 403, headers: { 'retry-after': '1200' } });
    for (let minute = 0; minute < 20; minute++) await run.pass();
    expect(requests).toBe(1);
    expect((await command(['status', run.runId])).stdout).toContain('its rate limit is used up');
    forge.fault = () => undefined;
    await run.pass();
    expect(forge.pulls.all).toMatchObject([{ branch: run.branch, isDraft: false }]);
  });

  it('hazard 58: does not keep a worker from its end while the forge hangs, and is opened by the next one', async ({
    forge,
    open,
  }) => {
    const run = await open(['A']);
    await run.land('A');
    let requests = 0;
    forge.fault = () => ((requests += 1), { wait: () => new Promise(() => undefined) });
    const passing = run.pass();
    await vi.waitFor(() => expect(requests).toBe(1), PATIENCE);
    await run.close();
    await passing;
    expect(requests).toBe(1);
    forge.fault = () => undefined;
    run.crash();
    await run.pass();
    expect(forge.pulls.all).toHaveLength(1);
  });

  it('hazard 60: is opened later if a file of its run cannot be opened now', async ({ forge, open }) => {
    const run = await open(['A']);
    await run.land('A');
    vi.spyOn(run.store, 'readRecord').mockRejectedValueOnce(new HaloError('DISK_FAILED', 'Too many files are open.'));
    await run.pass().catch(() => undefined);
    await run.pass();
    expect(forge.pulls.all).toMatchObject([{ branch: run.branch }]);
  });

  it('keeps what people push to its branch, and shows further work that it cannot push', async ({
    forge,
    open,
    command,
    repository,
    origin,
  }) => {
    const run = await open(['A']);
    await run.land('A');
    await run.end();
    await run.pass();
    const person = ['-c', 'user.name=Tess', '-c', 'user.email=tess@shop.test'];
    const added = origin.git(...person, 'commit-tree', `${run.branch}^{tree}`, '-p', run.branch, '-m', 'fix: typo');
    origin.git('update-ref', `refs/heads/${run.branch}`, added);
    await run.sendBack('A', 'Rename it.');
    const tip = await run.land('A');
    await run.end();
    await run.pass();
    expect(run.head()).toBe(added);
    expect(forge.pulls.all[0]).toMatchObject({ isDraft: false, body: expect.stringContaining(tip) as string });
    expect((await command(['status', run.runId])).stdout).toContain(
      `People have pushed to ${run.branch}, and halo does not overwrite that, so merge ${tip} into it: `,
    );
    origin.git('fetch', '-q', repository.root, run.branch);
    const merged = origin.git(...person, 'commit-tree', `${tip}^{tree}`, '-p', added, '-p', tip, '-m', 'Merge');
    origin.git('update-ref', `refs/heads/${run.branch}`, merged);
    await run.pass();
    const { stdout } = await command(['status', run.runId]);
    expect(stdout).toContain('#1 ');
    expect(stdout).not.toContain('People have pushed');
    expect(forge.pulls.statuses.at(-1)).toMatchObject({ commit: tip, context: 'halo/A', state: 'success' });
  });

  it('is not opened if no forge is configured, and the status says why', async ({ haloHome, open, command }) => {
    const run = await open(['A']);
    removeForge(haloHome);
    await run.land('A');
    await run.end();
    await run.pass();
    const { stdout } = await command(['status', run.runId]);
    expect(stdout).toContain('no forge is configured for http://127.0.0.1:');
  });
});

describe('halo pr', () => {
  it('opens the pull request of a run that did not ask for one, says why it cannot, and prints it when called again', async ({
    forge,
    haloHome,
    open,
    command,
  }) => {
    const run = await open(['A'], []);
    const commit = await run.land('A');
    await run.end();
    await run.pass();
    expect(forge.log).toEqual([]);
    const registered = await registerWorker(haloHome.dir, 'any');
    const pr = async () => {
      const printed = command(['pr', run.runId]);
      await vi.waitFor(() => expect(run.files('pull-requests')).not.toEqual([]), PATIENCE);
      await run.pass();
      return printed;
    };
    forge.fault = (request) =>
      request.startsWith(POST) ? { status: 422, body: '{"message":"no thanks"}' } : undefined;
    expect(await pr()).toMatchObject({ code: 6, stderr: expect.stringContaining('no thanks') as string });
    forge.fault = () => undefined;
    const opened = await pr();
    expect(opened.stdout, opened.stderr).toContain(`opened  ${run.runId}  #1 ${forge.url}/acme/shop/pulls/1`);
    expect(forge.pulls.all).toMatchObject([{ branch: run.branch, base: 'main', isDraft: false }]);
    expect(run.head()).toBe(commit);
    expect((await command(['pr', run.runId])).stdout).toContain(`as before  ${run.runId}  #1 `);
    const status = await command(['status', run.runId]);
    expect(status.stdout).toMatch(/halo pr \w+ +merge its pull request: http/);
    expect(status.stdout).not.toContain('halo land');
    expect((await command(['audit', '--type', 'pull.requested'])).stdout).toContain(run.runId);
    await registered.leave();
  });

  it('refuses without a forge, and for a run that has landed nothing or is on its branch already', async ({
    haloHome,
    open,
    command,
  }) => {
    const run = await open(['A'], []);
    const nothing = await command(['pr', run.runId]);
    expect(nothing).toMatchObject({
      code: 6,
      stderr: expect.stringContaining('has passed: there is nothing to open') as string,
    });
    const to = await run.land('A');
    await run.end();
    const { repo } = await run.state();
    await run.append({ type: 'run.landed', branch: 'main', from: repo.base, to });
    const merged = await command(['pr', run.runId]);
    expect(merged).toMatchObject({ code: 6, stderr: expect.stringContaining('is on main already') as string });
    removeForge(haloHome);
    const without = await command(['pr', run.runId]);
    expect(without.stderr).toContain('no forge is configured for http://127.0.0.1:');
  });
});
