import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { parseAst } from 'vitest/node';
import { JOINS, readSources, type SourceFile } from './architecture.ts';

/** The names of the features: the folders in src/features/. */
export function featuresOf(files: readonly SourceFile[]): string[] {
  return [...new Set(files.flatMap(({ path }) => /^features\/([^/]+)\//.exec(path)?.[1] ?? []))].sort();
}

/** A copy of the sources in a folder of its own, in which features can be missing. */
export class CopiedSources {
  readonly #root: string;
  readonly #folder: string;
  readonly #files: readonly SourceFile[];

  /** `root`: the project; `folder`: an empty one. */
  constructor(root: string, folder: string, files: readonly SourceFile[]) {
    [this.#root, this.#folder, this.#files] = [root, folder, files];
    for (const name of ['node_modules', 'package.json']) symlinkSync(join(root, name), join(folder, name));
    for (const name of ['tsconfig.json', 'src']) cpSync(join(root, name), join(folder, name), { recursive: true });
  }

  /** Has all but these features afterwards. */
  without(features: readonly string[]): void {
    for (const [path, text] of withoutFeatures(this.#files, features)) this.#write(path, text);
    for (const name of featuresOf(this.#files)) {
      const folder = join('src/features', name);
      if (features.includes(name)) rmSync(join(this.#folder, folder), { recursive: true, force: true });
      else cpSync(join(this.#root, folder), join(this.#folder, folder), { recursive: true });
    }
  }

  /** What the compiler says, a line for each problem. */
  compile(): string {
    const tsc = join(this.#root, 'node_modules/.bin/tsc');
    const compiled = (project: string) => {
      const info = join(this.#folder, `${project.replace('/', '-')}.tsbuildinfo`);
      const options = [
        '--noUnusedLocals',
        'false',
        '--noUnusedParameters',
        'false',
        '--incremental',
        '--tsBuildInfoFile',
        info,
      ];
      execFileSync(tsc, ['-p', project, ...options], { cwd: this.#folder, encoding: 'utf8' });
    };
    try {
      ['.', 'src/web'].forEach(compiled);
      return '';
    } catch (error) {
      return (error as { stdout: string }).stdout;
    }
  }

  /** Runs the tests without engine and Redis that do not reach features, except those of `others`, and returns what failed. */
  runUnits(others: readonly string[]): string {
    const files = execFileSync('git', ['ls-files'], { cwd: this.#root, encoding: 'utf8' }).split('\n');
    const tests = readSources(join(this.#root, 'test'));
    const left = new Set(tests.filter((file) => reachesFeature(file, tests)).map(({ path }) => `test/${path}`));
    const kept = files.filter((path) => !/^(src\/|$)/.test(path) && !left.has(path) && !others.includes(path));
    for (const path of kept.filter((each) => existsSync(join(this.#root, each))))
      cpSync(join(this.#root, path), join(this.#folder, path));
    const vitest = ['--project', 'unit', '--project', 'program', '--reporter', 'json', '--outputFile', 'result.json'];
    try {
      execFileSync(join(this.#root, 'node_modules/.bin/vitest'), ['run', ...vitest], {
        cwd: this.#folder,
        stdio: 'ignore',
      });
    } catch {
      // The result says what failed.
    }
    const { numPassedTests, testResults } = JSON.parse(
      readFileSync(join(this.#folder, 'result.json'), 'utf8'),
    ) as Result;
    const failed = testResults.filter(({ status }) => status !== 'passed');
    const named = failed.flatMap(({ name, message, assertionResults }) => [
      `${name}: ${message}`,
      ...assertionResults.filter(({ status }) => status === 'failed').map(({ fullName }) => `  ${fullName}`),
    ]);
    return numPassedTests > 1000 ? named.join('\n') : `only ${numPassedTests} tests ran\n${named.join('\n')}`;
  }

  #write(path: string, text: string): void {
    const target = join(this.#folder, 'src', path);
    // What is as before is not compiled again.
    if (!existsSync(target) || readFileSync(target, 'utf8') !== text) writeFileSync(target, text);
  }
}

/** What the JSON reporter of vitest writes. */
interface Result {
  numPassedTests: number;
  testResults: {
    name: string;
    status: string;
    message: string;
    assertionResults: { fullName: string; status: string }[];
  }[];
}

/** Whether a test needs a feature. Paths are below test/. */
function reachesFeature(file: SourceFile, tests: readonly SourceFile[], seen = new Set<string>()): boolean {
  if (file.path.startsWith('features/')) return true;
  seen.add(file.path);
  return file.imports.some(({ target }) => {
    if (target.startsWith('../src/features/')) return true;
    const next = seen.has(target) ? undefined : tests.find(({ path }) => path === target);
    return next !== undefined && reachesFeature(next, tests, seen);
  });
}

/**
 * The lists without the entries of these features, by path. Throws if a list uses them as something else than an element of
 * an array, a property of an object or a part of a screen.
 */
function withoutFeatures(files: readonly SourceFile[], features: readonly string[]): [string, string][] {
  const isGone = (path: string) => features.some((name) => path.startsWith(`features/${name}/`));
  return files.filter(({ path }) => JOINS.includes(path)).map((file) => [file.path, withoutEntries(file, isGone)]);
}

/** A node of a syntax tree, as ESTree defines it. */
interface Node {
  type: string;
  start: number;
  end: number;
  parent?: Node;
  [key: string]: unknown;
}

function withoutEntries({ path, text }: SourceFile, isGone: (path: string) => boolean): string {
  const leads = (node: Node) => isGone(normalize(join(dirname(path), String((node['source'] as Node)['value']))));
  const nodes = nodesOf(parseAst(text, { lang: 'tsx' }) as unknown as Node);
  const imports = nodes.filter((node) => node.type === 'ImportDeclaration' && leads(node));
  const names = imports.flatMap((node) => (node['specifiers'] as Node[]).map((each) => nameOf(each['local'] as Node)));
  const isUse = (node: Node) =>
    (node.type === 'ImportExpression' && leads(node)) ||
    (/^(JSX)?Identifier$/.test(node.type) && names.includes(nameOf(node)) && !within(node, imports));
  const entries = nodes.filter(isUse).map((node) => entryOf(node, path));
  const cuts = [...imports, ...entries].filter((node, _, all) => !within(node, all));
  const sorted = [...new Set(cuts)].sort((a, b) => b.start - a.start);
  return sorted.reduce((left, { start, end }) => left.slice(0, start) + left.slice(end).replace(/^\s*,/, ''), text);
}

/** All nodes below one, each with its parent. */
function nodesOf(node: Node): Node[] {
  const below = Object.entries(node)
    .filter(([key]) => key !== 'parent')
    .flatMap(([, value]) => (Array.isArray(value) ? (value as unknown[]) : [value]))
    .filter((each): each is Node => typeof each === 'object' && each !== null && 'type' in each);
  return [node, ...below.flatMap((each) => nodesOf(Object.assign(each, { parent: node })))];
}

const nameOf = (identifier: Node) => String(identifier['name']);

function within(node: Node, others: readonly Node[]): boolean {
  const { parent } = node;
  return parent !== undefined && (others.includes(parent) || within(parent, others));
}

/** The entry of a list that a node belongs to: of an object within an array, the object. */
function entryOf(node: Node, path: string): Node {
  for (let each: Node | undefined = node; each !== undefined; each = each.parent) {
    const list = each.parent?.type ?? '';
    const isPart = /^JSX(Element|ExpressionContainer)$/.test(each.type) && /^JSX(Element|Fragment)$/.test(list);
    const isInArray = list === 'ObjectExpression' && each.parent?.parent?.type === 'ArrayExpression';
    if (isInArray || !(isPart || /^(Array|Object)Expression$/.test(list))) continue;
    return each;
  }
  throw new Error(`${path} uses a feature outside of a list, at character ${node.start}`);
}
