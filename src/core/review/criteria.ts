/** An agent's claim about what satisfies one acceptance criterion. */
export interface CriterionClaim {
  /** Number of the criterion, from 1. */
  n: number;
  /** Names of tests. */
  tests: string[];
  /** Paths from the top of the repository. */
  files: string[];
  /** From the session that writes tests: the criterion is met before the story, so its tests pass then. */
  holds?: boolean | undefined;
}

/** `unknown`: no gate reported its tests. */
export type TestFinding = 'ran' | 'skipped' | 'missing' | 'unknown';

/** A claim whose tests were looked up in the gates' reports. */
export interface CheckedClaim extends Omit<CriterionClaim, 'tests' | 'holds'> {
  tests: { name: string; found: TestFinding }[];
}

/** Shorter names would match unrelated tests. */
const MIN_PART_LENGTH = 4;

/** Looks up claimed tests in the reported ones, whose names may include suite names. `null`: nothing was reported. */
export function checkClaims(
  claims: readonly CriterionClaim[],
  reported: readonly { name: string; skipped: boolean }[] | null,
): CheckedClaim[] {
  const find = (name: string): TestFinding => {
    if (reported === null) return 'unknown';
    const named = reported.filter(
      (test) => test.name === name || (name.length >= MIN_PART_LENGTH && test.name.includes(name)),
    );
    if (named.length === 0) return 'missing';
    return named.some(({ skipped }) => !skipped) ? 'ran' : 'skipped';
  };
  return claims.map(({ n, tests, files }) => ({ n, tests: tests.map((name) => ({ name, found: find(name) })), files }));
}

/** Whether locked tests of a criterion passed after the change, or the agent named tests for it and all of them ran. */
export function isTested({ claim, locked = [] }: { claim?: CheckedClaim; locked?: readonly string[] }): boolean {
  if (locked.length > 0) return true;
  return claim !== undefined && claim.tests.length > 0 && claim.tests.every(({ found }) => found === 'ran');
}

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
