import type { CriterionClaim } from './criteria.ts';

/** The reported tests of one acceptance criterion. */
export interface CriterionTests {
  /** Number of the criterion, from 1. */
  n: number;
  /** Their names in the report. */
  tests: string[];
}

/** The reported tests of each claim: those that it names. */
export function findCriterionTests(claims: readonly CriterionClaim[], reported: readonly string[]): CriterionTests[] {
  return claims.map(({ n, tests }) => {
    const named = new Set(tests.flatMap((each) => findNamed(reported, each)));
    return { n, tests: reported.filter((name) => named.has(name)) };
  });
}

/** The criteria from 1 to `count` that no test is for. */
export function findUntestedCriteria(tested: readonly CriterionTests[], count: number): number[] {
  const numbers = Array.from({ length: count }, (_, index) => index + 1);
  return numbers.filter((n) => !tested.some((each) => each.n === n && each.tests.length > 0));
}

/**
 * The reported tests that an agent means: it may leave out files and suites, separate them as its runner prints them, and
 * leave out the parameters of pytest (`test_a[1]`).
 */
function findNamed(reported: readonly string[], claimed: string): string[] {
  const named = reported.filter((name) => endsWith(name, claimed.trim()));
  if (named.length > 0) return named;
  const last = claimed.split(/::| > /).at(-1) ?? '';
  return reported.filter((name) => endsWith(name, last.trim()));
}

/** Whether a name ends with another one, as a whole. */
function endsWith(name: string, end: string): boolean {
  if (end === '') return false;
  const [plain = '', plainEnd = ''] = [name, end].map((each) => each.replaceAll(' > ', ' '));
  const titles = [plain, plain.replace(/\[[^[\]]*\]$/, '')];
  return titles.some((title) => title.endsWith(plainEnd) && !/[\w-]/.test(title.slice(0, -plainEnd.length).slice(-1)));
}
