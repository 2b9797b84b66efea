import { existsSync, readdirSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { execa } from 'execa';
import { expect, test, vi } from 'vitest';
import { PATIENCE } from '../support/patience.ts';
import { tempDir } from '../support/temp-dir.ts';

const SCRIPT = fileURLToPath(new URL('../../scripts/concurrently.sh', import.meta.url));

function start(commands: string[], cwd: string) {
  return execa('bash', [SCRIPT, ...commands], { cwd, env: { TMPDIR: cwd }, reject: false });
}

test('commands that succeed print nothing', async () => {
  expect(await start(['true', 'echo a'], tempDir())).toMatchObject({ exitCode: 0, stdout: '', stderr: '' });
});

test('a command that fails fails the script, which prints its output', async () => {
  const { exitCode, stdout } = await start(['echo a', 'cat no-file', 'true'], tempDir());
  expect(exitCode).toBe(1);
  expect(stdout).toBe('cat no-file failed:\ncat: no-file: No such file or directory');
});

test('a script that is stopped stops its commands and leaves no files', async () => {
  const cwd = tempDir();
  await writeFile(
    join(cwd, 'wait.sh'),
    'trap "touch stopped; exit" TERM\ntouch started\nwhile :; do sleep 0.05; done\n',
  );
  const running = start(['bash wait.sh'], cwd);
  await vi.waitFor(() => expect(existsSync(join(cwd, 'started'))).toBe(true), PATIENCE);
  running.kill('SIGTERM');
  expect((await running).failed).toBe(true);
  await vi.waitFor(() => expect(readdirSync(cwd).sort()).toEqual(['started', 'stopped', 'wait.sh']), PATIENCE);
});
