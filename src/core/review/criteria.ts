/** What an agent says satisfies one acceptance criterion of its story. */
export interface CriterionClaim {
  /** Which criterion, counted from 1. */
  n: number;
  /** Names of tests. */
  tests: string[];
  /** Paths from the top of the repository. */
  files: string[];
}

/** `unknown`: no gate names its tests. */
export type TestFinding = 'ran' | 'skipped' | 'missing' | 'unknown';

/** A claim whose tests were looked up in the reports of the gates. */
export interface CheckedClaim extends Omit<CriterionClaim, 'tests'> {
  tests: { name: string; found: TestFinding }[];
}

/** Shorter names fit too many tests by chance. */
const SHORTEST_PART = 4;

/**
 * Looks the claimed tests up in what the gates reported, where each name may have the names of suites around it. Null:
 * nothing was reported.
 */
export function checkClaims(
  claims: readonly CriterionClaim[],
  reported: readonly { name: string; skipped: boolean }[] | null,
): CheckedClaim[] {
  const find = (name: string): TestFinding => {
    if (reported === null) return 'unknown';
    const named = reported.filter(
      (test) => test.name === name || (name.length >= SHORTEST_PART && test.name.includes(name)),
    );
    if (named.length === 0) return 'missing';
    return named.some(({ skipped }) => !skipped) ? 'ran' : 'skipped';
  };
  return claims.map(({ n, tests, files }) => ({ n, tests: tests.map((name) => ({ name, found: find(name) })), files }));
}
