import { resolve } from 'node:path';
import type { Cli } from '../cli.ts';
import type { Define } from '../define.ts';
import { addSettingOptions, settingsOf, type SettingFlags } from '../run-options.ts';

interface Flags extends SettingFlags {
  repo: string;
  json?: true;
}

export const define: Define = (command, cli) => {
  command.description('The settings that decide how runs go.').addHelpText('after', HELP);
  const show = command
    .command('show')
    .summary('print each setting and who set it')
    .description(
      'Prints every setting with its value and its origin: default, file, profile, environment variable or option. Later ones win.',
    )
    .helpOption('-h, --help', 'show help')
    .option('--repo <path>', 'the repository', '.');
  addSettingOptions(show)
    .option('--json', 'print the same as JSON')
    .addHelpText('after', SHOW_HELP)
    .action((flags: Flags) => showSettings(flags, cli));
};

const HELP = `
Examples:
  halo config show

See also: halo init`;

const SHOW_HELP = `
Examples:
  halo config show
  halo config show --profile ci -c retry.attempts=1
  halo config show --json | jq -r '."limits.memory".value'

See also: halo init, halo run`;

async function showSettings(flags: Flags, cli: Cli): Promise<void> {
  const folder = resolve(cli.cwd, flags.repo);
  const shown = await cli.services.readConfig({ folder, profile: flags.profile, set: settingsOf(flags) });
  if (flags.json) return cli.printJson(shown.json);
  if (cli.terminal.shown) return cli.write(shown.text);
  await cli.writeExactly(Buffer.from(shown.text));
}
