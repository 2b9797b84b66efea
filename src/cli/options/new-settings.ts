import type { Command } from 'commander';
import type { NewSettings } from '../../api/operations/requests.ts';
import { parseAmendedKeys, findKeysNeedingApproval } from '../../config/amend.ts';
import { HaloError } from '../../core/failure/errors.ts';
import { safeLine } from '../../core/text/safe-text.ts';
import { askPerson } from '../run/run-until-signal.ts';
import type { Cli } from '../cli.ts';
import { collect } from './run-options.ts';

export interface SettingsFlags {
  config?: string[];
  yes?: true;
}

/** Adds the options that change the settings of an existing run. */
export function addSettings(command: Command, yes = 'change gates or image without being asked'): Command {
  return command
    .option(
      '-c, --config <key=value>',
      'change a key of limits, budget or retry, model.name, model.effort, tests.broken_base, gates or image (repeatable)',
      collect,
    )
    .option('-y, --yes', yes);
}

/** The settings of the flags, after the user has confirmed them if necessary. Throws USAGE, CONFIG_INVALID. */
export async function settingsFor({ config: set, yes }: SettingsFlags, cli: Cli): Promise<NewSettings> {
  if (set === undefined) return {};
  const proving = findKeysNeedingApproval(parseAmendedKeys(set));
  if (proving.length === 0 || yes) return { set, ...(yes && { yes }) };
  const what = proving.join(' and ');
  if (cli.ask !== undefined) {
    await cli.note(...set.map((setting) => `  ${safeLine(setting, 500)}`));
    const answer = await askPerson(
      `This changes the checks that stories must pass (${what}). Continue? [y]es, anything else: no  `,
      cli,
    );
    if (answer === 'y' || answer === 'yes') return { set, yes: true };
  }
  throw new HaloError('USAGE', `Nothing was changed: ${what} needs confirmation.`, {
    hint: 'Confirm the change with --yes.',
  });
}
