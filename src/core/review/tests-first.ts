import type { StopReason } from '../failure/stop-reason.ts';
import type { TestCase } from '../test-report/formats/collect-tests.ts';
import { safeLine } from '../text/safe-text.ts';
import { findCriterionTests, findUntestedCriteria, type CriterionClaim, type CriterionTests } from './criteria.ts';

/** A run of a story's new tests on the commit that the story builds on. */
export interface RedRun {
  /** The test files that were written, with their sizes in bytes. */
  files: readonly { path: string; size: number }[];
  /** Number of acceptance criteria that need a test each; 0: none does. */
  criteria: number;
  /** The tests of each criterion, as far as the session that wrote them names them. */
  claims?: readonly CriterionClaim[] | undefined;
  exitCode: number;
  /** The tests that the run reported; null if it printed no report in a known format. */
  tests: readonly TestCase[] | null;
}

/** Whether the tests may be locked: all of them fail, or are of a criterion that already holds. Or why they may not. */
export type RedVerdict =
  | ({ red: true; evidence: 'report' } & Pick<LockedTests, 'cases' | 'holding' | 'criteria'>)
  /** Without a report only the exit code shows that something failed. */
  | { red: true; evidence: 'exit-code' }
  | { red: false; stopReason: Extract<StopReason, 'TESTS_MISSING' | 'TESTS_NOT_RED'>; why: string };

const MAX_NAMED = 5;

/**
 * Judges a red run: each criterion has a test, and each test runs and fails. Tests of criteria that already hold, as the
 * session that wrote them says, may pass; at least one other test must fail.
 */
export function judgeRedRun({ files, criteria, claims, exitCode, tests: reported }: RedRun): RedVerdict {
  const tests = reported && selectTestsOf(files, reported);
  if (files.length === 0) return missing('no test file was written');
  const empty = files.filter(({ size }) => size === 0).map(({ path }) => path);
  if (empty.length === files.length) return missing(`empty: ${nameSome(empty)}`);
  if (exitCode === 0 && tests === null) return notRed('the tests exited 0 before the change that they test');
  if (tests === null) return { red: true, evidence: 'exit-code' };
  const unloaded = tests.filter(({ name }) => files.some(({ path }) => isNameOfFile(name, path)));
  if (unloaded.length > 0) return missing(`could not be loaded: ${nameSome(unloaded.map(({ name }) => name))}`);
  const ran = tests.filter(({ skipped }) => !skipped);
  if (ran.length === 0)
    return missing(tests.length > 0 ? 'all tests are skipped' : 'no test ran: the test files could not be loaded');
  if (ran.length < criteria) return missing(`${ran.length} of at least ${criteria} tests, one for each criterion`);
  const names = ran.map(({ name }) => name);
  const tested = claims === undefined ? undefined : findCriterionTests(claims, names);
  const untested = tested === undefined ? [] : findUntestedCriteria(tested, criteria);
  if (untested.length > 0) return missing(`no test that ran is named for criterion ${untested.join(', ')}`);
  const passing = ran.filter(({ failed }) => failed !== true).map(({ name }) => name);
  const holding = findCriterionTests(claims?.filter(({ holds }) => holds === true) ?? [], names);
  const early = passing.filter((name) => !holding.some(({ tests }) => tests.includes(name)));
  if (early.length > 0) return notRed(`passed before the change that they test: ${nameSome(early)}`);
  if (passing.length === ran.length) return notRed('all criteria are said to hold already: no test failed');
  if (exitCode === 0) return notRed('the tests exited 0 although the report says that they failed');
  const more = { ...(passing.length > 0 && { holding: passing }), ...(tested && criteria > 0 && { criteria: tested }) };
  return { red: true, evidence: 'report', cases: names, ...more };
}

/**
 * The reported tests that are in these files, as far as the report names the file of a test: runners such as vitest take
 * a path as a pattern, which other files may match.
 */
export function selectTestsOf(files: readonly { path: string }[], tests: readonly TestCase[]): TestCase[] {
  return tests.filter(
    ({ file }) => file === undefined || files.some(({ path }) => file === path || file.endsWith(`/${path}`)),
  );
}

/** The exit code of runners such as pytest if there is no test. */
const NO_TESTS_EXIT = 5;

/**
 * Judges tests that only an exit code shows to fail, by the exit code of the same command without them: if it fails as
 * well, the tests show nothing.
 */
export function judgeControl(verdict: RedVerdict, exits: { red: number; control: number }): RedVerdict {
  const { red, control } = exits;
  if (control === 0 || (control === NO_TESTS_EXIT && red !== control)) return verdict;
  return missing(
    `no report names them, and the command exits ${control} without them as well; let it print a report (docs/tests-first.md)`,
  );
}

/** A locked file and the blob that it must keep. */
interface LockedFile {
  path: string;
  blob: string;
}

/** The tests of a story, which failed on its base commit and may not be changed. */
export interface LockedTests {
  /** `tests.command`, with a placeholder for the files. */
  command: string;
  files: LockedFile[];
  /** The names of the tests, which failed before the change; empty if the command reported none. */
  cases: string[];
  /** Those of them that passed before the change, because their criterion was met already. */
  holding?: string[];
  /** The tests of each acceptance criterion, as far as they are known. */
  criteria?: CriterionTests[];
}

/**
 * The locked tests of the n-th of some acceptance criteria. Tests that are not named by criterion are those of each, if they
 * are at least as many. Undefined if none are known.
 */
export function testsOfCriterion(
  locked: Pick<LockedTests, 'cases' | 'criteria'> | undefined,
  { n, of }: { n: number; of: number },
): readonly string[] | undefined {
  if (locked === undefined) return undefined;
  const { cases, criteria } = locked;
  if (criteria !== undefined) return criteria.find((each) => each.n === n)?.tests;
  return cases.length > 0 && cases.length >= of ? cases : undefined;
}

/** The locked tests alone of an event or a record with more fields. */
export function lockedTestsOf({ command, files, cases, holding, criteria }: LockedTests): LockedTests {
  return { command, files, cases, ...(holding && { holding }), ...(criteria && { criteria }) };
}

/** Locked tests that later attempts at the story use, instead of writing others. */
export interface KeptTests extends LockedTests {
  /** The commit that they failed on. */
  base: string;
  /** The commit with them, on the base. */
  commit: string;
  /** The attempt that wrote them. */
  attempt: number;
}

/** What is judged: the written files, their run on the base commit, the files after the change, and their run on it. */
export type TestsStep = 'files' | 'red' | 'locks' | 'green';

/** Something that is wrong with the tests of a story. */
export interface TestProblem {
  step: TestsStep;
  why: string;
}

const STEP_NAMES: Record<TestsStep, string> = {
  files: 'test files',
  red: 'before the change',
  locks: 'locked tests',
  green: 'after the change',
};

/** A problem as a line, such as `before the change: no test file was written`. */
export function describeTestProblem({ step, why }: TestProblem): string {
  return `${STEP_NAMES[step]}: ${safeLine(why, 500)}`;
}

/** Says that tests passed before the change, because their criterion is said to hold already. */
export function describeHolding(holding: readonly string[]): string {
  return `tests first, passed before the change, as declared: ${nameSome(holding)}`;
}

/** Replaced by the test files in `tests.command`. */
export const FILES_PLACEHOLDER = '{files}';

/** Replaced by the id of the story in `tests.files`, in a form that every file system and glob takes literally. */
const ID_PLACEHOLDER = '{id}';

/** The globs of the files that the tests of a story may be written to. */
export function testGlobsOf(globs: readonly string[], { id }: { id: string }): string[] {
  const name = id.normalize('NFC').replace(/[^\p{L}\p{N}._-]+/gu, '_');
  return globs.map((glob) => glob.replaceAll(ID_PLACEHOLDER, () => name));
}

/** The only files that the tests of a story may be in; undefined if a pattern has wildcards. */
export function onlyTestFilesOf(globs: readonly string[], story: { id: string }): string[] | undefined {
  const filled = testGlobsOf(globs, story);
  return filled.some((glob) => /[*?{}[\]!]/.test(glob)) ? undefined : filled;
}

/** An empty file in a repository of SHA-1, or of SHA-256. */
const EMPTY_BLOBS = [
  'e69de29bb2d1d6434b8b29ae775ad8c2e48c5391',
  '473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813',
];

/**
 * The command that runs exactly these test files; empty ones, such as `tests/__init__.py`, have no tests. An agent chose
 * their names: none may be an option.
 */
export function commandFor({ command, files }: Pick<LockedTests, 'command' | 'files'>): string {
  const written = files.filter(({ blob }) => !EMPTY_BLOBS.includes(blob));
  const plain = written.map(({ path }) => (path.startsWith('-') ? `./${path}` : path));
  const quoted = plain.map((path) => `'${path.replaceAll("'", "'\\''")}'`);
  return command.replaceAll(FILES_PLACEHOLDER, () => quoted.join(' '));
}

/** The locked files that a tree changes or lacks. `blobs`: the blob id of each path of the tree. */
export function findChangedLocks(locked: readonly LockedFile[], blobs: ReadonlyMap<string, string>): string[] {
  return locked.filter(({ path, blob }) => blobs.get(path) !== blob).map(({ path }) => path);
}

/**
 * The locked tests that did not run and pass after the change, by name: removed by a configuration, skipped, or failed.
 * A runner that exits 0 without running them is found by this. All of them if nothing was reported.
 */
export function findUnprovenTests(cases: readonly string[], after: readonly TestCase[] | null): string[] {
  const left = new Map<string, number>();
  for (const { name, skipped, failed } of after ?? [])
    if (!skipped && failed !== true) left.set(name, (left.get(name) ?? 0) + 1);
  return cases.filter((name) => {
    const count = left.get(name) ?? 0;
    left.set(name, count - 1);
    return count <= 0;
  });
}

/** The locked tests that passed without any assertion, as far as the report counts them. */
export function findTestsWithoutAsserts(cases: readonly string[], after: readonly TestCase[] | null): string[] {
  return cases.filter((name) => after?.some((test) => test.name === name && !test.skipped && test.asserts === 0));
}

/**
 * Whether a runner names a file instead of a test. node:test, vitest and pytest report a file with a syntax error or a
 * missing import as one failed test: by its path, or in pytest's JUnit XML as a module.
 */
function isNameOfFile(name: string, path: string): boolean {
  const module = path.replace(/\.py$/, '').replaceAll('/', '.');
  return name === path || name.endsWith(`/${path}`) || name === module;
}

function missing(why: string): RedVerdict {
  return { red: false, stopReason: 'TESTS_MISSING', why };
}

function notRed(why: string): RedVerdict {
  return { red: false, stopReason: 'TESTS_NOT_RED', why };
}

/** Names come from untrusted code. */
function nameSome(names: readonly string[]): string {
  const shown = names.slice(0, MAX_NAMED).map((name) => safeLine(name, 80));
  return names.length > MAX_NAMED ? `${shown.join(', ')} and ${names.length - MAX_NAMED} more` : shown.join(', ');
}
