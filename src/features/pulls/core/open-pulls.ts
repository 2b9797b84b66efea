import type { PullState, RunPull } from '../../../core/pulls/pull-state.ts';

/** The pull requests that people have not merged or closed, as far as the journal says. */
export function openPulls({ pulls = [] }: PullState): RunPull[] {
  return pulls.filter(({ ended }) => ended === undefined);
}

/** Forges limit the requests of an hour, and each pull request needs several. */
const READ_TOGETHER = 20;
/** Pull requests at which nothing has happened for an hour are read less often. */
const QUIET_FACTOR = 5;

/** How long to wait before `open` pull requests of a run are read again, in ms. `everyMs`: as configured. */
export function pauseBetweenReadings({
  everyMs,
  open,
  isQuiet,
}: {
  everyMs: number;
  open: number;
  isQuiet: boolean;
}): number {
  return everyMs * Math.max(1, Math.ceil(open / READ_TOGETHER)) * (isQuiet ? QUIET_FACTOR : 1);
}
