import { safeLine } from '../../core/safe-text.ts';
import type { Cli } from '../cli.ts';
import type { Define } from '../define.ts';
import { readPrd } from '../read-prd.ts';
import { addSettingOptions, collect, repoSource, settingsOf, type SettingFlags } from '../run-options.ts';

interface Flags extends SettingFlags {
  repo?: string[];
  allowDirty?: true;
  json?: true;
}

export const define: Define = (command, cli) => {
  addSettingOptions(
    command
      .description(
        'Queues a PRD for one or more repositories and prints one run id per line. Everything is checked first: either all runs are queued or none. Workers (`halo worker`, `halo up`) execute them.',
      )
      .argument('<prd>', 'the PRD file, or - for stdin')
      .option('--repo <repo>', 'path or URL of a repository, by default the one here (repeatable)', collect),
  )
    .option('--allow-dirty', 'accept uncommitted changes; they are not part of the run')
    .option('--json', 'print the runs as JSON')
    .addHelpText('after', HELP)
    .action((prd: string, flags: Flags) => submit(prd, flags, cli));
};

const HELP = `
Examples:
  halo submit prd.json
  halo submit prd.json --repo ../shop --repo ../api --repo https://git.example.com/web.git
  id=$(halo submit prd.json) && halo logs "$id" -f

Only run ids are written to stdout; everything else goes to stderr.

Exit codes:
  0 queued                  2 wrong usage
  5 something is missing    6 the PRD, the settings or a repository is not fit

See also: halo run, halo worker, halo status`;

async function submit(file: string, flags: Flags, cli: Cli): Promise<void> {
  const prd = await readPrd(file, cli);
  const repos = flags.repo ?? ['.'];
  const runs = await cli.withOperations((operations) =>
    operations.submit({
      prd,
      repos: repos.map((repo) => repoSource(cli.cwd, repo)),
      profile: flags.profile,
      set: settingsOf(flags),
      allowDirty: flags.allowDirty === true,
    }),
  );
  if (flags.json) return cli.printJson(runs);
  for (const { runId, repo, warnings } of runs) {
    await cli.note(...warnings.map((text) => `${cli.paintErr('warn', 'warning:')} ${safeLine(text, 500)}`));
    await cli.note(cli.paintErr('quiet', `queued ${runId} for ${repo}`));
  }
  await cli.print(...runs.map(({ runId }) => runId));
}
