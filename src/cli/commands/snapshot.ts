import { ageText } from '../../view/ages.ts';
import { resolve } from 'node:path';
import { exitCodeOf } from '../../core/failure/stop-reason.ts';
import { openSafeStream } from '../../core/text/safe-stream.ts';
import { LOCAL_ENGINE } from '../../core/engine/engine-address.ts';
import { safeLine } from '../../core/text/safe-text.ts';
import { HaloError } from '../../core/failure/errors.ts';
import { formatSize } from '../../lib/units.ts';
import type { Cli, Define } from '../cli.ts';
import { collect } from '../options/run-options.ts';
import { stoppable } from '../run/run-until-signal.ts';
import { table, terminalColumns, type Cell } from '../output/table.ts';

export const define: Define = (command, cli) => {
  command
    .description(
      'Lists, builds and removes snapshots: what setup installed, kept so that the next story starts with it.',
    )
    .addHelpText('after', HELP);
  command
    .command('ls')
    .summary('list snapshots')
    .description('Lists the snapshots of all repositories, the last used first, with their sizes.')
    .option('--json', 'print the result as JSON')
    .addHelpText('after', LIST_HELP)
    .action((flags: { json?: true }) => list(flags, cli));
  command
    .command('build')
    .summary('make the snapshot of a checkout')
    .description(
      'Runs setup on the checked-out commit, and keeps the result, so that the first story does not wait for it. Does nothing if the snapshot exists.',
    )
    .option('-C, --repo <path>', 'the repository', '.')
    .option('--profile <name>', 'use [profiles.<name>] of the configuration')
    .option('-c, --config <key=value>', 'override one setting (repeatable)', collect)
    .option('--json', 'print the result as JSON')
    .addHelpText('after', BUILD_HELP)
    .action((flags: BuildFlags) => build(flags, cli));
  command
    .command('rm')
    .summary('remove snapshots')
    .description('Removes snapshots and their volumes. Setup runs again for the next story. Those in use stay.')
    .argument('[keys...]', 'beginnings of keys of `halo snapshot ls`')
    .option('--all', 'remove all snapshots')
    .option('--json', 'print the result as JSON')
    .addHelpText('after', REMOVE_HELP)
    .action((keys: string[], flags: { all?: true; json?: true }) => remove(keys, flags, cli));
};

const HELP = `
Examples:
  halo snapshot ls
  halo snapshot build
  halo snapshot rm --all

See also: halo doctor, halo config`;

const LIST_HELP = `
Examples:
  halo snapshot ls
  halo snapshot ls --json | jq 'map(.bytes) | add'

See also: halo snapshot rm`;

const BUILD_HELP = `
Examples:
  halo snapshot build
  halo snapshot build -C ../shop --json

Exit codes:
  0 built, or there already    5 Docker or an image is missing
  6 no repository, no setup or an invalid configuration
  10 setup failed, or its result cannot be a snapshot    130 stopped by Ctrl-C

See also: halo snapshot ls, halo check`;

const REMOVE_HELP = `
Examples:
  halo snapshot rm 042fe174
  halo snapshot rm --all

Exit codes:
  0 removed    2 no such snapshot

See also: halo snapshot ls`;

const KEY_LENGTH = 12;

async function list({ json }: { json?: true }, cli: Cli): Promise<void> {
  const { snapshots } = await cli.withOperations((operations) => operations.listSnapshots());
  if (json) return cli.printJson(snapshots);
  if (snapshots.length === 0) return cli.note('There are no snapshots.');
  const several = snapshots.some(({ engine }) => engine !== null && engine !== LOCAL_ENGINE);
  const columns = ['KEY', 'REPOSITORY', ...(several ? ['ENGINE'] : []), 'SIZE', 'FILES', 'USED', 'SETUP'];
  const heading = columns.map((text) => ({ text }));
  const now = new Date().toISOString();
  const rows = snapshots.map(({ key, repo, engine, state, bytes, files, usedAt, setup, reason }): Cell[] => [
    { text: key.slice(0, KEY_LENGTH), tone: 'strong' },
    { text: safeLine(repo) },
    ...(several ? [{ text: safeLine(engine ?? '-') }] : []),
    { text: state === 'ready' ? formatSize(bytes) : '-' },
    { text: state === 'ready' ? String(files) : '-' },
    { text: ageText(usedAt, now) },
    { text: safeLine(reason === null ? setup.join(' && ') : `none: ${reason}`) },
  ]);
  await cli.print(...table([heading, ...rows], { paint: cli.paint, width: terminalColumns(cli) }));
  const reasons = new Map(snapshots.map(({ repo, wholeTree }) => [`${repo}: ${wholeTree}`, wholeTree]));
  for (const [reason] of [...reasons].filter(([, wholeTree]) => wholeTree !== null))
    await cli.note(`! each change of a file needs another snapshot of ${safeLine(reason, 300)}; see snapshot.inputs`);
}

interface BuildFlags {
  repo: string;
  profile?: string;
  config?: string[];
  json?: true;
}

async function build({ repo, profile, config = [], json }: BuildFlags, cli: Cli): Promise<void> {
  const output = openSafeStream();
  const onOutput = async (bytes: Uint8Array) => {
    if (!json) await cli.write(output.write(bytes));
  };
  const folder = resolve(cli.cwd, repo);
  const [host, { buildRepositorySnapshot }] = await Promise.all([
    cli.services.readHost(),
    import('../../api/snapshots/build-repository-snapshot.ts'),
  ]);
  const built = await stoppable(cli, (signal) =>
    buildRepositorySnapshot(host, { folder, profile, set: config, signal, onOutput }),
  );
  const { state, key, reason } = built;
  if (state === 'refused' || state === 'failed') cli.exitCode = exitCodeOf('GATE_FAILED');
  if (json) return cli.printJson(built);
  const rest = output.end();
  if (rest !== '') await cli.write(rest.endsWith('\n') ? rest : `${rest}\n`);
  const id = key?.slice(0, KEY_LENGTH) ?? '';
  if (state === 'built') return cli.print(`${cli.paint('good', 'built')}    ${id}`);
  if (state === 'present') return cli.print(`${cli.paint('good', 'present')}  ${id}`);
  const word = cli.paint('bad', state === 'failed' ? 'failed' : 'no snapshot');
  return cli.print(`${word}  ${safeLine(reason ?? '', 1000)}`);
}

async function remove(keys: string[], { all, json }: { all?: true; json?: true }, cli: Cli): Promise<void> {
  if ((keys.length === 0) === (all === undefined)) {
    throw new HaloError('USAGE', 'halo snapshot rm needs keys, or --all.', {
      hint: 'Run `halo snapshot ls` for the keys.',
    });
  }
  const done = await cli.withOperations((operations) => operations.removeSnapshots({ keys }));
  if (json) return cli.printJson(done);
  for (const key of done.removed) await cli.print(`${cli.paint('good', 'removed')}  ${key.slice(0, KEY_LENGTH)}`);
  for (const key of done.inUse) await cli.print(`${cli.paint('warn', 'in use')}   ${key.slice(0, KEY_LENGTH)}`);
  if (done.removed.length + done.inUse.length === 0) await cli.note('There are no snapshots.');
}
