/** Names of deeper suites are ignored. */
export const MAX_SUITE_DEPTH = 16;
/** Longer names keep their end. */
const MAX_NAME_LENGTH = 1000;
const MAX_TESTS = 100_000;
const MAX_MISSED = 5;
const MAX_CHARACTERS = 16 * 1024 * 1024;

/** The tests of all reports of one attempt. Reports are untrusted, so their total size is limited. */
export interface CollectedTests {
  readonly found: TestCase[];
  /** `names`: suites from the outermost to the innermost, then the test. */
  add(names: readonly string[], facts: Omit<TestCase, 'name'>): TestCase;
  /** Notes why tests of a report could not be read, and how many tests it has, if a report file may have them all. */
  miss(why: string, counted?: number | 'some'): void;
  /** Notes that a report for programs, which runners write beside their output, has `count` tests. */
  write(count: number): void;
  /** Why tests could not be read, a clause each, unless a report for programs has them. */
  missed(): string[];
  /** Whether a limit is reached, so that no more tests must be added. */
  isFull(): boolean;
}

export function collectTests(): CollectedTests {
  const found: TestCase[] = [];
  const misses = new Map<string, number | 'some' | undefined>();
  const written: number[] = [];
  let characters = 0;
  return {
    found,
    add(names, facts) {
      const test = { name: joinNames(names), ...facts };
      characters += test.name.length;
      found.push(test);
      return test;
    },
    miss: (why, counted) => {
      if (misses.size < MAX_MISSED) misses.set(why, counted);
    },
    write: (count) => {
      if (count > 0) written.push(count);
    },
    missed: () => [...misses].filter(([, counted]) => !isWritten(written, counted)).map(([why]) => why),
    isFull: () => found.length >= MAX_TESTS || characters >= MAX_CHARACTERS,
  };
}

/** Whether one report, or all together, have the tests that a runner counted. */
function isWritten(written: readonly number[], counted: number | 'some' | undefined): boolean {
  if (counted === 'some') return written.length > 0;
  return counted !== undefined && [...written, written.reduce((sum, each) => sum + each, 0)].includes(counted);
}

/** Joins names from the end up to the limit, because thousands of tests may share the same long suite names. */
function joinNames(names: readonly string[]): string {
  let name = '';
  for (const part of names.toReversed()) {
    const room = MAX_NAME_LENGTH - name.length;
    if (room <= 0) break;
    name = name === '' ? part.slice(-room) : `${part} > `.slice(-room) + name;
  }
  return name;
}

/** One test of a report. The code under test writes the report, so it is evidence, not proof. */
export interface TestCase {
  /** Includes the names of its suites; not unique. */
  name: string;
  /** It did not run (skipped, todo, disabled), or is marked as an expected failure: its result does not count. */
  skipped: boolean;
  /** It ran and failed. */
  failed?: boolean | undefined;
  /** The path of its file, if reported. */
  file?: string;
  /** Number of assertions, if reported. */
  asserts?: number | undefined;
}

/** The mark of a failed test; nothing for others. */
export function failedIf(failed: boolean): { failed?: true } {
  return failed ? { failed: true } : {};
}

const MAX_LINE_LENGTH = 4_000;

/** Yields the lines of a text, except those that are too long to name a test. */
export function* shortLines(text: string): Generator<string> {
  for (let from = 0; from <= text.length;) {
    const at = text.indexOf('\n', from);
    const end = at < 0 ? text.length : at;
    if (end - from <= MAX_LINE_LENGTH) yield text.slice(from, end);
    from = end + 1;
  }
}
