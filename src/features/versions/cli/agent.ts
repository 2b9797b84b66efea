import type { Cli, Define } from '../../../cli/cli.ts';
import { table, terminalColumns, type Cell } from '../../../cli/output/table.ts';
import { AGENT_PROGRAMS, agentImage, judgeVersion, PROGRAM_IDS, testedRange } from '../../../core/agent-program.ts';
import { HaloError } from '../../../core/failure/errors.ts';
import { safeLine } from '../../../core/text/safe-text.ts';
import type { UpdatedProgram } from '../api/versions.ts';
import { formatSize } from '../../../lib/units.ts';
import type { InstalledProgram, ProgramVersions } from '../core/version-list.ts';

interface Flags {
  json?: true;
}

export const define: Define = (command, cli) => {
  command
    .description('Lists, installs and chooses versions of the programs of agents, on this machine.')
    .addHelpText('after', HELP);
  command
    .command('ls')
    .summary('list versions of agents')
    .description(
      'Lists for each agent the version that runs use, that of halo’s image, those that are installed beside it with their sizes, the newest one of npm, and those that were tested with this version of halo. In use: pinned, or chosen by a run that has not ended.',
    )
    .option('--json', 'print the result as JSON')
    .addHelpText('after', LS_HELP)
    .action((flags: Flags) => list(flags, cli));
  command
    .command('update [agent]')
    .summary('install a version of an agent, or the newest of all')
    .description(
      'Installs the newest version of an agent, or of all, from the registry that npm is configured with, beside those that are there, and starts it once in a sandbox. Runs use it when they choose it, or after `halo agent pin`.',
    )
    .option('--to <version>', 'this version')
    .option('--json', 'print the result as JSON')
    .addHelpText('after', UPDATE_HELP)
    .action((agent: string | undefined, flags: UpdateFlags) => update(agent, flags, cli));
  command
    .command('pin <agent> [version]')
    .summary('choose the version of an agent that runs use')
    .description(
      'Writes agents.<agent>.version into config.toml of HALO_HOME: runs that are submitted afterwards use this version.',
    )
    .option('--off', 'use the version of halo’s image again')
    .addHelpText('after', PIN_HELP)
    .action((agent: string, version: string | undefined, flags: PinFlags) => pin(agent, version, flags, cli));
  command
    .command('rm <agent> <version>')
    .summary('remove a version of an agent')
    .description('Removes an installed version of an agent from this machine. One in use stays.')
    .addHelpText('after', REMOVE_HELP)
    .action((agent: string, version: string) => remove(agent, version, cli));
};

interface UpdateFlags extends Flags {
  to?: string;
}

interface PinFlags {
  off?: true;
}

const HELP = `
Examples:
  halo agent ls
  halo agent update codex
  halo agent pin codex 0.171.0

See also: halo doctor, halo models`;

const LS_HELP = `
Examples:
  halo agent ls
  halo agent ls --json | jq -r '.[] | .agent + " " + .runs'

See also: halo agent update, halo agent pin`;

const UPDATE_HELP = `
Examples:
  halo agent update
  halo agent update codex
  halo agent update codex --to 0.171.0

Exit codes:
  0 installed, or there already    2 no such agent or version
  5 npm, its registry or Docker cannot be used

See also: halo agent pin, halo image push`;

const PIN_HELP = `
Examples:
  halo agent pin codex 0.171.0
  halo agent pin codex --off
  halo run prd.json -c agents.codex.version=0.171.0

Exit codes:
  0 chosen    2 no such agent, or the version is not installed    6 config.toml is not valid

See also: halo agent ls, halo config show agents`;

const REMOVE_HELP = `
Examples:
  halo agent rm codex 0.170.0

Exit codes:
  0 removed    2 no such agent, or the version is not installed    6 the version is in use

See also: halo agent ls, halo agent pin`;

async function list({ json }: Flags, cli: Cli): Promise<void> {
  const { readVersions } = await import('../api/versions.ts');
  const versions = await readVersions(await cli.services.readHost());
  if (json) return cli.printJson(versions);
  const heading = ['AGENT', 'RUNS', 'IMAGE', 'INSTALLED', 'NEWEST', 'TESTED'].map((text) => ({ text }));
  const rows = [heading, ...versions.map(rowOf)];
  await cli.print(...table(rows, { paint: cli.paint, width: terminalColumns(cli) }));
  for (const each of versions) for (const line of notesOf(each)) await cli.note(line);
}

function rowOf({ agent, runs, pinned, ready, image, installed, newest, tested, judged }: ProgramVersions): Cell[] {
  const isWell = ready && judged === 'tested';
  return [
    { text: agent, tone: 'strong' },
    { text: `${runs ?? 'none'}${pinned ? ' (pinned)' : ''}`, ...(!isWell && { tone: 'warn' as const }) },
    { text: image ?? '-' },
    { text: installed.length === 0 ? '-' : installed.map(installedText).join(', ') },
    'version' in newest ? { text: safeLine(newest.version, 40) } : { text: 'unknown', tone: 'warn' },
    { text: tested.range },
  ];
}

function installedText({ version, bytes, pinned, usedBy }: InstalledProgram): string {
  return `${version} (${formatSize(bytes)}${pinned || usedBy.length > 0 ? ', in use' : ''})`;
}

function notesOf({ agent, runs, ready, pinned, newest, judged, tested }: ProgramVersions): string[] {
  const { title } = AGENT_PROGRAMS[agent];
  return [
    ...(runs === undefined ? ['halo-sandbox does not exist: run `halo image build`.'] : []),
    ...(runs !== undefined && !ready ? [`${title} ${runs} is pinned, but not installed: run \`halo agent update ${agent} --to ${runs}\`.`] : []), // prettier-ignore
    ...(judged === 'older' || judged === 'newer'
      ? [`${title} ${runs ?? ''}${pinned ? '' : ' of the image'} is ${judged} than what was tested (${tested.range}, ${tested.on}).`] // prettier-ignore
      : []),
    ...('why' in newest ? [newest.why] : []),
  ];
}

async function update(name: string | undefined, { to, json }: UpdateFlags, cli: Cli): Promise<void> {
  if (name === undefined && to !== undefined)
    throw new HaloError('USAGE', '--to needs an agent.', {
      hint: 'For example: `halo agent update codex --to 0.171.0`.',
    });
  const { requireProgram, updateProgram } = await import('../api/versions.ts');
  const host = await cli.services.readHost();
  const log = (line: string) => void cli.note(cli.paintErr('quiet', safeLine(line)));
  const updated: UpdatedProgram[] = [];
  for (const agent of name === undefined ? PROGRAM_IDS : [requireProgram(name)]) {
    const each = await updateProgram(host, agent, { to, log });
    updated.push(each);
    if (!json) await print(each, cli);
  }
  if (json) await cli.printJson(updated);
}

async function print({ agent, version, was, runs, engines }: UpdatedProgram, cli: Cli): Promise<void> {
  const { title } = AGENT_PROGRAMS[agent];
  const words = { installed: 'installed', image: 'in halo’s image', there: 'there already' };
  await cli.print(`${cli.paint('good', words[was])}  ${title} ${version}`);
  const judged = judgeVersion(agent, version);
  if (judged !== 'tested') await cli.note(`  It is ${judged} than what was tested: ${testedRange(agent)}.`);
  if (was === 'image') return;
  if (runs !== version)
    await cli.note(`  Runs use ${runs}. \`halo agent pin ${agent} ${version}\` chooses this one; a single run: \`-c agents.${agent}.version=${version}\`.`); // prettier-ignore
  for (const engine of engines)
    await cli.note(`  For the engine ${engine}: \`halo image push ${engine} ${agentImage(agent, version)}\`.`);
}

async function pin(name: string, version: string | undefined, { off }: PinFlags, cli: Cli): Promise<void> {
  if ((version === undefined) !== (off === true))
    throw new HaloError('USAGE', 'Name either a version or --off.', {
      hint: '`halo agent ls` lists what is installed.',
    });
  const { pinProgram, requireProgram } = await import('../api/versions.ts');
  const agent = requireProgram(name);
  await pinProgram(await cli.services.readHost(), agent, version);
  const { title } = AGENT_PROGRAMS[agent];
  await cli.print(
    `${cli.paint('good', version === undefined ? 'unpinned' : 'pinned')}  ${title} ${version ?? 'of halo’s image'}`,
  );
}

async function remove(name: string, version: string, cli: Cli): Promise<void> {
  const { removeProgram, requireProgram } = await import('../api/versions.ts');
  const agent = requireProgram(name);
  await removeProgram(await cli.services.readHost(), agent, version);
  await cli.print(`${cli.paint('good', 'removed')}  ${AGENT_PROGRAMS[agent].title} ${version}`);
}
