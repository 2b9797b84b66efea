import { resolve } from 'node:path';
import { Option } from 'commander';
import { exitCodeOf } from '../../../core/failure/stop-reason.ts';
import { nextSteps } from '../../../core/run/next-steps.ts';
import type { RunState } from '../../../core/run/state.ts';
import { safeLine } from '../../../core/text/safe-text.ts';
import { stepLines } from '../../../tui/step-lines.ts';
import type { Cli, Define } from '../../../cli/cli.ts';
import { terminalColumns, table, type Cell } from '../../../cli/output/table.ts';
import { addSettingOptions, ASK, repoSource, settingsOf, type SettingFlags } from '../../../cli/options/run-options.ts';
import { QueueWorker } from './queue-worker.ts';
import { whyRunWaits } from '../../../view/waiting.ts';
import type { QueuedPrd } from '../api/list-folder.ts';
import type { Tone } from '../../../core/transcript/transcript-line.ts';

interface Flags extends SettingFlags {
  repo: string;
  onFailure: 'stop' | 'skip';
  watch?: true;
  allowDirty?: true;
  list?: true;
  json?: true;
}

export const define: Define = (command, cli) => {
  addSettingOptions(
    command
      .description(
        'Runs the PRDs of a folder in the order of their names, one run after the other, each on the result of the one before. A finished PRD moves to done/ in the folder; one that failed stays, with a note. Running workers (`halo worker`, `halo up`) execute the runs; if there are none, this process does. A queue that was stopped or killed continues where it was when it is started again.',
      )
      .argument('<folder>', 'the folder with PRDs (*.json, *.md, *.markdown)')
      .option('--repo <repo>', 'path or URL of the repository', '.')
      .option('--watch', 'wait for new PRDs in the folder until Ctrl-C')
      .addOption(
        new Option('--on-failure <what>', 'what to do with a PRD that failed, now or in an earlier call')
          .choices(['stop', 'skip'])
          .default('stop'),
      ),
  )
    .option(...ASK)
    .option('--allow-dirty', 'accept uncommitted changes; they are not part of the runs')
    .option('--list', 'list the PRDs of the folder, in order, with their state; run nothing')
    .option('--json', 'print the number of finished and failed PRDs ({done, failed}), or the list, as JSON')
    .addHelpText('after', HELP)
    .action((folder: string, flags: Flags) =>
      flags.list ? listQueue(folder, flags.json === true, cli) : runQueue(folder, flags, cli),
    );
};

const HELP = `
Examples:
  halo queue prds
  halo queue prds --watch --on-failure skip
  halo queue prds --list

At a terminal, Ctrl-C lets the running story finish and starts no other; a second
Ctrl-C stops it immediately. If workers execute the runs, Ctrl-C ends only the queue.
The next queue of the folder continues what was stopped.

Exit codes:
  0 nothing is left to do    2 wrong usage       5 something is missing
  6 the folder or a setting is invalid    10 a PRD failed    130 stopped by Ctrl-C

See also: halo submit, halo worker, halo batch`;

async function runQueue(name: string, flags: Flags, cli: Cli): Promise<void> {
  const { services } = cli;
  const { apiUrl, home } = await services.readHost();
  const local = apiUrl !== undefined ? undefined : await services.openLocal({ executesHere: 'if-needed' });
  const operations = local ?? (await services.openOperations());
  const { runFolderQueue } = await import('../api/run-folder-queue.ts');
  const worker = new QueueWorker(cli, local);
  let said = '';
  let last: RunState | undefined;
  try {
    const result = await runFolderQueue(home, {
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
      signal: worker.stopped,
      finishing: worker.finishing,
      say: (text) => cli.note(safeLine(text, 1000)),
      succeeded: (state) => (last = state),
      async observe(view) {
        if (await worker.take(view)) return;
        const [reason = ''] = whyRunWaits(view);
        if (reason !== '' && reason !== said) await cli.note(cli.paintErr('warn', reason));
        said = reason;
      },
    });
    if (flags.json) await cli.printJson(result);
    else await cli.note(`${result.done} done, ${result.failed} failed`, ...stepsAfter(last, cli));
    if (result.failed > 0) cli.exitCode = exitCodeOf('GATE_FAILED');
    else if (worker.finishing.aborted && !flags.watch) cli.exitCode = exitCodeOf('USER_ABORT');
  } finally {
    await worker.close();
    await operations.close();
  }
}

/** How to get the results: the last run contains those before it. */
function stepsAfter(last: RunState | undefined, cli: Cli): string[] {
  if (last === undefined) return [];
  const lines = stepLines(nextSteps(last), terminalColumns(cli) ?? Number.POSITIVE_INFINITY, cli.paintErr);
  return lines.map((line, index) => `${index === 0 ? 'next  ' : '      '}${line}`);
}

/** Prints the PRDs of a folder in the order in which `halo queue` runs them. */
async function listQueue(folder: string, json: boolean, cli: Cli): Promise<void> {
  const { listFolder } = await import('../api/list-folder.ts');
  const { home } = await cli.services.readHost();
  const prds = await listFolder(home, resolve(cli.cwd, folder));
  if (json) return cli.printJson(prds);
  if (prds.length === 0) return cli.note(`${safeLine(folder)} has no PRDs.`);
  const heading = ['NAME', 'STATE', 'DONE', 'RUN'].map((text) => ({ text }));
  await cli.print(...table([heading, ...prds.map(rowOf)], { paint: cli.paint, width: terminalColumns(cli) }));
}

function rowOf({ name, state, done, total, runId, reason }: QueuedPrd): Cell[] {
  return [
    { text: safeLine(name, 64), tone: 'strong' },
    { text: state, tone: TONES[state] },
    { text: state === 'refused' ? '-' : `${done}/${total}` },
    { text: [runId ?? '-', ...(reason === undefined ? [] : [safeLine(reason)])].join(' ') },
  ];
}

const TONES: Record<QueuedPrd['state'], Tone> = {
  waiting: 'plain',
  running: 'plain',
  failed: 'warn',
  refused: 'warn',
  done: 'good',
};
