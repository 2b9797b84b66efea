const LEVELS = ['lean', 'full', 'all'];

/**
 * How much of the suite runs: `npm test` the lean part, `npm run test:full` the rest, `npm run test:chaos` the rest of fault
 * injection, `-- --all` also what takes long.
 */
export const LEVEL = LEVELS.indexOf(process.env.HALO_TEST_LEVEL ?? 'lean');
export const FULL = 1;
export const ALL = 2;

/** `lean`; in the full suite also `rest`: the same with other programs, modes or settings. */
export function casesAtLevel<T>(lean: readonly T[], rest: readonly T[]): T[] {
  return LEVEL >= FULL ? [...lean, ...rest] : [...lean];
}

/** Why a test whose cost is high for what it adds to the others is skipped, or false if it runs. */
export function belowFull(): string | false {
  return LEVEL >= FULL ? false : 'runs with npm run test:full';
}

/** Why tests of this level are skipped, or false if they run. */
export function belowLevel(level: number): string | false {
  if (LEVEL >= level) return false;
  return `runs with npm run test:chaos${level === ALL ? ' -- --all' : ''}`;
}
