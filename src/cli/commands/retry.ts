import { addSettings, settingsFor, type SettingsFlags } from '../options/new-settings.ts';
import { steeringCommand } from '../steering-command.ts';

const HELP = `
Examples:
  halo retry 2dhe
  halo retry 2dhe --story US-002
  halo retry 2dhe -c budget.story_usd=5 -c limits.wall=90m

Settings count from the next attempt on; the journal keeps who changed them.

Exit codes:
  0 it goes on    2 no such run or story    6 there is nothing to retry

See also: halo status, halo logs, halo resume`;

export const define = steeringCommand<SettingsFlags>({
  description:
    'Lets a run that ended go on: what failed, was cancelled or asked for a person is done anew with fresh attempts, what landed stays. Or only one such story, also of a run that is going on.',
  help: HELP,
  word: 'retried',
  options: addSettings,
  prepare: async (flags, cli) => {
    const settings = await settingsFor(flags, cli);
    return (operations, runId, story) => operations.retry(runId, story, settings);
  },
});
