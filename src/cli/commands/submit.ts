import { resolve } from 'node:path';
import type { Submitted, SubmitOptions } from '../../api/operations/schemas.ts';
import type { Operations } from '../../api/operations.ts';
import { HaloError } from '../../core/failure/errors.ts';
import { parsePriority } from '../../core/run/priority.ts';
import { safeLine } from '../../core/text/safe-text.ts';
import type { Cli, Define } from '../cli.ts';
import { addSourceOptions, chooseSource } from '../options/story-sources.ts';
import type { PrdFile } from '../../core/prd/prd.ts';
import { estimateLine, findEstimate } from '../prds/estimate-line.ts';
import { readPrd, resolveUsualPrd } from '../options/read-prd.ts';
import {
  addSettingOptions,
  ASK,
  collect,
  DRY_RUN,
  PROMPT_FILE,
  repoSource,
  settingsOf,
  STORY,
  type SettingFlags,
} from '../options/run-options.ts';
import { defined } from '../../lib/guards.ts';

interface Flags extends SettingFlags {
  repo?: string[];
  batch?: string;
  priority?: number;
  after?: string[];
  key?: string;
  allowDirty?: true;
  story?: string[];
  dryRun?: true;
  fromHead?: true;
  json?: true;
}

export const define: Define = (command, cli) => {
  addSourceOptions(
    addSettingOptions(
      command
        .description(
          'Queues a PRD for one or more repositories and prints one run id per line. All input is validated first: either all runs are queued or none. Workers (`halo worker`, `halo up`) execute them.',
        )
        .argument(
          '[prd]',
          'the PRD file, folder of tasks or name, or - for stdin (default: prd.json or another default path, else the only named PRD)',
        )
        .option('--repo <repo>', 'path or URL of a repository (repeatable; default: the current one)', collect)
        .option('--batch <file>', 'a batch file with repositories and their PRDs, instead of [prd] and --repo')
        .option('--priority <n>', 'high, normal, low or a number from -1000 to 1000; smaller runs first', parsePriority)
        .option('--after <runId>', 'start after that run has ended with SUCCESS (repeatable)', collect)
        .option('--key <key>', 'idempotency key: a second submit with this key returns the runs of the first'),
    ),
  )
    .option(...ASK)
    .option(...PROMPT_FILE)
    .option(...STORY)
    .option(...DRY_RUN)
    .option('--allow-dirty', 'accept uncommitted changes; they are not part of the run')
    .option('--from-head', 'start from the checked-out commit, even if it lacks stories that the PRD marks as done')
    .option('--json', 'print the runs as JSON, with repository, batch and warnings')
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
  halo submit --source github:acme/shop --label halo

Only run ids are written to stdout; everything else goes to stderr.

Exit codes:
  0 queued                   2 wrong usage
  3 no issue is left         5 something is missing
  6 the PRD, the settings or a repository is invalid

See also: halo run, halo worker, halo status, halo batch`;

async function submit(file: string | undefined, flags: Flags, cli: Cli): Promise<void> {
  cli.sayWhenEnded('stopped; `halo ls` lists the runs that were submitted');
  const { submit: work, whole } = await prepare(file, flags, cli);
  // A dry run is a look before the run itself.
  const isLook = flags.dryRun === true && flags.story === undefined;
  const estimate = isLook && whole !== undefined ? await findEstimate({ ...whole, flags }, cli) : undefined;
  const { runs } = await cli.withOperations(work);
  if (flags.json) return cli.printJson(runs.map((run) => ({ ...run, ...defined({ estimate }) })));
  if (estimate !== undefined) await cli.note(estimateLine(estimate));
  // Runs with the same PRD also share its warnings.
  const warnings = new Set(runs.flatMap((run) => run.warnings));
  for (const text of warnings) await cli.note(`${cli.paintErr('warn', 'warning:')} ${safeLine(text, 500)}`);
  for (const { runId, repo, unqueued } of runs)
    await cli.note(
      unqueued === undefined
        ? cli.paintErr('quiet', `queued ${runId} for ${safeLine(repo)}`)
        : `${cli.paintErr('warn', 'saved')} ${runId} for ${safeLine(repo)}, not queued yet: ${safeLine(unqueued, 300)} A worker will queue it as soon as possible.`,
    );
  const batch = runs[0]?.batch;
  if (batch !== undefined) await cli.note(cli.paintErr('quiet', `halo batch ${batch} shows them together`));
  await cli.print(...runs.map(({ runId }) => runId));
}

interface Prepared {
  submit: (operations: Operations) => Promise<{ runs: Submitted[] }>;
  /** The PRD, if there is one for one repository. */
  whole?: { prd: PrdFile; repo: string };
}

/** Reads all files, then returns the function that submits them. */
async function prepare(file: string | undefined, flags: Flags, cli: Cli): Promise<Prepared> {
  const options: SubmitOptions = {
    profile: flags.profile,
    set: settingsOf(flags),
    allowDirty: flags.allowDirty === true,
    ...(flags.fromHead && { fromHead: true }),
    ...defined({
      priority: flags.priority,
      after: flags.after,
      key: flags.key,
      stories: flags.story,
      dryRun: flags.dryRun,
    }),
  };
  const several = (flags.repo?.length ?? 0) > 1 ? flags.repo : undefined;
  const source = chooseSource(flags, { 'a PRD': file, '--batch': flags.batch, 'several repositories': several });
  if (source !== undefined) {
    const repo = repoSource(cli.cwd, flags.repo?.[0] ?? '.');
    return { submit: (operations) => source.submit(operations, { ...options, repo }) };
  }
  if (flags.batch !== undefined) {
    if (file !== undefined || flags.repo !== undefined)
      throw new HaloError('USAGE', '--batch cannot be combined with a PRD or --repo.', {
        hint: 'Remove the PRD and --repo, or --batch.',
      });
    const { readBatch } = await import('../../api/submit/batch-file.ts');
    const members = await readBatch(resolve(cli.cwd, flags.batch));
    return { submit: (operations) => operations.submitBatch({ ...options, members }) };
  }
  const repos = (flags.repo ?? ['.']).map((repo) => repoSource(cli.cwd, repo));
  const [repo = '', ...others] = repos;
  if (file === undefined && others.length > 0)
    throw new HaloError('USAGE', 'Several repositories need a PRD.', {
      hint: 'Name one PRD for all of them, as in `halo submit prd.json`, or one for each in a batch file (--batch).',
    });
  const prd = await readPrd(file ?? (await resolveUsualPrd(repo, cli)), cli);
  const submit = (operations: Operations) => operations.submit({ ...options, prd, repos });
  return { submit, ...(others.length === 0 && { whole: { prd, repo } }) };
}
