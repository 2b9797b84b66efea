import { basename, dirname } from 'node:path';
import ts from 'typescript';
import type { Breach, SourceFile } from './architecture.ts';

const MAX_FILES = 16;
const MIN_LINES = 13;
const MAX_ATTEMPT_LINES = 80;
const MAX_ATTEMPT_IMPORTS = 15;
const ATTEMPT = 'worker/attempt/run-attempt.ts';

/** Folders in which each file is one of a kind, however small. */
const PLUG_INS = ['agents/', 'api/operations/', 'cli/commands/', 'prd/dialects/', 'worker/attempt/phases/'];

/** Of these, those whose files have the names of their subjects or siblings. */
const SAME_NAMES = ['agents/', 'cli/commands/', 'prd/dialects/'];

/** A known exception from a rule, which must be needed. */
export interface Exception {
  /** A path below src/, or an exported name. */
  subject: string;
  reason: string;
}

/** The breaches without those of an exception, and one more for each exception that is not needed. */
export function except(breaches: readonly Breach[], exceptions: readonly Exception[]): Breach[] {
  const isOf = ({ subject }: Exception, breach: Breach) => breach.startsWith(`${subject}: `);
  return [
    ...breaches.filter((breach) => !exceptions.some((exception) => isOf(exception, breach))),
    ...exceptions
      .filter((exception) => !breaches.some((breach) => isOf(exception, breach)))
      .map(({ subject }) => `${subject}: is an exception that is not needed`),
  ];
}

/** Folders with more files than a reader can survey. */
export function findCrowdedFolders(files: readonly SourceFile[]): Breach[] {
  return [...groupBy(files, ({ path }) => dirname(path))]
    .filter(([, members]) => members.length > MAX_FILES)
    .map(([folder, members]) => `${folder}: has ${members.length} files, more than ${MAX_FILES}`);
}

/** Calls of Node's recursive mkdir, which never returns below /proc; `createFolders` of lib/fs.ts does. */
export function findRecursiveMkdir(files: readonly SourceFile[]): Breach[] {
  return files
    .filter(({ text }) => /\bmkdir(?:Sync)?\([^;]*?recursive: true/.test(text))
    .map(({ path }) => `${path}: calls mkdir with recursive`);
}

/** Files that are too small for a name and an import of their own. Plug-ins are exempt. */
export function findFragments(files: readonly SourceFile[]): Breach[] {
  return files
    .filter(({ path, text }) => lineCount(text) < MIN_LINES && !isPlugIn(path))
    .map(({ path, text }) => `${path}: has only ${lineCount(text)} lines`);
}

/** Names that are declared and exported in more than one file. */
export function findRepeatedExports(files: readonly SourceFile[]): Breach[] {
  const exported = files.flatMap(({ path, text }) => [...new Set(exportsOf(text))].map((name) => ({ path, name })));
  return repeated(exported, ({ name }) => name);
}

/** Return types that the first word of a function's name promises. */
const RETURN_TYPES = {
  assert: /^(void|Promise<void>|never|asserts\b.*)$/s,
  is: /^(boolean|Promise<boolean>|\w+ is\b.*)$/s,
  require: /^(?!void\b|Promise<void>|boolean\b|never\b)/,
  find: /undefined|\[\]|\b(?:Map|Set|AsyncGenerator)<|\w\['\w+'\]/,
  check: /^(?!$|void\b|Promise<void>|boolean\b|Promise<boolean>|never\b)/,
};

/**
 * Functions whose declared return type contradicts their name: `assertX` returns nothing, `isX` a boolean, `requireX` a
 * value, `findX` undefined or a list if there is nothing, `checkX` what it found.
 */
export function findMisnamedFunctions(files: readonly SourceFile[]): Breach[] {
  return files.flatMap(({ path, text }) =>
    [...text.matchAll(/\bfunction ((assert|is|require|find|check(?!Out))[A-Z]\w*)/g)].flatMap(
      ({ 1: name = '', 2: verb, index }) => {
        const type = returnTypeAt(text, index);
        return RETURN_TYPES[verb as keyof typeof RETURN_TYPES].test(type) ? [] : [`${path}: ${name} returns ${type}`];
      },
    ),
  );
}

/** The declared return type of the function at an offset of a formatted source; empty if it has none. */
function returnTypeAt(text: string, offset: number): string {
  let depth = 0;
  for (let at = text.indexOf('(', offset); at >= 0 && at < text.length; at++) {
    if (text[at] === '(') depth++;
    if (text[at] === ')' && --depth === 0) return /^: ([^\n]*?) \{\n/.exec(text.slice(at + 1))?.[1] ?? '';
  }
  return '';
}

/** Files with the same name, outside the folders whose files have the names of their subjects. */
export function findRepeatedNames(files: readonly SourceFile[]): Breach[] {
  return repeated(
    files.filter(({ path }) => !SAME_NAMES.some((folder) => path.startsWith(folder))),
    ({ path }) => basename(path),
  );
}

/** The file that shows an attempt must stay a table of contents. */
export function findLongAttempt(files: readonly SourceFile[]): Breach[] {
  return files
    .filter(({ path }) => path === ATTEMPT)
    .flatMap(({ path, text, imports }) => [
      ...(lineCount(text) > MAX_ATTEMPT_LINES ? [`${path}: has more than ${MAX_ATTEMPT_LINES} lines`] : []),
      ...(imports.length > MAX_ATTEMPT_IMPORTS ? [`${path}: has more than ${MAX_ATTEMPT_IMPORTS} imports`] : []),
      // Prettier indents the body of a function by two, and that of a nested block by four or more.
      ...(/^ {4,}try \{/m.test(text) ? [`${path}: has a nested try`] : []),
    ]);
}

/** The names that a source declares and exports; several declarations of one name, as of a schema and its type, count once. */
export function exportsOf(text: string): string[] {
  const declared = text.matchAll(
    /^export (?:declare )?(?:abstract )?(?:async )?(?:function\*?|const|let|class|interface|type|enum) +(\w+)/gm,
  );
  return [...declared].map(([, name = '']) => name);
}

function repeated<T extends { path: string }>(items: readonly T[], keyOf: (item: T) => string): Breach[] {
  return [...groupBy(items, keyOf)]
    .filter(([, members]) => members.length > 1)
    .map(([key, members]) => `${key}: is in ${members.map(({ path }) => path).join(', ')}`);
}

function groupBy<T>(items: readonly T[], keyOf: (item: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const item of items) groups.set(keyOf(item), [...(groups.get(keyOf(item)) ?? []), item]);
  return groups;
}

function lineCount(text: string): number {
  return text.split('\n').length - 1;
}

function isPlugIn(path: string): boolean {
  return PLUG_INS.some((folder) => path.startsWith(folder));
}

/**
 * The path of a story has at most as many files: those that pass control on. Counted with the helpers that a reader also
 * visits (files that are called and return, such as the masker or the store), there are about twice as many.
 */
const MAX_PATH_FILES = 32;
const PATH_STEPS = 10;
const COMPOSES = /(?:^|\/)compose(?:-\w+)?\.ts$/;
const PHASES = /^worker\/attempt\/(?:phases|tests-first)\//;

/**
 * Compares the section of ARCHITECTURE.md about the path of a story with the sources. A file with its folder is called by
 * another one of the path, and calls another one or decides (in bold); a file that a composition root connects needs that
 * root in the path. All phases that an attempt calls are named.
 */
export function findPathBreaks(architecture: string, files: readonly SourceFile[]): Breach[] {
  const [, section = ''] = /^## The path of a story\n([\s\S]*?)^## /m.exec(architecture) ?? [];
  const steps = section.split(/^\d+\. /m).slice(1);
  const path = new Set([...section.matchAll(/`src\/([^`]+\.(?:ts|lua))`/g)].map(([, name = '']) => name));
  const decides = new Set([...section.matchAll(/\*\*`src\/([^`]+)`\*\*/g)].map(([, name = '']) => name));
  const helpers = [...section.matchAll(/`([\w-]+\.ts)`/g)].map(([, name = '']) => name);
  const calls = new Map(files.map((file) => [file.path, calledBy(file)]));
  const isCalled = (name: string) => [...path].some((from) => from !== name && calls.get(from)?.includes(name));
  const passesOn = (name: string) => calls.get(name)?.some((to) => path.has(to)) === true;
  const phases = (calls.get(ATTEMPT) ?? []).filter((name) => PHASES.test(name));
  return [
    ...(steps.length === PATH_STEPS ? [] : [`the path of a story has ${steps.length} steps, not ${PATH_STEPS}`]),
    ...(path.size <= MAX_PATH_FILES ? [] : [`the path of a story has ${path.size} files`]),
    ...steps
      .filter((step) => !step.includes('**`src/'))
      .map((step) => `a step has no file that decides: ${step.slice(0, 40)}`),
    ...[...path]
      .filter((name) => name !== 'cli/main.ts' && !COMPOSES.test(name) && !isCalled(name))
      .map((name) => `${name}: no file of the path calls it`),
    ...[...path]
      .filter((name) => !decides.has(name) && !passesOn(name))
      .map((name) => `${name}: calls no file of the path, so it is a helper`),
    ...phases
      .filter((name) => !path.has(name) && !helpers.includes(basename(name)))
      .map((name) => `${name}: is a phase that no step names`),
    ...helpers
      .filter((name) => !files.some((file) => basename(file.path) === name))
      .map((name) => `${name}: does not exist`),
  ];
}

/** The files whose values a file imports, and the scripts that it reads. */
function calledBy({ path, text, imports }: SourceFile): string[] {
  const scripts = [...text.matchAll(/'\.\/([\w-]+\.lua)'/g)].map(([, name = '']) => `${dirname(path)}/${name}`);
  return [...imports.filter(({ ours, typeOnly }) => ours && !typeOnly).map(({ target }) => target), ...scripts];
}

/**
 * Compares the tables of ARCHITECTURE.md with the folders of src/ and those in them: `| `src/git` | … |`, then a row of the
 * second table with `commit/` and the others.
 */
export function findUnlistedFolders(architecture: string, files: readonly SourceFile[]): Breach[] {
  const rows = architecture.split('\n').flatMap((line) => {
    const [, folder, text = ''] = /^\| `src\/(\w+)` +\|(.*)/.exec(line) ?? [];
    return folder === undefined ? [] : [{ folder, text }];
  });
  const inside = groupBy(
    files.filter(({ path }) => path.includes('/')),
    ({ path }) => path.split('/')[0] ?? '',
  );
  return [...inside].flatMap(([folder, members]) => {
    const listed = rows.filter((row) => row.folder === folder);
    const named = listed
      .slice(1)
      .flatMap(({ text }) => [...text.matchAll(/`([\w-]+)\/`/g)].map(([, name = '']) => name));
    const there = new Set(
      members.map(({ path }) => path.split('/')).flatMap(([, name = '', file]) => (file ? [name] : [])),
    );
    return [
      ...(listed.length === 0 ? [`src/${folder}: is in no table`] : []),
      ...[...there].filter((name) => !named.includes(name)).map((name) => `src/${folder}/${name}: is in no table`),
    ];
  });
}

/** Words with which the name of a test does not begin: its subject would be elsewhere. */
const NO_SUBJECT =
  'after|and|as|at|because|before|below|but|by|for|from|if|in|of|on|or|since|so|than|that|to|unless|until|when|where|which|while|who|whose|with|without';
/** Tests whose names do not begin with their subject. */
export function findNamesWithoutSubject(files: readonly SourceFile[]): Breach[] {
  return files.flatMap(({ path, text }) =>
    testNames(text)
      .filter((name) => new RegExp(`^(?:${NO_SUBJECT})\\b`).test(name))
      .map((name) => `${path}: "${name}" does not begin with its subject`),
  );
}

/** The names of tests, also of those that are made from a table: `it.each(…)('…')`. */
function testNames(text: string): string[] {
  const names: string[] = [];
  visitCalls(parseTypeScript(text), (call) => {
    const [first] = call.arguments;
    if (first !== undefined && ts.isStringLiteralLike(first) && /^(?:it|test)\b/.test(calleeOf(call)))
      names.push(first.text);
  });
  return names;
}

/** `it` of `it('…')`, `it.each([…])('…')` and `it.skipIf(…).each([…])('…')`. */
function calleeOf(node: ts.Node): string {
  if (ts.isCallExpression(node) || ts.isPropertyAccessExpression(node) || ts.isTaggedTemplateExpression(node))
    return calleeOf('tag' in node ? node.tag : node.expression);
  return ts.isIdentifier(node) ? node.text : '';
}

/** Expectations that any error meets, also that of a typing mistake. */
export function findBareRejections(files: readonly SourceFile[]): Breach[] {
  return files
    .filter(({ text }) => /\brejects\.toThrow\(\)/.test(text))
    .map(({ path }) => `${path}: expects an error without saying which`);
}

const MAX_STATEFUL_LINES = 40;

/** Functions that return an object whose functions change their variables, and that are too long for that: classes. */
export function findLongClosures(files: readonly SourceFile[]): Breach[] {
  return files.flatMap(({ path, text }) => {
    const source = parseTypeScript(text);
    const lineOf = (offset: number) => source.getLineAndCharacterOfPosition(offset).line;
    const found: Breach[] = [];
    const visit = (node: ts.Node) => {
      if (isFunction(node) && node.body !== undefined && ts.isBlock(node.body)) {
        const lines = lineOf(node.end) - lineOf(node.getStart()) + 1;
        if (lines > MAX_STATEFUL_LINES && returnsFunctions(node.body) && changesInside(node.body))
          found.push(`${path}: line ${lineOf(node.getStart()) + 1} begins a closure of ${lines} lines`);
      }
      ts.forEachChild(node, visit);
    };
    visit(source);
    return found;
  });
}

function returnsFunctions({ statements }: ts.Block): boolean {
  return statements.some(
    (each) =>
      ts.isReturnStatement(each) &&
      each.expression !== undefined &&
      (isFunction(each.expression) ||
        (ts.isObjectLiteralExpression(each.expression) &&
          /=>|\) \{\n|\b\w+,|\{ \w+ \}/.test(each.expression.getText()))),
  );
}

function isAssignment(kind: ts.SyntaxKind): boolean {
  return kind >= ts.SyntaxKind.FirstAssignment && kind <= ts.SyntaxKind.LastAssignment;
}

/** Whether a nested function assigns a variable that the block declares with `let`. */
function changesInside(block: ts.Block): boolean {
  const own = block.statements.flatMap((each) =>
    ts.isVariableStatement(each) && (each.declarationList.flags & ts.NodeFlags.Let) !== 0
      ? each.declarationList.declarations.map(({ name }) => name.getText())
      : [],
  );
  const changes = (node: ts.Node, nested: boolean): boolean => {
    const target =
      ts.isBinaryExpression(node) && isAssignment(node.operatorToken.kind)
        ? node.left
        : ts.isPostfixUnaryExpression(node) || ts.isPrefixUnaryExpression(node)
          ? node.operand
          : undefined;
    if (nested && target !== undefined && own.includes(target.getText())) return true;
    return ts.forEachChild(node, (child) => changes(child, nested || isFunction(node)) || undefined) === true;
  };
  return own.length > 0 && changes(block, false);
}

function isFunction(node: ts.Node): node is ts.FunctionLikeDeclaration {
  return ts.isFunctionLike(node) && 'body' in node;
}

function visitCalls(source: ts.SourceFile, look: (call: ts.CallExpression) => void): void {
  const visit = (node: ts.Node) => {
    if (ts.isCallExpression(node)) look(node);
    ts.forEachChild(node, visit);
  };
  visit(source);
}

function parseTypeScript(text: string): ts.SourceFile {
  return ts.createSourceFile('source.ts', text, ts.ScriptTarget.Latest, true);
}
