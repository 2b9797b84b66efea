/** How much of the suite runs: `npm test` the lean part, `npm run test:chaos` the rest, `-- --all` also what takes long. */
export const LEVEL = ['lean', 'full', 'all'].indexOf(process.env.HALO_CHAOS_LEVEL ?? 'lean');
export const FULL = 1;
export const ALL = 2;
