import { FAILPOINTS, type Failpoint } from '../../../src/core/failure/failpoint-names.ts';

const ALL = Object.keys(FAILPOINTS) as Failpoint[];

/** Where the command of a person comes by, in this order. */
export const COMMAND_POINTS = ALL.filter((at) => /^(submit|command)\./.test(at));
/** Where a worker comes by with stories that begin with their tests. */
export const TESTS_POINTS = ALL.filter((at) => /^(tests|red|refactor)\./.test(at));
/** Where a worker comes by when a change is reviewed. */
export const REVIEW_POINTS = ALL.filter((at) => at.startsWith('review.'));
/** Where a worker comes by when it makes a snapshot. */
export const SNAPSHOT_POINTS = ALL.filter((at) => at.startsWith('snapshot.'));
/** Where `halo prune` comes by. */
export const PRUNE_POINTS = ALL.filter((at) => at.startsWith('prune.'));
/** Where `halo backup` and `halo restore` come by. */
export const BACKUP_POINTS = ALL.filter((at) => /^(backup|restore)\./.test(at));
/** Where a worker comes by when it reports to an issue. */
export const REPORT_POINTS = ALL.filter((at) => at.startsWith('report.'));
/** Where a worker comes by with any story. */
export const WORKER_POINTS = ALL.filter(
  (at) =>
    ![
      ...[COMMAND_POINTS, TESTS_POINTS, REVIEW_POINTS, SNAPSHOT_POINTS],
      ...[PRUNE_POINTS, BACKUP_POINTS, REPORT_POINTS],
    ].some((points) => points.includes(at)),
);
/** Where a worker comes by while it works on a story: at the others, no engine is in use. */
export const ENGINE_POINTS = ALL.filter((at) =>
  [...WORKER_POINTS, ...TESTS_POINTS, ...REVIEW_POINTS, ...SNAPSHOT_POINTS].includes(at),
);
/** Some of them: where calls of an engine follow, and where an attempt leaves it. */
export const ENGINE_SAMPLE: readonly Failpoint[] = ['prepare.after', 'gates.before', 'close.before'];
