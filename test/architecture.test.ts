import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { ERRORS } from '../src/core/failure/errors.ts';
import { exitCodeOf, STOP_REASONS, USAGE_EXIT, type StopReason } from '../src/core/failure/stop-reason.ts';
import {
  findBadFiles,
  findCycles,
  findEagerPackages,
  findForbiddenEdges,
  findMisplacedModules,
  findMisplacedWords,
  findOtherGit,
  parseSource,
  readSources,
} from './support/architecture.ts';

const root = resolve(import.meta.dirname, '..');
const sources = readSources(resolve(root, 'src'));

describe('the sources', () => {
  test('import only what their folder may know', () => expect(findForbiddenEdges(sources)).toEqual([]));
  test('import each other without a cycle', () => expect(findCycles(sources)).toEqual([]));
  test('use Docker, Redis and child processes in one place each', () =>
    expect(findMisplacedModules(sources)).toEqual([]));
  test('run git in one place', () => expect(findOtherGit(sources)).toEqual([]));
  test('read the environment and write to the terminal in one place each', () =>
    expect(findMisplacedWords(sources)).toEqual([]));
  test('load no schemas, git, queue or engine for commands that only read', () => {
    const commands = ['ls', 'status', 'logs'].map((name) => `cli/commands/${name}.ts`);
    const starts = [
      'cli/main.ts',
      'api/local.ts',
      'worker/process-masker.ts',
      'config/environment/host.ts',
      ...commands,
    ];
    expect(findEagerPackages(sources, starts)).toEqual(['commander', 'string-width']);
    expect(findEagerPackages(sources, ['worker/main.ts'])).toContain('zod');
  });
  test('are small files named after one thing', () => expect(findBadFiles(sources)).toEqual([]));
});

describe('each rule finds what breaks it', () => {
  const parse = (path: string, text: string) => [parseSource(path, text)];

  test.each([
    ['core/a.ts', "import { b } from '../lib/b.ts';"],
    ['lib/a.ts', "import type { b } from '../core/b.ts';"],
    ['git/a.ts', "import {\n  b,\n  type C,\n} from '../store/b.ts';"],
    ['store/a.ts', "import { b } from '../sandbox/sandbox.ts';"],
    ['cli/commands/a.ts', "import { b } from '../../store/b.ts';"],
    ['tui/a.ts', "export { b } from '../config/b.ts';"],
    ['worker/a.ts', "const b = await import('../cli/b.ts');"],
  ])('%s may not say %s', (path, text) => expect(findForbiddenEdges(parse(path, text))).toHaveLength(1));

  test.each([
    ['gateway/a.ts', "import { type B, type C } from '../sandbox/sandbox.ts';"],
    ['worker/a.ts', "import { b } from '../git/b.ts';"],
    ['cli/main.ts', "import { b } from '../queue/b.ts';"],
  ])('%s may say %s', (path, text) => expect(findForbiddenEdges(parse(path, text))).toEqual([]));

  test('cycles of values are found, cycles of types are none', () => {
    const a = parseSource('git/a.ts', "import { b } from './b.ts';");
    const b = parseSource('git/b.ts', "import { a } from './a.ts';");
    expect(findCycles([a, b])).toEqual(['git/a.ts -> git/b.ts -> git/a.ts']);
    expect(findCycles([a, parseSource('git/b.ts', "import type { A } from './a.ts';")])).toEqual([]);
  });

  test.each([
    "import { simpleGit } from 'simple-git';",
    "import { exec } from 'child_process';",
    "await execa('git', ['status']);",
    'execFileSync("/usr/bin/git", args)',
    'exec(`git status`)',
  ])('another way to run git: %s', (text) => {
    expect(findOtherGit(parse('git/other.ts', text))).toHaveLength(1);
    expect(findOtherGit(parse('git/other.ts', "await tryGit(['status'], { gitDir });"))).toEqual([]);
  });

  test.each(['dockerode', 'tar-fs', 'bullmq', 'ioredis', 'node:child_process', 'execa'])('%s', (name) => {
    expect(findMisplacedModules(parse('worker/a.ts', `import x from '${name}';`))).toHaveLength(1);
    expect(findMisplacedModules(parse('worker/a.ts', `await import('${name}');`))).toHaveLength(1);
  });

  test.each(['process.env.HOME', 'console.log(1)', 'process.stdout.write(x)', 'screen.write(x)'])('%s', (text) => {
    expect(findMisplacedWords(parse('worker/a.ts', text))).toHaveLength(1);
    expect(findMisplacedWords(parse('worker/a.ts', `// ${text}`))).toEqual([]);
  });

  test('files that are too long, named after nothing, or without node:', () => {
    expect(findBadFiles(parse('git/a.ts', '\n'.repeat(301)))).toHaveLength(1);
    expect(findBadFiles(parse('git/utils.ts', ''))).toHaveLength(1);
    expect(findBadFiles(parse('git/a.ts', "import { join } from 'path';"))).toHaveLength(1);
  });
});

describe('the docs', () => {
  test('list every stop reason with its exit code, and none besides', () => {
    // A second table has the words that people see.
    const withExit = rows('stop-reasons.md').filter(([, exit = '']) => /^\d+$/.test(exit));
    const listed = Object.fromEntries(withExit.map(([name = '', exit]) => [name, Number(exit)]));
    const known = Object.entries(STOP_REASONS).map(([name, { exit }]) => [name, exit]);
    expect(listed).toEqual(Object.fromEntries(known));
  });

  test('list every error code with its stop reason and exit code, and none besides', () => {
    const listed = rows('errors.md').map(([code, reason, exit]) => [code, reason, Number(exit)]);
    const known = Object.entries<StopReason | undefined>(ERRORS).map(([code, reason]) =>
      reason === undefined ? [code, '-', USAGE_EXIT] : [code, reason, exitCodeOf(reason)],
    );
    expect(listed.sort()).toEqual(known.sort());
  });

  /** The cells of the table rows that begin with a name in capitals. */
  function rows(name: string): string[][] {
    const lines = readFileSync(resolve(root, 'docs', name), 'utf8').split('\n');
    return lines
      .filter((line) => /^\| `[A-Z_]+`/.test(line))
      .map((line) =>
        line
          .split('|')
          .slice(1, -1)
          .map((cell) => cell.trim().replaceAll('`', '')),
      );
  }
});
