import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
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
import { findStalePaths, readNamingFiles } from './support/named-paths.ts';
import {
  except,
  findBareRejections,
  findCrowdedFolders,
  findFragments,
  findLongAttempt,
  findLongClosures,
  findMisnamedFunctions,
  findNamesWithoutSubject,
  findPathBreaks,
  findRecursiveMkdir,
  findRepeatedExports,
  findRepeatedNames,
  findUnlistedFolders,
  type Exception,
} from './support/source-rules.ts';
import { findBannedWords, readProse } from './support/word-list.ts';

const root = resolve(import.meta.dirname, '..');
const { LIGHT_MODULES } = createRequire(import.meta.url)('../scripts/build.cjs') as { LIGHT_MODULES: string[] };
const sources = readSources(resolve(root, 'src'));
const tests = readSources(resolve(root, 'test')).map((file) => ({ ...file, path: `test/${file.path}` }));

/** All exceptions from the rules, by rule. */
const EXCEPTIONS = {
  crowdedFolders: [{ subject: 'cli/commands', reason: 'one file per command, listed in cli/program.ts' }],
  repeatedExports: [{ subject: 'define', reason: 'each command exports it for cli/program.ts' }],
  repeatedNames: [{ subject: 'main.ts', reason: 'the entry points of the command line and of a worker' }],
  longClosures: [],
  wireNames: [
    { subject: 'goesOn', reason: 'a key of the responses of approve and reject, and of the result of halo_approve' },
  ],
  words: [{ subject: 'mend in src/cli/commands/doctor.ts', reason: 'a key of halo doctor --json' }],
} satisfies Record<string, Exception[]>;

describe('the sources', () => {
  test('import only what their folder may know', () => expect(findForbiddenEdges(sources)).toEqual([]));
  test('import each other without a cycle', () => expect(findCycles(sources)).toEqual([]));
  test('use Docker, Redis and child processes in one place each', () =>
    expect(findMisplacedModules(sources)).toEqual([]));
  test('run git in one place', () => expect(findOtherGit(sources)).toEqual([]));
  test('read the environment and write to the terminal in one place each', () =>
    expect(findMisplacedWords(sources)).toEqual([]));
  test('load no schemas, git, queue or engine for commands that only read', () => {
    const bundled = LIGHT_MODULES.map((path) => path.replace(/^src\//, ''));
    expect(bundled).toEqual(expect.arrayContaining(['ls', 'status', 'logs'].map((name) => `cli/commands/${name}.ts`)));
    expect(findEagerPackages(sources, bundled)).toEqual(['commander', 'get-east-asian-width']);
    expect(findEagerPackages(sources, ['worker/main.ts'])).toContain('zod');
  });
  test('are small files named after one thing', () => expect(findBadFiles(sources)).toEqual([]));
  test('have at most 16 files in a folder', () =>
    expect(except(findCrowdedFolders([...sources, ...tests]), EXCEPTIONS.crowdedFolders)).toEqual([]));
  test('create folders without the recursive mkdir of Node', () => expect(findRecursiveMkdir(sources)).toEqual([]));
  test('have no fragment files', () => expect(findFragments(sources)).toEqual([]));
  test('export each name once', () =>
    expect(except(findRepeatedExports(sources), EXCEPTIONS.repeatedExports)).toEqual([]));
  test('have names that agree with what a function returns', () => expect(findMisnamedFunctions(sources)).toEqual([]));
  test('have each file name once', () =>
    expect(except(findRepeatedNames(sources), EXCEPTIONS.repeatedNames)).toEqual([]));
  test('have classes for state that several functions change', () =>
    expect(except(findLongClosures(sources), EXCEPTIONS.longClosures)).toEqual([]));
  test('show an attempt in one short file', () => {
    expect(sources.map(({ path }) => path)).toContain('worker/attempt/run-attempt.ts');
    expect(findLongAttempt(sources)).toEqual([]);
  });
  test('carry a story from the command line to its commit through the files that ARCHITECTURE.md lists', () =>
    expect(findPathBreaks(readFileSync(resolve(root, 'ARCHITECTURE.md'), 'utf8'), sources)).toEqual([]));
  test('are in folders that ARCHITECTURE.md lists', () =>
    expect(findUnlistedFolders(readFileSync(resolve(root, 'ARCHITECTURE.md'), 'utf8'), sources)).toEqual([]));
  test('have at most ten exceptions from these rules', () =>
    expect(Object.values(EXCEPTIONS).flat().length).toBeLessThanOrEqual(10));
});

describe('the tests', () => {
  test('have names that begin with their subject', () =>
    expect(findNamesWithoutSubject(tests.filter(({ path }) => path.endsWith('.test.ts')))).toEqual([]));
  test('expect a certain error', () => expect(findBareRejections(tests)).toEqual([]));
  test('have helpers with different names', () =>
    expect(findRepeatedNames(tests.filter(({ path }) => !path.endsWith('.test.ts')))).toEqual([]));
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

  test.each(['process.env.HOME', 'console.log(1)', 'process.stdout.write(x)', 'screen.write(x)'])('%s', (text) => {
    expect(findMisplacedWords(parse('worker/a.ts', text))).toHaveLength(1);
    expect(findMisplacedWords(parse('worker/a.ts', `// ${text}`))).toEqual([]);
  });

  test('files that are too long, named after nothing, or without node:', () => {
    expect(findBadFiles(parse('git/a.ts', '\n'.repeat(301)))).toHaveLength(1);
    expect(findBadFiles(parse('git/utils.ts', ''))).toHaveLength(1);
    expect(findBadFiles(parse('git/a.ts', "import { join } from 'path';"))).toHaveLength(1);
  });

  describe('in the path of a story', () => {
    const chain = Array.from({ length: 40 }, (_, index) => `git/file-${index}.ts`);
    const sources = chain.map((path, index) =>
      parseSource(path, index === 39 ? '' : `import { next } from './file-${index + 1}.ts';`),
    );
    const main = parseSource('cli/main.ts', "import { first } from '../git/file-0.ts';");
    const step = (index: number, ...paths: string[]) =>
      `${index}. **Step.** ${paths.map((path) => `\`src/${path}\``).join(', ')} **\`src/${chain[index] ?? ''}\`**\n`;
    const page = (steps: string[]) => `## The path of a story\n\n\`src/cli/main.ts\`\n${steps.join('')}\n## Next\n`;
    const steps = (count: number) => chain.slice(0, count).map((path, index) => step(index, path));
    const breaks = (text: string, more: typeof sources = sources) => findPathBreaks(text, [main, ...more]);

    test('a chain of ten steps is right', () => expect(breaks(page(steps(10)))).toEqual([]));

    test('nine steps are found', () =>
      expect(breaks(page(steps(9)))).toEqual(['the path of a story has 9 steps, not 10']));

    test('an omitted file is found, as its successor is called by no other', () => {
      const without = page([...steps(4), '4. **Step.** **`src/git/file-5.ts`**\n', ...steps(10).slice(5)]);
      expect(breaks(without)).toEqual(['git/file-5.ts: no file of the path calls it']);
    });

    test('a composition root is needed to connect what it constructs', () => {
      const root = parseSource('git/compose-a.ts', "import { five } from './file-5.ts';");
      const files = [...sources.filter(({ path }) => path !== 'git/file-4.ts'), parseSource('git/file-4.ts', ''), root];
      expect(breaks(page(steps(10)), files)).toEqual(['git/file-5.ts: no file of the path calls it']);
      const withRoot = page([...steps(9), step(9, 'git/compose-a.ts')]);
      expect(breaks(withRoot, files)).toEqual([]);
    });

    test('a helper is found, as it calls no file of the path', () => {
      const helper = parseSource('git/helper.ts', '');
      const caller = parseSource(
        'cli/main.ts',
        "import { first } from '../git/file-0.ts';\nimport '../git/helper.ts';",
      );
      expect(findPathBreaks(page([...steps(9), step(9, 'git/helper.ts')]), [caller, ...sources, helper])).toEqual([
        'git/helper.ts: calls no file of the path, so it is a helper',
      ]);
    });

    test('a step in which no file decides is found', () => {
      const text = page([...steps(9), '9. **Step.** `src/git/file-9.ts`\n']);
      expect(breaks(text).join()).toContain('a step has no file that decides: **Step.** `src/git/file-9.ts`');
    });

    test('a phase that no step names is found', () => {
      const attempt = parseSource('worker/attempt/run-attempt.ts', "import { a } from './phases/a.ts';");
      expect(breaks(page(steps(10)), [...sources, attempt])).toEqual([
        'worker/attempt/phases/a.ts: is a phase that no step names',
      ]);
    });

    test('33 files are found', () =>
      expect(breaks(page([...steps(9), step(31, ...chain.slice(9, 31))]))).toEqual([
        'the path of a story has 33 files',
      ]));
  });

  test.each([
    "test('of a run lands', () => {});",
    "it(\n    'with a link is refused', () => {});",
    "it.each([1])('that is %s', () => {});",
    "test.skipIf(isSlow).each([\n  ['a)', 1],\n])('for %s', () => {});",
  ])('a test name without a subject: %s', (text) => {
    expect(findNamesWithoutSubject(parse('test/a.test.ts', text))).toHaveLength(1);
    expect(findNamesWithoutSubject(parse('test/a.test.ts', "test('a run of two lands', () => {});"))).toEqual([]);
  });

  test('a folder with 17 files', () => {
    const files = Array.from({ length: 17 }, (_, index) => parseSource(`git/file-${index}.ts`, ''));
    expect(findCrowdedFolders(files)).toEqual(['git: has 17 files, more than 16']);
    expect(findCrowdedFolders(files.slice(1))).toEqual([]);
  });

  test('a file of twelve lines that is not a plug-in', () => {
    expect(findFragments(parse('git/a.ts', '\n'.repeat(12)))).toHaveLength(1);
    expect(findFragments(parse('git/a.ts', '\n'.repeat(13)))).toEqual([]);
    expect(findFragments(parse('agents/codex/index.ts', '\n'))).toEqual([]);
  });

  test.each(['export const a = 1;', 'export interface a {}', 'export async function* a() {}', 'export class a {}'])(
    'a second file with: %s',
    (text) => {
      const first = parseSource('git/first.ts', 'export type a = string;\nexport const a = 1;');
      expect(findRepeatedExports([first])).toEqual([]);
      expect(findRepeatedExports([first, ...parse('store/second.ts', text)])).toHaveLength(1);
    },
  );

  test.each([
    'async function assertClean(root: string): Promise<string[]> {\n}',
    'export function isLink(\n  path: (string) => void,\n): HaloError {\n}',
    'function isMissing(error: Error): false {\n}',
    'function isOpen() {\n}',
    'function requireClean(root: string): void {\n}',
    'async function findFolder(name: string): Promise<string> {\n}',
    'function checkLinks(root: string): void {\n}',
  ])('a name that contradicts the return type: %s', (text) =>
    expect(findMisnamedFunctions(parse('git/a.ts', text))).toHaveLength(1),
  );

  test.each([
    'function assertClean(root: string): Promise<void> {\n}',
    'function assertText(value: unknown): asserts value is string {\n}',
    'async function isOpen(): Promise<boolean> {\n}',
    'function requireStory(state: RunState): StoryState {\n}',
    'function isRecord(value: unknown): value is Record<string, unknown> {\n}',
    'async function findStory(id: string): Promise<StoryState | undefined> {\n}',
    'function checkLinks(root: string): Finding[] {\n}',
    'async function checkOutCommit(commit: string): Promise<void> {\n}',
  ])('%s is well named', (text) => expect(findMisnamedFunctions(parse('git/a.ts', text))).toEqual([]));

  test('a folder that no table lists', () => {
    const files = [parseSource('git/land/a.ts', ''), parseSource('git/mirror/a.ts', '')];
    const table = '| `src/git` | repositories |\n\n| `src/git` | `land/`';
    expect(findUnlistedFolders(`${table} |\n`, files)).toEqual(['src/git/mirror: is in no table']);
    expect(findUnlistedFolders(`${table} · `.concat('`mirror/` |\n'), files)).toEqual([]);
    expect(findUnlistedFolders('', files.slice(1))).toHaveLength(2);
  });

  test('a long function whose result changes its variables', () => {
    const closure = (lines: number) =>
      `function openCount() {\n  let count = 0;\n${'  look();\n'.repeat(lines)}  return { add: () => (count += 1) };\n}\n`;
    expect(findLongClosures(parse('git/a.ts', closure(40)))).toHaveLength(1);
    expect(findLongClosures(parse('git/a.ts', closure(30)))).toEqual([]);
    expect(findLongClosures(parse('git/a.ts', closure(40).replace('count += 1', 'count + 1')))).toEqual([]);
  });

  test('an expectation that any error meets', () => {
    expect(findBareRejections(parse('test/a.test.ts', `await expect(a).rejects.${'toThrow'}();`))).toHaveLength(1);
    expect(findBareRejections(parse('test/a.test.ts', "await expect(a).rejects.toThrow('gone');"))).toEqual([]);
  });

  test('two files with one name', () => {
    const first = parseSource('git/journal.ts', '');
    expect(findRepeatedNames([first, ...parse('store/journal.ts', '')])).toHaveLength(1);
    expect(findRepeatedNames([first, ...parse('cli/commands/journal.ts', '')])).toEqual([]);
  });

  test.each([
    ['lines', '\n'.repeat(81)],
    ['imports', Array.from({ length: 16 }, (_, index) => `import { a } from './${index}.ts';`).join('\n')],
    ['a nested try', 'function run() {\n  try {\n    try {\n    } finally {}\n  } finally {}\n}\n'],
  ])('too much in run-attempt.ts: %s', (_, text) =>
    expect(findLongAttempt(parse('worker/attempt/run-attempt.ts', text))).toHaveLength(1),
  );

  test('an exception that is not needed', () => {
    const exception = { subject: 'git', reason: 'an example' };
    expect(except(['git: has 17 files', 'github: has 17 files'], [exception])).toEqual(['github: has 17 files']);
    expect(except([], [exception])).toEqual(['git: is an exception that is not needed']);
  });
});

describe('sources, scripts and documents', () => {
  test('use plain words', () => {
    const wireNames = EXCEPTIONS.wireNames.map(({ subject }) => subject);
    expect(except(findBannedWords(readProse(root), wireNames), EXCEPTIONS.words)).toEqual([]);
    const schemas = readFileSync(resolve(root, 'src/api/operations/schemas.ts'), 'utf8');
    expect(wireNames.filter((name) => !schemas.includes(`${name}: `))).toEqual([]);
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
    ['docs/agents.md', 'the key `mend` of the findings'],
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
    ['scripts/a.mjs', "await import('../dist/cli/main.js')"],
    ['ARCHITECTURE.md', 'see `src/git/process/git.ts` in src/git/.'],
    ['docs/agents.md', 'the agent changed `src/cart.js`'],
    ['scripts/a.sh', 'node_modules/vitest/dist/cli.js'],
  ])('a path that exists, or is not of this project, is not reported in %s: %s', (path, text) =>
    expect(findStalePaths(root, [{ path, text }])).toEqual([]),
  );
});

describe('the docs', () => {
  test('list every stop reason with its exit code, and no others', () => {
    // A second table has the words that people see.
    const withExit = rows('stop-reasons.md').filter(([, exit = '']) => /^\d+$/.test(exit));
    const listed = Object.fromEntries(withExit.map(([name = '', exit]) => [name, Number(exit)]));
    const known = Object.entries(STOP_REASONS).map(([name, { exit }]) => [name, exit]);
    expect(listed).toEqual(Object.fromEntries(known));
  });

  test('list every error code with its stop reason and exit code, and no others', () => {
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
