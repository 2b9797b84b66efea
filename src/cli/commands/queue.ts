import { resolve } from 'node:path';
import { Option } from 'commander';
import { exitCodeOf } from '../../core/failure/stop-reason.ts';
import { safeLine } from '../../core/text/safe-text.ts';
import { waitingFor } from '../../tui/run-text.ts';
import type { Cli, Define } from '../cli.ts';
import { addSettingOptions, ASK, repoSource, settingsOf, type SettingFlags } from '../options/run-options.ts';
import { stoppable } from '../run/run-until-signal.ts';

interface Flags extends SettingFlags {
  repo: string;
  onFailure: 'stop' | 'skip';
  watch?: true;
  allowDirty?: true;
  json?: true;
}

export const define: Define = (command, cli) => {
  addSettingOptions(
    command
      .description(
        'Runs the PRDs of a folder in the order of their names, one run after the other, each on the result of the one before. A finished PRD moves to done/ in the folder; one that failed stays, with a note. Workers (`halo worker`, `halo up`) execute the runs. A queue that was killed continues where it was when it is started again.',
      )
      .argument('<folder>', 'the folder with PRDs (*.json, *.md)')
      .option('--repo <repo>', 'path or URL of the repository', '.')
      .option('--watch', 'wait for new PRDs in the folder until Ctrl-C')
      .addOption(
        new Option('--on-failure <what>', 'after a PRD that failed: stop, or skip it')
          .choices(['stop', 'skip'])
          .default('stop'),
      ),
  )
    .option(...ASK)
    .option('--allow-dirty', 'accept uncommitted changes; they are not part of the runs')
    .option('--json', 'print the number of finished and failed PRDs as JSON')
    .addHelpText('after', HELP)
    .action((folder: string, flags: Flags) => workOff(folder, flags, cli));
};

const HELP = `
Examples:
  halo up & halo queue prds
  halo queue prds --watch --on-failure skip

Exit codes:
  0 nothing is left to do    2 wrong usage    6 the folder or a setting is invalid    10 a PRD failed

See also: halo submit, halo worker, halo batch`;

async function workOff(name: string, flags: Flags, cli: Cli): Promise<void> {
  let said = '';
  const result = await cli.withOperations((operations) =>
    stoppable(cli, (signal) =>
      cli.services.runFolderQueue({
        operations,
        folder: resolve(cli.cwd, name),
        repo: repoSource(cli.cwd, flags.repo),
        options: {
          profile: flags.profile,
          set: settingsOf(flags),
          allowDirty: flags.allowDirty === true,
        },
        skip: flags.onFailure === 'skip',
        watch: flags.watch === true,
        signal,
        say: (text) => cli.note(safeLine(text, 1000)),
        async observe(view) {
          const [reason = ''] = waitingFor(view);
          if (reason !== '' && reason !== said) await cli.note(cli.paintErr('warn', reason));
          said = reason;
        },
      }),
    ),
  );
  if (flags.json) await cli.printJson(result);
  else await cli.note(`${result.done} done, ${result.failed} failed`);
  if (result.failed > 0) cli.exitCode = exitCodeOf('GATE_FAILED');
}
