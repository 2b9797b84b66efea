const LEVELS = ['lean', 'full', 'all'];

/** How much of the suite runs: `npm test` the lean part, `npm run test:chaos` the rest, `-- --all` also what takes long. */
export const LEVEL = LEVELS.indexOf(process.env.HALO_CHAOS_LEVEL ?? 'lean');
export const FULL = 1;
export const ALL = 2;

/** Why tests of this level are skipped, or false if they run. */
export function belowLevel(level: number): string | false {
  if (LEVEL >= level) return false;
  return `runs with npm run test:chaos${level === ALL ? ' -- --all' : ''}`;
}
