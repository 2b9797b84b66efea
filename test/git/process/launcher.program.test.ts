import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { randomBytes, randomInt } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { Launcher } from '../../../src/git/process/launcher.ts';
import { AT_LIMIT, git, gitStream, gitText, openGitLauncher, tryGit } from '../../../src/git/process/git.ts';
import { makeRepo } from '../../support/repository/git-fixture.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { PATIENCE } from '../../support/patience.ts';
import { leaveGitLauncher, shareGitLauncher } from '../../support/suite/git-launcher.ts';

const PROGRAM = join(import.meta.dirname, '../../../src/git/process/launch.mjs');

let launcher: { close(): void };
beforeEach(() => void (launcher = openGitLauncher()));
afterEach(() => launcher.close());

/** Until the end of the test, git runs as a child of this process. */
function leaveAll(): void {
  launcher.close();
  leaveGitLauncher();
  onTestFinished(shareGitLauncher);
}

const processes = () => execFileSync('ps', ['-ww', '-eo', 'pid=,ppid=,args='], { encoding: 'utf8' });

/** The processes of the program, by the id of their parent. */
const launched = (parent: number) =>
  processes()
    .split('\n')
    .filter((line) => line.includes('launch.mjs') && Number(line.trim().split(/\s+/)[1]) === parent)
    .map((line) => Number(line.trim().split(/\s+/)[0]));

/** The process of this one, once that of the test before has ended. */
const onlyLaunched = () =>
  vi.waitFor(() => {
    const found = launched(process.pid);
    expect(found).toHaveLength(1);
    return found[0]!;
  }, PATIENCE);

/** A command that waits for somebody to write to a pipe. */
function waitForever(): string[] {
  const pipe = join(tempDir(), 'pipe');
  execFileSync('mkfifo', [pipe]);
  onTestFinished(() => void spawnSync('pkill', ['-f', pipe]));
  return ['hash-object', '--no-filters', '--', pipe];
}

it('a command that Ctrl-C in the terminal ends is cancelled, and has not failed', async () => {
  leaveAll();
  const waiting = waitForever();
  const run = git(waiting, { cwd: tempDir() });
  const pid = await vi.waitFor(() => {
    const line = processes()
      .split('\n')
      .find((each) => each.includes(waiting.at(-1) ?? '') && !each.includes('sh -c'));
    expect(line).toBeDefined();
    return Number(line?.trim().split(/\s+/)[0]);
  }, PATIENCE);
  process.kill(pid, 'SIGINT');
  await expect(run).rejects.toMatchObject({ code: 'RUN_ABORTED', message: 'git hash-object was cancelled.' });
});

it('runs commands with input, binary output and exit codes', async () => {
  const repository = makeRepo(tempDir());
  expect(repository).toMatch(/^[0-9a-f]{40}$/);
  const bytes = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte));
  const dir = join(tempDir(), 'bare.git');
  await git(['init', '-q', '--bare', dir]);
  const id = await gitText(['hash-object', '-w', '--stdin'], { gitDir: dir, input: bytes });
  expect((await git(['cat-file', 'blob', id], { gitDir: dir })).stdout).toEqual(bytes);
  expect(await tryGit(['rev-parse', '--verify', '--quiet', 'HEAD'], { gitDir: dir })).toMatchObject({
    ended: 'exited',
    exitCode: 1,
  });
});

it('runs many commands in parallel, in one process that is started once', async () => {
  const versions = await Promise.all(Array.from({ length: 20 }, () => gitText(['--version'])));
  expect(new Set(versions).size).toBe(1);
  await onlyLaunched();
});

it('keeps the environment of git sealed', async () => {
  const dir = tempDir();
  const head = makeRepo(join(dir, 'real'));
  vi.stubEnv('GIT_DIR', join(dir, 'nowhere'));
  expect(await gitText(['rev-parse', 'HEAD'], { gitDir: join(dir, 'real/.git') })).toBe(head);
  expect(await gitText(['config', '--get', 'core.hooksPath'])).toBe('/dev/null');
  vi.unstubAllEnvs();
});

it('stops at the time limit, the output limit and the signal', async () => {
  const wait = waitForever();
  await expect(git(wait, { timeoutMs: 50 })).rejects.toThrow('git hash-object did not end');
  await expect(git(['--version'], { maxBytes: 3 })).rejects.toMatchObject({ code: 'GIT_FAILED' });
  await expect(git(wait, { signal: AbortSignal.timeout(50) })).rejects.toMatchObject({ code: 'RUN_ABORTED' });
  await expect(git(['--version'], { signal: AbortSignal.abort() })).rejects.toMatchObject({ code: 'RUN_ABORTED' });
});

it('reports git as failed if its process is killed, and starts another one for the next command', async () => {
  await git(['--version']);
  const pid = await onlyLaunched();
  const command = waitForever();
  const running = git(command);
  running.catch(() => undefined);
  await vi.waitFor(() => expect(processes()).toContain(command.at(-1)), PATIENCE);
  process.kill(pid, 'SIGKILL');
  await expect(running).rejects.toMatchObject({ code: 'GIT_FAILED' });
  expect(await gitText(['--version'])).toMatch(/^git version/);
});

describe('a stream', () => {
  const BYTES = 8 * 1024 * 1024;

  /** A repository with one large object, which does not compress. */
  async function storeLarge(): Promise<{ gitDir: string; id: string; bytes: Buffer }> {
    const gitDir = join(tempDir(), 'bare.git');
    const bytes = randomBytes(BYTES);
    writeFileSync(join(gitDir, '..', 'large'), bytes);
    await git(['init', '-q', '--bare', gitDir]);
    const input = { file: join(gitDir, '..', 'large') };
    return { gitDir, id: await gitText(['hash-object', '-w', '--stdin'], { gitDir, input }), bytes };
  }

  it('is read whole, also by a slow reader, whom git waits for', async () => {
    const { gitDir, id, bytes } = await storeLarge();
    const { stdout, done } = await gitStream(['cat-file', 'blob', id], { gitDir });
    let isDone = false;
    void done.then(() => (isDone = true));
    await once(stdout, 'readable');
    // Other commands of the process wait for nothing.
    expect((await git(['cat-file', '-s', id], { gitDir })).stdout.toString()).toBe(`${BYTES}\n`);
    expect(isDone).toBe(false);
    const chunks: Buffer[] = [];
    for await (const chunk of stdout) chunks.push(chunk as Buffer);
    await done;
    expect(Buffer.concat(chunks).equals(bytes)).toBe(true);
  });

  it('ends if its reader leaves, on the signal, and when git fails', async () => {
    const { gitDir, id } = await storeLarge();
    const args = ['cat-file', 'blob', id];
    const left = await gitStream(args, { gitDir });
    await once(left.stdout, 'readable');
    left.stdout.destroy();
    await expect(left.done).rejects.toMatchObject({ code: 'GIT_FAILED' });
    const stop = new AbortController();
    const stopped = await gitStream(args, { gitDir, signal: stop.signal });
    await once(stopped.stdout, 'readable');
    stop.abort();
    await expect(stopped.done).rejects.toMatchObject({ code: 'RUN_ABORTED' });
    expect(stopped.stdout.destroyed).toBe(true);
    const failing = await gitStream(['cat-file', 'blob', 'f'.repeat(40)], { gitDir });
    await expect(failing.done).rejects.toThrow('git cat-file failed');
  });

  it('fails if the process is killed, and never looks complete', async () => {
    const { gitDir, id } = await storeLarge();
    const { stdout, done } = await gitStream(['cat-file', 'blob', id], { gitDir });
    const end = vi.fn<() => void>();
    stdout.on('end', end);
    await once(stdout, 'readable');
    for (const pid of launched(process.pid)) process.kill(pid, 'SIGKILL');
    await expect(done).rejects.toMatchObject({ code: 'GIT_FAILED' });
    await expect(stdout.toArray()).rejects.toThrow('git cat-file failed');
    expect(end).not.toHaveBeenCalled();
  });
});

describe.each([
  { name: 'in the process', enter: () => undefined },
  { name: 'without it', enter: leaveAll },
])('git, $name', ({ enter }) => {
  it('writes output to a new private file, and reports a file that it cannot open', async () => {
    enter();
    const dir = tempDir();
    const [input, outputFile] = [join(dir, 'in'), join(dir, 'out')];
    writeFileSync(input, 'content');
    const args = ['hash-object', '--stdin'];
    expect((await git(args, { input: { file: input }, outputFile })).stdout).toHaveLength(0);
    expect(readFileSync(outputFile, 'utf8')).toBe('6b584e8ece562ebffc15d38808cd6b98fc3d97ea\n');
    expect(statSync(outputFile).mode & 0o777).toBe(0o600);
    const refused = (why: string) => ({ code: 'GIT_FAILED', message: expect.stringContaining(why) as string });
    const again = git(args, { input: { file: input }, outputFile });
    await expect(again).rejects.toMatchObject(refused('EEXIST'));
    await expect(git(args, { input: { file: join(dir, 'none') } })).rejects.toMatchObject(refused('ENOENT'));
  });

  it('ends a stream if it prints too many messages', async () => {
    enter();
    const alias = 'alias.noise=!head -c 2000000 /dev/zero >&2';
    const { stdout, done } = await gitStream(['-c', alias, 'noise']);
    stdout.resume();
    await expect(done).rejects.toMatchObject({ code: 'GIT_FAILED', cause: AT_LIMIT });
  });
});

it('ends with the process that started it, also after kill -9, and ends the command that it runs', async () => {
  // Other tests of this machine sleep for other times.
  const seconds = `4711.${randomInt(1e9)}`;
  const script = `
    const child = require('node:child_process').fork(${JSON.stringify(PROGRAM)}, { detached: true, serialization: 'advanced' });
    child.send({ id: 1, command: ['sleep', '${seconds}'], options: {} });
    child.send({ id: 2, command: ['true'], options: {} });
    child.on('message', () => process.stdout.write('ready'));`;
  const parent = spawn(process.execPath, ['-e', script]);
  await once(parent.stdout, 'data');
  const [pid] = launched(parent.pid!);
  const sleeps = () => processes().includes(`sleep ${seconds}`);
  expect(sleeps()).toBe(true);
  parent.kill('SIGKILL');
  await vi.waitFor(() => expect(() => process.kill(pid!, 0)).toThrow(), PATIENCE);
  await vi.waitFor(() => expect(sleeps()).toBe(false), PATIENCE);
});

it('ends after its commands when it is closed', async () => {
  const own = new Launcher();
  const before = launched(process.pid);
  const running = own.run({ command: ['sleep', '0.1'], options: {}, input: undefined, signal: undefined });
  const started = launched(process.pid).filter((pid) => !before.includes(pid));
  expect(started).toHaveLength(1);
  own.close();
  expect(await running).toMatchObject({ exitCode: 0 });
  await vi.waitFor(() => expect(launched(process.pid)).not.toContain(started[0]), PATIENCE);
});
