import { resolve } from 'node:path';
import type { PrdBytes } from '../../api/operations.ts';
import { HaloError } from '../../core/failure/errors.ts';
import { exitCodeOf, type StopReason } from '../../core/failure/stop-reason.ts';
import type { Cli } from '../cli.ts';
import type { Define } from '../define.ts';
import { keepRefusal } from '../keep-refusal.ts';
import { findUsualPrd, readPrd } from '../options/read-prd.ts';
import { resumeHere } from '../run/resume-local.ts';
import { runHere, type RunHere } from '../run/local-run.ts';
import { addSettingOptions, ASK, repoSource, settingsOf, type SettingFlags } from '../options/run-options.ts';

interface Flags extends SettingFlags {
  prd?: string;
  resume?: string;
  repo: string;
  allowDirty?: true;
  fromHead?: true;
  json?: true;
}

export const define: Define = (command, cli) => {
  addSettingOptions(
    command
      .description(
        'Runs a PRD against a git repository and follows it to its end: queue, worker and progress in this one process. What lands is on the branch halo/<runId>; your checkout stays untouched until `halo land`, but for the marks of landed stories in the PRD file.',
      )
      .argument('[prd]', 'the PRD file, or - for stdin (default: the one in a usual place of the repository)')
      .option('--prd <path>', 'the same; a run that is refused leaves a run directory, too')
      .option('--resume <run>', 'go on with a run: its directory, or its id')
      .option('--repo <path>', 'the repository', '.'),
  )
    .option(...ASK)
    .option('--sandbox', 'run agents in sandboxes, as halo always does')
    .option('--allow-dirty', 'accept uncommitted changes; they are not part of the run')
    .option('--from-head', 'start from the checked-out commit, even if it lacks stories that the PRD calls done')
    .option('--json', 'print one journal event per line, for machines')
    .addHelpText('after', HELP)
    .action((prd: string | undefined, flags: Flags) => run(prd, flags, cli));
};

const HELP = `
Examples:
  halo run prd.json
  halo run prd.json --repo ../shop -c retry.attempts=1
  halo run --prd prd.json --resume ~/.halo/runs/0tbq4m8k7xw2dhe
  halo run prd.json --json | jq -r 'select(.type == "story.ended") | .verdict'

Ctrl-C at a terminal: no other story starts, the one under way comes to its end. A
second one stops it now. d leaves the run to the workers of this machine. Without a
terminal, Ctrl-C and SIGTERM stop the run at once, progress comes as plain lines, and
the run directory is the last of them.

Exit codes:
  0 every story landed     4 needs a person     5 something is missing    6 cannot start
  10 a story failed        11 ... in each of its attempts                 12 some landed
  2 wrong usage            130 stopped by Ctrl-C                          1 infrastructure

See also: halo submit, halo status, halo land`;

async function run(given: string | undefined, flags: Flags, cli: Cli): Promise<void> {
  const json = flags.json === true;
  const repo = repoSource(cli.cwd, flags.repo);
  const file = await choosePrd(given, flags, { repo, cli });
  const set = settingsOf(flags);
  let prd: PrdBytes | undefined;
  let begun = false;
  const how: RunHere<StopReason | undefined> = {
    cli,
    json,
    asks: flags.askForApproval === true && !json,
    gentle: true,
    begin: () => Promise.resolve(void (begun = true)),
    finish: ({ end }) => Promise.resolve(end),
  };
  try {
    prd = file === undefined ? undefined : await readPrd(file, cli);
    const end = await (prd === undefined || flags.resume !== undefined
      ? resumeHere({ run: flags.resume ?? '', prd, repo, allowDirty: flags.allowDirty === true }, how)
      : runHere(
          {
            prd,
            repos: [repo],
            profile: flags.profile,
            set,
            allowDirty: flags.allowDirty === true,
            ...(flags.fromHead && { fromHead: true }),
          },
          how,
        ));
    cli.exitCode = exitCodeOf(end ?? 'USER_ABORT');
  } catch (error) {
    const prdPath = prd?.path ?? (file === undefined || file === '-' ? '-' : resolve(cli.cwd, file));
    const asked = { repo, prdPath, prd, profile: flags.profile, set };
    if (flags.prd !== undefined && !begun) await keepRefusal(error, asked, cli, json);
    throw error;
  }
}

/** The PRD file; undefined for a run that goes on with the PRD that it has. Throws USAGE for words that do not fit together. */
async function choosePrd(
  given: string | undefined,
  flags: Flags,
  { repo, cli }: { repo: string; cli: Cli },
): Promise<string | undefined> {
  if (given !== undefined && flags.prd !== undefined) {
    throw new HaloError('USAGE', `Two PRDs are named: ${given} and ${flags.prd}.`, {
      hint: 'Name one of them; --sandbox and --ask-for-approval take no value.',
    });
  }
  const file = given ?? flags.prd;
  if (flags.resume === undefined) {
    return file ?? findUsualPrd(repo, cli);
  }
  if (flags.profile !== undefined || settingsOf(flags).length > 0) {
    throw new HaloError(
      'USAGE',
      'A run goes on with the settings that it was made with: none can be given with --resume.',
      {
        hint: 'Leave out --agent, --profile, -c and --ask-for-approval, or start a new run.',
      },
    );
  }
  return file;
}
