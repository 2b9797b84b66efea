import { resolve } from 'node:path';
import { Command } from 'commander';
import type { PrdFile } from '../../core/prd/prd.ts';
import { HaloError } from '../../core/failure/errors.ts';
import { exitCodeOf, type StopReason } from '../../core/failure/stop-reason.ts';
import { defined } from '../../lib/guards.ts';
import { safeLine } from '../../core/text/safe-text.ts';
import type { Cli, Define } from '../cli.ts';
import type { ChosenSource } from '../options/story-source.ts';
import { addSourceOptions, chooseSource } from '../options/story-sources.ts';
import { reportRefusedRun } from '../run/report-refused-run.ts';
import { estimateLine, findEstimate } from '../prds/estimate-line.ts';
import { readPrd, resolveUsualPrd } from '../options/read-prd.ts';
import { findForeignStart, findRefusedRun, resumeHere, type RefusedStart } from '../run/resume-local.ts';
import { runHere, submitHere, type RunHere } from '../run/local-run.ts';
import {
  addSettingOptions,
  ASK,
  DRY_RUN,
  PROMPT_FILE,
  repoSource,
  settingsOf,
  STORY,
  type SettingFlags,
} from '../options/run-options.ts';

interface Flags extends SettingFlags {
  prd?: string;
  resume?: string;
  repo: string;
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
          'Runs a PRD against a git repository and follows it to the end; queue, worker and progress display are in this one process. Stories land on the branch halo/<runId>. Your checkout is not changed until `halo land`, except for the marks of passed stories in the PRD file.',
        )
        .argument(
          '[prd]',
          'the PRD file, folder of tasks or name, or - for stdin (default: prd.json or another default path, else the only named PRD)',
        )
        .option(
          '--prd <path>',
          'the same, for scripts: refused runs get a run directory; without a terminal, stdout contains only its path; a repository without gates is accepted',
        )
        .option('--resume <run>', 'continue a run, given by its directory or id, with the next unfinished story')
        .option('--repo <path>', 'the repository', '.'),
    ),
  )
    .option(...ASK)
    .option(...PROMPT_FILE)
    .option(...STORY)
    .option(...DRY_RUN)
    .option('--sandbox', 'changes nothing: agents always run in sandboxes')
    .option('--allow-dirty', 'accept uncommitted changes; they are not part of the run')
    .option('--from-head', 'start from the checked-out commit, even if it lacks stories that the PRD marks as done')
    .option('--json', 'print journal events as JSON, one per line')
    .addHelpText('after', HELP)
    .action((prd: string | undefined, flags: Flags) => run(prd, flags, cli));
};

const HELP = `
Examples:
  halo run prd.json
  halo run prd.json --repo ../shop -c retry.attempts=1
  halo run --prd prd.json --resume ~/.halo/runs/0tbq4m8k7xw2dhe
  halo run prd.json --story US-004 --story US-005
  halo run prd.json --dry-run
  halo run --source github:acme/shop
  halo run prd.json --json | jq -r 'select(.type == "story.ended") | .verdict'

At a terminal, Ctrl-C lets the running story finish and starts no other; a second
Ctrl-C stops it immediately. d leaves the run to the workers of this machine. Without
a terminal, Ctrl-C and SIGTERM stop the run immediately, progress is printed as plain
lines, and the last line is the run directory.

Exit codes:
  0 every story passed     1 infrastructure         2 wrong usage     3 no story can start
  4 needs a human          5 something is missing   6 cannot start    10 a story failed
  11 a story used up its attempts    12 some stories passed    130 stopped by Ctrl-C

See also: halo submit, halo status, halo land`;

async function run(given: string | undefined, flags: Flags, cli: Cli): Promise<void> {
  cli.sayWhenEnded(`stopped before the run ${flags.resume === undefined ? 'was created' : 'continued'}`);
  const json = flags.json === true;
  const repo = repoSource(cli.cwd, flags.repo);
  const source = chooseSource(flags, { 'a PRD': given, '--prd': flags.prd, '--resume': flags.resume });
  if (source !== undefined) return runSource(source, flags, { repo, cli });
  const { resume, ...others } = flags;
  const named = given ?? flags.prd;
  const foreign = resume === undefined ? undefined : await findForeignStart(resume, { prd: named, repo, cli });
  if (foreign !== undefined) {
    await cli.note(
      `${safeLine(resume ?? '')} is not a run of this HALO_HOME and is not continued; its PRD ${safeLine(foreign)} is started as a new run.`,
    );
    return run(undefined, { ...others, prd: foreign }, cli);
  }
  const file = await choosePrd(given, flags, { repo, cli });
  const refused = flags.resume === undefined ? undefined : await findRefusedRun(flags.resume, cli);
  if (refused !== undefined) return runAgain(refused, flags, cli);
  const set = settingsOf(flags);
  let prd: PrdFile | undefined;
  let begun = false;
  const how: RunHere<StopReason | undefined> = {
    cli,
    json,
    asks: flags.askForApproval === true && !json,
    gentle: true,
    quiet: flags.prd !== undefined,
    begin: () => Promise.resolve(void (begun = true)),
    finish: ({ end }) => Promise.resolve(end),
  };
  try {
    prd = file === undefined ? undefined : await readPrd(file, cli);
    const allowDirty = flags.allowDirty === true;
    const fromHead = flags.fromHead && { fromHead: true };
    const { story: stories, dryRun } = flags;
    const request = {
      repos: [repo],
      profile: flags.profile,
      set,
      allowDirty,
      ...fromHead,
      ...defined({ stories, dryRun }),
    };
    if (dryRun && prd !== undefined && stories === undefined && !json) {
      const estimate = await findEstimate({ prd, repo, flags }, cli);
      if (estimate !== undefined) await cli.note(estimateLine(estimate));
    }
    const end = await (prd === undefined || flags.resume !== undefined
      ? resumeHere({ run: flags.resume ?? '', prd, repo, allowDirty }, how)
      : runHere({ ...request, prd, ...(flags.prd !== undefined && { withoutGates: true }) }, how));
    cli.exitCode = exitCodeOf(end ?? 'USER_ABORT');
  } catch (error) {
    const prdPath = prd?.path ?? (file === undefined || file === '-' ? '-' : resolve(cli.cwd, file));
    const asked = { repo, prdPath, prd, profile: flags.profile, set };
    if (flags.prd !== undefined && !begun) await reportRefusedRun(error, asked, cli, json);
    throw error;
  }
}

/** Starts a refused run as a new one: with its arguments, its repository, and its PRD or the given one. */
async function runAgain({ state, args }: RefusedStart, { prd, json }: Flags, cli: Cli): Promise<void> {
  await cli.note(`Run ${state.runId} was refused before it started; it is started as a new run.`);
  const command = new Command('run').exitOverride();
  define(command, cli);
  const words = [...args.slice(1), '--prd', resolve(cli.cwd, prd ?? state.prdPath), '--repo', state.repo.source];
  await command.parseAsync(json ? [...words, '--json'] : words, { from: 'user' });
}

/** Runs stories that do not come from a PRD. */
async function runSource(source: ChosenSource, flags: Flags, { repo, cli }: { repo: string; cli: Cli }): Promise<void> {
  const { profile, allowDirty = false, fromHead, story: stories, dryRun } = flags;
  const options = { repo, profile, set: settingsOf(flags), allowDirty, ...defined({ fromHead, stories, dryRun }) };
  const json = flags.json === true;
  const end = await submitHere((operations) => source.submit(operations, options), {
    cli,
    json,
    asks: flags.askForApproval === true && !json,
    gentle: true,
    finish: ({ end }) => Promise.resolve(end),
  });
  cli.exitCode = exitCodeOf(end ?? 'USER_ABORT');
}

/** The PRD file; undefined for a resumed run that keeps its PRD. Throws USAGE for options that exclude each other. */
async function choosePrd(
  given: string | undefined,
  flags: Flags,
  { repo, cli }: { repo: string; cli: Cli },
): Promise<string | undefined> {
  if (given !== undefined && flags.prd !== undefined) {
    throw new HaloError('USAGE', `Two PRDs are given: ${given} and ${flags.prd}.`, {
      hint: 'Name one of them; --sandbox and --ask-for-approval take no value.',
    });
  }
  const file = given ?? flags.prd;
  if (flags.resume === undefined) {
    return file ?? resolveUsualPrd(repo, cli);
  }
  const own = flags.story !== undefined ? '--story' : flags.dryRun ? '--dry-run' : undefined;
  if (own !== undefined) {
    throw new HaloError(
      'USAGE',
      `A resumed run keeps its stories and its kind; ${own} cannot be given with --resume.`,
      {
        hint: `Remove ${own}, or start a new run.`,
      },
    );
  }
  if (flags.profile !== undefined || settingsOf(flags).length > 0) {
    throw new HaloError('USAGE', 'A resumed run keeps its settings; none can be given with --resume.', {
      hint: 'Remove --agent, --profile, --prompt, -c and --ask-for-approval, or start a new run.',
    });
  }
  return file;
}
