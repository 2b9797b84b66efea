import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

const ENV = {
  PATH: process.env.PATH,
  HOME: '/nonexistent',
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_AUTHOR_NAME: 'Ada',
  GIT_AUTHOR_EMAIL: 'ada@example.com',
  GIT_COMMITTER_NAME: 'Ada',
  GIT_COMMITTER_EMAIL: 'ada@example.com',
};

/** Plain git, as a user would run it; output without the last line ending. */
export function run(dir: string, args: string[], input?: string | Buffer): string {
  return runBytes(dir, args, input).toString('utf8').replace(/\n$/, '');
}

export function runBytes(dir: string, args: string[], input?: string | Buffer): Buffer {
  const stdio: ['pipe', 'pipe', 'pipe'] = ['pipe', 'pipe', 'pipe'];
  return execFileSync('git', args, { cwd: dir, env: ENV, input: input ?? '', stdio, maxBuffer: 256 * 1024 * 1024 });
}

/** A checkout with one commit of these files. */
export function makeRepo(dir: string, files: Record<string, string> = { 'README.md': 'hello\n' }): string {
  mkdirSync(dir, { recursive: true });
  run(dir, ['init', '-q', '-b', 'main']);
  return commitFiles(dir, files, 'first');
}

export function commitFiles(dir: string, files: Record<string, string>, message: string): string {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(dir, path)), { recursive: true });
    writeFileSync(join(dir, path), text);
  }
  run(dir, ['add', '-A', '-f']);
  run(dir, ['commit', '-q', '--allow-empty', '-m', message]);
  return run(dir, ['rev-parse', 'HEAD']);
}
