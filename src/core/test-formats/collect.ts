import type { TestCase } from '../test-case.ts';

/** Deeper suites do not count for the names of their tests. */
export const DEEPEST_SUITE = 16;
/** Of a longer name the end counts. */
const LONGEST_NAME = 1000;
const MOST_TESTS = 100_000;
const MOST_CHARACTERS = 16 * 1024 * 1024;

/** The tests of all reports of one attempt: reports are hostile, so what is kept of them is limited together. */
export interface Tests {
  readonly found: TestCase[];
  /** `names`: of the suites, from the outermost, and of the test. */
  add(names: readonly string[], facts: Omit<TestCase, 'name'>): TestCase;
  /** Nothing more is to be added. */
  isFull(): boolean;
}

export function collectTests(): Tests {
  const found: TestCase[] = [];
  let characters = 0;
  return {
    found,
    add(names, facts) {
      const test = { name: joinNames(names), ...facts };
      characters += test.name.length;
      found.push(test);
      return test;
    },
    isFull: () => found.length >= MOST_TESTS || characters >= MOST_CHARACTERS,
  };
}

/** From the end, and no further than is kept: thousands of tests may be below the same long names. */
function joinNames(names: readonly string[]): string {
  let name = '';
  for (const part of names.toReversed()) {
    const room = LONGEST_NAME - name.length;
    if (room <= 0) break;
    name = name === '' ? part.slice(-room) : `${part} > `.slice(-room) + name;
  }
  return name;
}
