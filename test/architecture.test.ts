import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { ERRORS } from '../src/core/failure/errors.ts';
import { exitCodeOf, STOP_REASONS, USAGE_EXIT, type StopReason } from '../src/core/failure/stop-reason.ts';
import { causeRow, FAILURE_CAUSES } from '../src/core/failure/failure.ts';
import {
  findCycles,
  findEagerPackages,
  findForbiddenEdges,
  findMisplacedModules,
  findMisplacedWords,
  findOtherGit,
  parseSource,
  readSources,
} from './support/architecture.ts';
import { findStalePaths, readNamingFiles } from './support/named-paths.ts';
import { findBannedWords, readProse } from './support/word-list.ts';

const root = resolve(import.meta.dirname, '..');
const sources = readSources(resolve(root, 'src'));

/** Banned words that are keys of responses, which programs of users read. */
const WIRE_NAMES = ['goesOn'];

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
    const composed = [
      'api/local.ts',
      'api/submit/user-name.ts',
      'config/environment/host.ts',
      'worker/process-masker.ts',
    ];
    expect(findEagerPackages(sources, ['cli/main.ts', ...commands, ...composed])).toEqual([
      'commander',
      'get-east-asian-width',
    ]);
    expect(findEagerPackages(sources, ['worker/main.ts'])).toContain('zod');
  });
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
    ['features/lever/core/a.ts', "import { b } from '../api/b.ts';"],
    ['features/lever/worker/a.ts', "import type { b } from '../../../cli/b.ts';"],
    ['features/lever/api/a.ts', "import { b } from '../../pulls/core/b.ts';"],
    ['api/a.ts', "import type { b } from '../features/lever/api/b.ts';"],
  ])('%s may not say %s', (path, text) => expect(findForbiddenEdges(parse(path, text))).toHaveLength(1));

  test.each([
    ['gateway/a.ts', "import { type B, type C } from '../sandbox/sandbox.ts';"],
    ['worker/a.ts', "import { b } from '../git/b.ts';"],
    ['cli/main.ts', "import { b } from '../queue/b.ts';"],
    ['cli/commands/a.ts', "await import('../../api/b.ts')"],
    ['features/lever/cli/a.ts', "import { b } from '../api/b.ts';\nimport { c } from '../../../tui/c.ts';"],
    ['cli/program.ts', "await import('../features/lever/cli/a.ts')"],
  ])('%s may say %s', (path, text) => expect(findForbiddenEdges(parse(path, text))).toEqual([]));

  test('a cycle is found, also if one of its imports is of types only', () => {
    const a = parseSource('git/a.ts', "import { b } from './b.ts';");
    const cycle = 'git/a.ts -> git/b.ts -> git/a.ts';
    expect(findCycles([a, parseSource('git/b.ts', "import { a } from './a.ts';")])).toEqual([cycle]);
    expect(findCycles([a, parseSource('git/b.ts', "import type { A } from './a.ts';")])).toEqual([cycle]);
    expect(findCycles([a, parseSource('git/b.ts', "import { c } from './c.ts';")])).toEqual([]);
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

  test.each([
    'process.env.HOME',
    'console.log(1)',
    'process.stdout.write(x)',
    'screen.write(x)',
    'mkdirSync(dir, { recursive: true })',
    "open(path, 'wx', 0o600)",
  ])('%s', (text) => {
    expect(findMisplacedWords(parse('worker/a.ts', text))).toHaveLength(1);
    expect(findMisplacedWords(parse('worker/a.ts', `// ${text}`))).toEqual([]);
  });
});

describe('sources, scripts and documents', () => {
  test('use plain words', () => {
    expect(findBannedWords(readProse(root), WIRE_NAMES)).toEqual([]);
  });

  test('are checked for plain words in src/, test/, docs/ and plugins/, except for recordings and the list itself', () => {
    const paths = readProse(root).map(({ path }) => path);
    expect(paths).toEqual(
      expect.arrayContaining([
        'src/cli/main.ts',
        'test/security/attacks.ts',
        'docs/prd.md',
        'README.md',
        'schemas/tasks.schema.json',
      ]),
    );
    expect(paths.filter((path) => /fixtures|word-list/.test(path))).toEqual(['test/support/fixtures.ts']);
  });

  test.each([
    ['src/git/a.ts', '// Whoever has the lock'],
    ['src/git/a.ts', 'const nobodyWaits = true;'],
    ['src/git/a.ts', "throw new Error('the run goes on')"],
    ['scripts/a.sh', '# builds it anew'],
    ['docker/sandbox/a.c', '/* the client was told */'],
    ['docs/agents.md', 'halo tells which tests vanished.'],
    ['docs/agents.md', 'The story starts at once.'],
    ['src/git/a.ts', 'const told = await read();'],
    ['src/git/a.ts', '  #rest(): void {'],
    ['docs/queue.md', 'the queue rests until Redis is back'],
    ['docs/proof.md', "halo takes the agent's word for it."],
    ['docs/proof.md', 'the word of a person decides'],
    ['src/git/a.ts', 'const goesOn = true;'],
    ['src/git/a.ts', 'await this.#workOff(next);'],
    ['docs/proof.md', 'A link is no file.'],
  ])('a word of the list is found in %s: %s', (path, text) =>
    expect(findBannedWords([{ path, text }])).toHaveLength(1),
  );

  test.each([
    ['src/git/a.ts', '// Recommends a fix; stands for an id; foretells'],
    ['docs/agents.md', 'the key `goesOn` of the reader'],
    ['docs/agents.md', 'The rest of the line is a word, in the words of its program.'],
    ['src/git/a.ts', 'const { id, ...rest } = story; // once'],
    ['src/git/a.ts', "({ type: 'model.used', told: 'all' })"],
    ['src/git/a.ts', 'const goes = on;'],
    ['docs/proof.md', 'There is no file, and the link is no longer one.'],
  ])('other words are not reported in %s: %s', (path, text) => expect(findBannedWords([{ path, text }])).toEqual([]));
});

describe('scripts, settings and documents', () => {
  test('name only files that exist', () => expect(findStalePaths(root, readNamingFiles(root))).toEqual([]));

  test.each([
    ['scripts/a.mjs', "await import('../dist/git/gone.js')"],
    ['scripts/a.sh', 'node "$root/dist/git/gone.js"'],
    ['package.json', '"bench": "node scripts/gone.mjs"'],
    ['ARCHITECTURE.md', 'see `src/git/gone.ts`.'],
    ['docs/agents.md', 'in `src/git/gone.ts`'],
  ])('a path that does not exist is found in %s: %s', (path, text) =>
    expect(findStalePaths(root, [{ path, text }])).toHaveLength(1),
  );

  test.each([
    ['scripts/a.mjs', "require('../dist/cli/main.cjs')"],
    ['ARCHITECTURE.md', 'see `src/git/process/git.ts` in src/git/.'],
    ['docs/agents.md', 'the agent changed `src/cart.js`'],
    ['scripts/a.sh', 'node_modules/vitest/dist/cli.js'],
  ])('a path that exists, or is not of this project, is not reported in %s: %s', (path, text) =>
    expect(findStalePaths(root, [{ path, text }])).toEqual([]),
  );
});

describe('the docs', () => {
  test('have one table of codes: stop reasons, error codes and reasons of stories, with stop reason and exit code', () => {
    const listed = codeRows().map(([code = '', reason, exit]) => [code, [reason, Number(exit)]] as const);
    const row = (reason: StopReason) => [reason, exitCodeOf(reason)];
    const stopReasons = Object.keys(STOP_REASONS).map((code) => [code, row(code as StopReason)] as const);
    const errors = Object.entries<StopReason | undefined>(ERRORS).map(
      ([code, reason]) => [code, reason === undefined ? ['-', USAGE_EXIT] : row(reason)] as const,
    );
    expect(Object.fromEntries(listed)).toMatchObject(Object.fromEntries([...stopReasons, ...errors]));
    const ofStories = FAILURE_CAUSES.map((cause) => causeRow(cause)?.reason);
    const known = [...stopReasons, ...errors].map(([code]) => code).concat('AGENT_FAILED', ...ofStories.map(String));
    expect(listed.map(([code]) => code).filter((code) => !known.includes(code))).toEqual([]);
    expect(listed.map(([code]) => code)).toEqual([...new Set(listed.map(([code]) => code))].toSorted());
  });

  /** `TIMEOUT, 10`, or only the exit code. */
  function splitReason(cell: string): [reason: string, exit: string] {
    const [, reason = '-', exit = ''] = /^(?:(.+), )?(\d+)$/.exec(cell) ?? [];
    return [reason, exit];
  }

  /** The cells of the rows of this table, with stop reason and exit code apart. */
  function codeRows(): string[][] {
    const lines = readFileSync(resolve(root, 'docs/failures.md'), 'utf8').split('\n');
    return lines
      .filter((line) => /^\| `[A-Z_]+`/.test(line))
      .map((line) =>
        line
          .split('|')
          .slice(1, -1)
          .map((cell) => cell.trim().replaceAll('`', ''))
          .flatMap((cell, column) => (column === 1 ? splitReason(cell) : cell)),
      );
  }
});
