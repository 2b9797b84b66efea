import type { StopReason } from '../failure/stop-reason.ts';
import type { TestCase } from '../test-report/formats/collect-tests.ts';
import { safeLine } from '../text/safe-text.ts';

/** A run of a story's new tests on the commit that the story builds on. */
export interface RedRun {
  /** The test files that were written, with their sizes in bytes. */
  files: readonly { path: string; size: number }[];
  /** Number of acceptance criteria that need a test each; 0: none does. */
  criteria: number;
  exitCode: number;
  /** The tests that the run reported; null if it printed no report in a known format. */
  tests: readonly TestCase[] | null;
}

/** Whether the tests may be locked: all of them fail, or the reason why they may not. */
export type RedVerdict =
  | { red: true; evidence: 'report'; cases: string[] }
  /** Without a report only the exit code shows that something failed. */
  | { red: true; evidence: 'exit-code' }
  | { red: false; stopReason: Extract<StopReason, 'TESTS_MISSING' | 'TESTS_NOT_RED'>; why: string };

const MAX_NAMED = 5;

/** Judges a red run: each criterion has a test, and each test runs and fails. */
export function judgeRedRun({ files, criteria, exitCode, tests: reported }: RedRun): RedVerdict {
  const tests = reported && selectTestsOf(files, reported);
  if (files.length === 0) return missing('no test file was written');
  const empty = files.filter(({ size }) => size === 0).map(({ path }) => path);
  if (empty.length > 0) return missing(`empty: ${nameSome(empty)}`);
  if (exitCode === 0 && tests === null) return notRed('the tests exited 0 before the change that they test');
  if (tests === null) return { red: true, evidence: 'exit-code' };
  const unloaded = tests.filter(({ name }) => files.some(({ path }) => isNameOfFile(name, path)));
  if (unloaded.length > 0) return missing(`could not be loaded: ${nameSome(unloaded.map(({ name }) => name))}`);
  const ran = tests.filter(({ skipped }) => !skipped);
  if (ran.length === 0)
    return missing(tests.length > 0 ? 'all tests are skipped' : 'no test ran: the test files could not be loaded');
  if (ran.length < criteria) return missing(`${ran.length} of at least ${criteria} tests, one for each criterion`);
  const passing = ran.filter(({ failed }) => failed !== true).map(({ name }) => name);
  if (passing.length > 0) return notRed(`passed before the change that they test: ${nameSome(passing)}`);
  if (exitCode === 0) return notRed('the tests exited 0 although the report says that they failed');
  return { red: true, evidence: 'report', cases: ran.map(({ name }) => name) };
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
export interface LockedFile {
  path: string;
  blob: string;
}

/** The tests of a story, which failed on its base commit and may not be changed. */
export interface LockedTests {
  /** `tests.command`, with a placeholder for the files. */
  command: string;
  files: LockedFile[];
  /** The names of the tests that failed; empty if the command reported none. */
  cases: string[];
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

/** Replaced by the test files in `tests.command`. */
export const FILES_PLACEHOLDER = '{files}';

/** The command that runs exactly these test files. An agent chose their names: none may be an option. */
export function commandFor({ command, files }: Pick<LockedTests, 'command' | 'files'>): string {
  const plain = files.map(({ path }) => (path.startsWith('-') ? `./${path}` : path));
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
