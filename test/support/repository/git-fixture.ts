import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { deflateSync } from 'node:zlib';
import { runProgram } from '../process/run-program.ts';
import { CHEAP, copyBase, headOf } from './recorded-base.ts';

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

export function runBytes(dir: string, args: string[], input: string | Buffer = ''): Buffer {
  return runProgram('git', args, { cwd: dir, env: ENV, input });
}

/** Writes an object of a checkout byte by byte: git itself refuses many of them, and takes longer. */
export function writeObject(dir: string, type: 'blob' | 'tree', content: Buffer): string {
  const object = Buffer.concat([Buffer.from(`${type} ${content.length}\0`), content]);
  const id = createHash('sha1').update(object).digest('hex');
  const path = join(dir, '.git/objects', id.slice(0, 2), id.slice(2));
  mkdirSync(dirname(path), { recursive: true });
  if (!existsSync(path)) writeFileSync(path, deflateSync(object));
  return id;
}

/** A checkout with one commit of these files. */
export function makeRepo(dir: string, files: Record<string, string> = { 'README.md': 'hello\n' }): string {
  copyBase(dir, `Ada ${JSON.stringify(files)}`, (base) => {
    run(base, ['init', '-q', '-b', 'main']);
    commitFiles(base, files, 'first');
  });
  return headOf(dir);
}

export function commitFiles(dir: string, files: Record<string, string>, message: string): string {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(dir, path)), { recursive: true });
    writeFileSync(join(dir, path), text);
  }
  run(dir, ['add', '-A', '-f']);
  run(dir, [...CHEAP, 'commit', '-q', '--allow-empty', '-m', message]);
  return headOf(dir);
}
