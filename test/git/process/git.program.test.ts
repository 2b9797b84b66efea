import { execFileSync, spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { afterEach, beforeAll, expect, it, onTestFinished, vi } from 'vitest';
import { git, gitText } from '../../../src/git/process/git.ts';
import { inspectRepo } from '../../../src/git/repository/inspect-repo.ts';
import { makeRepo } from '../../support/repository/git-fixture.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { leaveGitLauncher } from '../../support/suite/git-launcher.ts';

beforeAll(leaveGitLauncher);

afterEach(() => vi.unstubAllEnvs());

it('reports which command failed, where, and the message of git, without passwords', async () => {
  const dir = tempDir();
  await expect(git(['rev-parse', 'HEAD'], { gitDir: dir })).rejects.toMatchObject({
    code: 'GIT_FAILED',
    message: expect.stringContaining(`git rev-parse failed in ${dir}: fatal: not a git repository`) as string,
  });
  const push = git(['ls-remote', 'https://ada:secret@localhost:1/x'], { protocols: 'https' });
  await push.catch((error: Error) => expect(error.message).not.toContain('secret'));
  await expect(push).rejects.toMatchObject({ code: 'GIT_FAILED' });
});

it('ignores variables and user configuration that could redirect it', async () => {
  const home = tempDir();
  const head = makeRepo(join(home, 'real'));
  vi.stubEnv('GIT_DIR', join(home, 'nowhere'));
  vi.stubEnv('GIT_INDEX_FILE', join(home, 'nowhere'));
  vi.stubEnv('GIT_CONFIG_GLOBAL', join(home, 'evil'));
  expect(await gitText(['rev-parse', 'HEAD'], { gitDir: join(home, 'real/.git') })).toBe(head);
  expect(await gitText(['config', '--get', 'core.hooksPath'])).toBe('/dev/null');
  expect((await inspectRepo(join(home, 'real'))).head).toBe(head);
});

it('refuses every transport unless it is named', async () => {
  const home = tempDir();
  makeRepo(join(home, 'real'));
  for (const address of [join(home, 'real'), 'ext::sh -c true', 'https://localhost:1/x', 'ssh://localhost/x']) {
    await expect(git(['ls-remote', address])).rejects.toThrow(/not allowed/);
  }
});

it('stops at the time limit, the output limit and the signal', async () => {
  const pipe = join(tempDir(), 'pipe');
  execFileSync('mkfifo', [pipe]);
  onTestFinished(() => void spawnSync('pkill', ['-f', pipe]));
  const wait = ['hash-object', '--no-filters', '--', pipe];
  await expect(git(wait, { timeoutMs: 50 })).rejects.toThrow('git hash-object did not end');
  await expect(git(['--version'], { maxBytes: 3 })).rejects.toMatchObject({ code: 'GIT_FAILED' });
  const aborted = git(wait, { signal: AbortSignal.timeout(50) });
  await expect(aborted).rejects.toMatchObject({ code: 'RUN_ABORTED' });
  await expect(git(['--version'], { signal: AbortSignal.abort() })).rejects.toMatchObject({ code: 'RUN_ABORTED' });
});
