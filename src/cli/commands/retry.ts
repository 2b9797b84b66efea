import { addSettings, settingsFor, type SettingsFlags } from '../options/new-settings.ts';
import { controlCommand } from '../options/control-command.ts';

const HELP = `
Examples:
  halo retry 2dhe
  halo retry 2dhe --story US-002
  halo retry 2dhe --story US-002 --new-tests
  halo retry 2dhe -c budget.story_usd=5 -c limits.wall=90m

Settings apply from the next attempt on; the journal records who changed them.

Exit codes:
  0 retried    2 no such run or story    6 nothing to retry

See also: halo status, halo logs, halo resume`;

interface Flags extends SettingsFlags {
  newTests?: true;
}

export const define = controlCommand<Flags>({
  description:
    'Continues a run that has ended: stories that failed, were cancelled or need a human get new attempts; landed stories stay. The run keeps its settings: only -c changes them. With --story, retries one such story, also in an active run.',
  help: HELP,
  word: 'retried',
  options: (command) =>
    addSettings(command).option('--new-tests', 'discard the locked tests of tests first, and write new ones'),
  prepare: async (flags, cli) => {
    const settings = await settingsFor(flags, cli);
    const options = { ...settings, ...(flags.newTests && { newTests: true }) };
    return (operations, runId, story) => operations.retry(runId, story, options);
  },
});
