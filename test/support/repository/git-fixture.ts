import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
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
  if (!existsSync(path)) writeFileSync(path, deflateSync(object, { level: 1 }));
  return id;
}

/** A checkout with one commit of these files and of those that are there. */
export function makeRepo(dir: string, files: Record<string, string> = { 'README.md': 'hello\n' }): string {
  const make = (at: string) => {
    run(at, ['init', '-q', '-b', 'main']);
    return commitFiles(at, files, 'first');
  };
  if (existsSync(dir) && readdirSync(dir).length > 0) return make(dir);
  copyBase(dir, `Ada ${JSON.stringify(files)}`, make);
  return headOf(dir);
}

/** Commits on top of `from`, each of which adds one of these files; the first one first. They are on a branch of their own. */
export function commitChain(dir: string, from: string, files: readonly string[]): string[] {
  const marks = join(dir, '.git/marks');
  const text = files.map((file, index) =>
    [
      `commit refs/heads/chain\nmark :${index + 1}\ncommitter Ada <ada@example.com> ${index + 1} +0000`,
      `data ${file.length}\n${file}\nfrom ${index === 0 ? from : `:${index}`}`,
      `M 100644 inline ${file}\ndata ${file.length}\n${file}\n\n`,
    ].join('\n'),
  );
  run(dir, ['fast-import', '--quiet', `--export-marks=${marks}`], text.join(''));
  const ids = new Map(
    readFileSync(marks, 'utf8')
      .split('\n')
      .map((line) => line.split(' ') as [string, string]),
  );
  return files.map((_, index) => ids.get(`:${index + 1}`) ?? '');
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
