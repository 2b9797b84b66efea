import { resolve } from 'node:path';
import type { Operations, Submitted, SubmitOptions } from '../../api/operations.ts';
import { HaloError } from '../../core/failure/errors.ts';
import { parsePriority } from '../../core/run/priority.ts';
import { safeLine } from '../../core/safe-text.ts';
import type { Cli } from '../cli.ts';
import type { Define } from '../define.ts';
import { findUsualPrd, readPrd } from '../options/read-prd.ts';
import { addSettingOptions, ASK, collect, repoSource, settingsOf, type SettingFlags } from '../options/run-options.ts';

interface Flags extends SettingFlags {
  repo?: string[];
  batch?: string;
  priority?: number;
  after?: string[];
  key?: string;
  allowDirty?: true;
  fromHead?: true;
  json?: true;
}

export const define: Define = (command, cli) => {
  addSettingOptions(
    command
      .description(
        'Queues a PRD for one or more repositories and prints one run id per line. Everything is checked first: either all runs are queued or none. Workers (`halo worker`, `halo up`) execute them.',
      )
      .argument('[prd]', 'the PRD file, or - for stdin (default: the one in a usual place of the repository)')
      .option('--repo <repo>', 'path or URL of a repository, by default the one here (repeatable)', collect)
      .option('--batch <file>', 'the repositories of a batch file instead, each with its PRD')
      .option('--priority <n>', 'high, normal, low or a number; smaller goes first', parsePriority)
      .option('--after <runId>', 'start when that run ended with SUCCESS (repeatable)', collect)
      .option('--key <key>', 'make the runs once, however often this key is submitted'),
  )
    .option(...ASK)
    .option('--allow-dirty', 'accept uncommitted changes; they are not part of the run')
    .option('--from-head', 'start from the checked-out commit, even if it lacks stories that the PRD calls done')
    .option('--json', 'print the runs as JSON')
    .addHelpText('after', HELP)
    .action((prd: string | undefined, flags: Flags) => submit(prd, flags, cli));
};

const HELP = `
Examples:
  halo submit prd.json
  halo submit prd.json --repo ../shop --repo ../api --repo https://git.example.com/web.git
  id=$(halo submit prd.json) && halo logs "$id" -f
  halo submit ui.json --repo ../ui --after "$id" --priority high
  halo submit --batch batch.toml

Only run ids are written to stdout; everything else goes to stderr.

Exit codes:
  0 queued                  2 wrong usage
  5 something is missing    6 the PRD, the settings or a repository is not fit

See also: halo run, halo worker, halo status, halo batch`;

async function submit(file: string | undefined, flags: Flags, cli: Cli): Promise<void> {
  const work = await prepare(file, flags, cli);
  const runs = await cli.withOperations(work);
  if (flags.json) return cli.printJson(runs);
  // Runs that share a PRD share its warnings, too.
  const warnings = new Set(runs.flatMap((run) => run.warnings));
  for (const text of warnings) await cli.note(`${cli.paintErr('warn', 'warning:')} ${safeLine(text, 500)}`);
  for (const { runId, repo, unqueued } of runs)
    await cli.note(
      unqueued === undefined
        ? cli.paintErr('quiet', `queued ${runId} for ${safeLine(repo)}`)
        : `${cli.paintErr('warn', 'kept')} ${runId} for ${safeLine(repo)}, not queued yet: ${safeLine(unqueued, 300)} A worker queues it as soon as it can.`,
    );
  const batch = runs[0]?.batch;
  if (batch !== undefined) await cli.note(cli.paintErr('quiet', `halo batch ${batch} shows them together`));
  await cli.print(...runs.map(({ runId }) => runId));
}

/** Reads all files; what is asked of the operations then. */
async function prepare(
  file: string | undefined,
  flags: Flags,
  cli: Cli,
): Promise<(operations: Operations) => Promise<Submitted[]>> {
  const options: SubmitOptions = {
    profile: flags.profile,
    set: settingsOf(flags),
    allowDirty: flags.allowDirty === true,
    ...(flags.fromHead && { fromHead: true }),
    ...(flags.priority === undefined ? {} : { priority: flags.priority }),
    ...(flags.after === undefined ? {} : { after: flags.after }),
    ...(flags.key === undefined ? {} : { key: flags.key }),
  };
  if (flags.batch !== undefined) {
    if (file !== undefined || flags.repo !== undefined)
      throw new HaloError('USAGE', '--batch names repositories and PRDs: there is no room for others.', {
        hint: 'Leave out the PRD and --repo, or --batch.',
      });
    const members = await cli.services.readBatch(resolve(cli.cwd, flags.batch));
    return (operations) => operations.submitBatch({ ...options, members });
  }
  const repos = (flags.repo ?? ['.']).map((repo) => repoSource(cli.cwd, repo));
  const [repo = '', ...others] = repos;
  if (file === undefined && others.length > 0)
    throw new HaloError('USAGE', 'No PRD is named for these repositories.', {
      hint: 'Name one for all of them, as in `halo submit prd.json`, or one for each in a batch file (--batch).',
    });
  const prd = await readPrd(file ?? (await findUsualPrd(repo, cli)), cli);
  return (operations) => operations.submit({ ...options, prd, repos });
}
