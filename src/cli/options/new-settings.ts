import type { Command } from 'commander';
import type { NewSettings } from '../../api/operations.ts';
import { amendedKeys, provingKeys } from '../../config/amend.ts';
import { HaloError } from '../../core/failure/errors.ts';
import { safeLine } from '../../core/safe-text.ts';
import { askPerson } from '../ask-person.ts';
import type { Cli } from '../cli.ts';
import { collect } from './run-options.ts';

export interface SettingsFlags {
  config?: string[];
  yes?: true;
}

/** Adds the options by which a run that is there gets other settings. */
export function addSettings(command: Command): Command {
  return command
    .option(
      '-c, --config <key=value>',
      'change a limit, budget, retry, model.name, gates or image (repeatable)',
      collect,
    )
    .option('-y, --yes', 'say yes to other gates or another image without being asked');
}

/** The settings of the flags, once the person at the terminal has said yes where one is needed. Throws USAGE, CONFIG_INVALID. */
export async function settingsFor({ config: set, yes }: SettingsFlags, cli: Cli): Promise<NewSettings> {
  if (set === undefined) return {};
  const proving = provingKeys(amendedKeys(set));
  if (proving.length === 0 || yes) return { set, ...(yes && { yes }) };
  const what = proving.join(' and ');
  if (cli.ask !== undefined) {
    await cli.note(...set.map((setting) => `  ${safeLine(setting, 500)}`));
    const answer = await askPerson(`${what} decide what proves the stories. Change? [y]es, anything else: no  `, cli);
    if (answer === 'y' || answer === 'yes') return { set, yes: true };
  }
  throw new HaloError('USAGE', `The run is as it was: ${what} decide what proves its stories.`, {
    hint: 'Say yes to the change with --yes.',
  });
}
