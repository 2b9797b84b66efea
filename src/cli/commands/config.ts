import { resolve } from 'node:path';
import type { Cli, Define } from '../cli.ts';
import { addSettingOptions, settingsOf, type SettingFlags } from '../options/run-options.ts';

interface Flags extends SettingFlags {
  repo: string;
  changed?: true;
  json?: true;
}

export const define: Define = (command, cli) => {
  command.description('Shows settings and where they come from.').addHelpText('after', HELP);
  const show = command
    .command('show')
    .summary('print each setting and its origin')
    .description(
      'Prints every setting with its value and its origin: default, file, profile, environment variable or option. Later origins override earlier ones.',
    )
    .argument('[key]', 'only this key or table, e.g. retry')
    .option('--changed', 'only settings that differ from the default')
    .option('--repo <path>', 'the repository', '.');
  addSettingOptions(show)
    .option('--json', 'print the result as JSON')
    .addHelpText('after', SHOW_HELP)
    .action((key: string | undefined, flags: Flags) => showSettings(key, flags, cli));
};

const HELP = `
Examples:
  halo config show

See also: halo init`;

const SHOW_HELP = `
Examples:
  halo config show
  halo config show --changed
  halo config show retry
  halo config show --profile ci -c retry.attempts=1
  halo config show --json | jq -r '."limits.memory".value'

See also: halo init, halo run`;

async function showSettings(name: string | undefined, flags: Flags, cli: Cli): Promise<void> {
  const folder = resolve(cli.cwd, flags.repo);
  const { profile, changed } = flags;
  const [{ readConfig }, { filterSettings, formatConfig, formatConfigJson }] = await Promise.all([
    import('../../api/repository/repo-config.ts'),
    import('../../config/output/format-config.ts'),
  ]);
  const read = await readConfig({ host: await cli.services.readHost(), folder, profile, set: settingsOf(flags) });
  const settings = filterSettings(read.settings, { name, changed });
  if (flags.json) return cli.printJson(formatConfigJson(settings));
  const text = formatConfig(settings);
  if (cli.terminal.shown) return cli.write(text);
  await cli.writeExactly(Buffer.from(text));
}
