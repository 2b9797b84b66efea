import { steeringCommand } from '../steering-command.ts';

const HELP = `
Examples:
  halo cancel 2dhe
  halo cancel 2dhe --story US-002

Exit codes:
  0 cancelled    2 no such run or story    6 there is nothing to cancel

See also: halo pause, halo retry`;

export const define = steeringCommand({
  description:
    'Ends a run with USER_ABORT wherever it is worked on, or takes one story out of a run that goes on. What landed before stays; when this returns, nothing of it lands any more.',
  help: HELP,
  word: 'cancelled',
  prepare: () => (operations, runId, story) => operations.cancel(runId, story),
});
