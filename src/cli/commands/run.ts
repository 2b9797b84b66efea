import { exitCodeOf } from '../../core/stop-reason.ts';
import type { Cli } from '../cli.ts';
import type { Define } from '../define.ts';
import { readPrd } from '../read-prd.ts';
import { runHere } from '../run-here.ts';
import { addSettingOptions, ASK, repoSource, settingsOf, type SettingFlags } from '../run-options.ts';

interface Flags extends SettingFlags {
  repo: string;
  allowDirty?: true;
  json?: true;
}

export const define: Define = (command, cli) => {
  addSettingOptions(
    command
      .description(
        'Runs a PRD against a git repository and follows it to its end: queue, worker and progress in this one process. What lands is on the branch halo/<runId>; your checkout stays untouched until `halo land`, but for the marks of landed stories in the PRD file.',
      )
      .argument('<prd>', 'the PRD file, or - for stdin')
      .option('--repo <path>', 'the repository', '.'),
  )
    .option(...ASK)
    .option('--allow-dirty', 'accept uncommitted changes; they are not part of the run')
    .option('--json', 'print one journal event per line, for machines')
    .addHelpText('after', HELP)
    .action((prd: string, flags: Flags) => run(prd, flags, cli));
};

const HELP = `
Examples:
  halo run prd.json
  halo run prd.json --repo ../shop -c retry.attempts=1
  halo run prd.json --json | jq -r 'select(.type == "story.ended") | .verdict'

Ctrl-C stops the run in good order; a second one exits at once. When stdout is no
terminal, progress comes as plain lines and the run directory is the last of them.

Exit codes:
  0 every story landed     4 needs a person     5 something is missing    6 cannot start
  10 a story failed        11 ... in each of its attempts                 12 some landed
  2 wrong usage            130 stopped by Ctrl-C                          1 infrastructure

See also: halo submit, halo status, halo land`;

async function run(file: string, flags: Flags, cli: Cli): Promise<void> {
  const request = {
    prd: await readPrd(file, cli),
    repos: [repoSource(cli.cwd, flags.repo)],
    profile: flags.profile,
    set: settingsOf(flags),
    allowDirty: flags.allowDirty === true,
  };
  const json = flags.json === true;
  const end = await runHere(request, {
    cli,
    json,
    asks: flags.askForApproval === true && !json,
    finish: ({ end }) => Promise.resolve(end),
  });
  cli.exitCode = exitCodeOf(end ?? 'USER_ABORT');
}
