import { controlCommand } from '../options/control-command.ts';

const HELP = `
Examples:
  halo cancel 2dhe
  halo cancel 2dhe --story US-002
  halo cancel --all --repo shop

Exit codes:
  0 cancelled    2 no such run or story    6 nothing to cancel

See also: halo pause, halo retry`;

export const define = controlCommand({
  description:
    'Cancels a run (stop reason USER_ABORT), on whatever machine it runs, or one of its stories. With --all, cancels all of your runs that have not ended, after a confirmation. Passed stories stay. When the command returns, nothing else of the run or story will land.',
  help: HELP,
  word: 'cancelled',
  all: { verb: 'cancel', select: () => ({ affects: () => true }) },
  prepare: () => (operations, runId, story) => operations.cancel({ runId, story }),
});
