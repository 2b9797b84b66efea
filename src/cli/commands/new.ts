import { relative, resolve } from 'node:path';
import { Option } from 'commander';
import { AGENT_IDS } from '../../core/agent.ts';
import { printableShellWord, safeLine } from '../../core/text/safe-text.ts';
import type { Cli, Define } from '../cli.ts';

export const define: Define = (command, cli) => {
  command
    .description(
      'Creates a folder with a new git repository: halo.toml, an example PRD, a small program with a test, and the first commit. The folder must not exist, or must be empty. Edit prd.json, or run the example as it is.',
    )
    .argument('<folder>', 'the folder to create')
    .addOption(new Option('--agent <name>', 'the agent in halo.toml').choices(AGENT_IDS).default('codex'))
    .addHelpText('after', HELP)
    .action((folder: string, flags: { agent: string }) => create(folder, flags.agent, cli));
};

const HELP = `
Examples:
  halo new shop
  halo new shop --agent claude && cd shop && halo run

Exit codes:
  0 created    2 the folder exists and is not empty

See also: halo init, halo check, halo run`;

async function create(name: string, agent: string, cli: Cli): Promise<void> {
  const folder = resolve(cli.cwd, name);
  const { createProject } = await import('../../api/repository/new-project.ts');
  const { files } = await createProject({ folder, agent });
  await cli.print(`${cli.paint('good', 'created')}  ${safeLine(folder, 500)}`);
  await cli.print(`files    ${files.join(', ')}`);
  const to = printableShellWord(relative(cli.cwd, folder) || '.');
  await cli.note('', `next     cd ${to} && halo check`, `         halo run`);
}
