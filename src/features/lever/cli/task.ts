import { homedir } from 'node:os';
import { HaloError } from '../../../core/failure/errors.ts';
import type { Cli, Define } from '../../../cli/cli.ts';
import type { Flag } from '../../../core/review/flags.ts';
import { CONFIRM_OPTION } from '../../../cli/options/confirm-flags.ts';
import { addTaskOptions, labelled, type TaskFlags } from '../../../cli/options/run-options.ts';
import { runHere } from '../../../cli/run/local-run.ts';

interface Flags extends TaskFlags {
  taskId?: string;
  next?: true;
  resetTask?: true;
  confirm?: Flag[];
}

export const define: Define = (command, cli) => {
  addTaskOptions(
    command
      .description(
        'Runs one task of a tasks file as a separate run: agent and gates in containers, the commit on the branch ralph/<task_id>, your branch fast-forwarded to it, and status and observability written back to the file. Tasks run in the order of the file.',
      )
      .option('--task-id <id>', 'run this task, which must be the first that is not completed')
      .option('--next', 'run the first task that is not completed (the default)'),
    'task-agent',
  )
    .option('--reset-task', 'run it as if it had never been run: status unstarted, no attempts')
    .option(...CONFIRM_OPTION)
    .addHelpText('after', HELP)
    .action((flags: Flags) => task(flags, cli));
};

const HELP = `
Examples:
  halo task --next
  halo task --task-id T-3 --reset-task
  lever task --tasks tasks.json --workspace ../shop

The gate of a task is the first of ./scripts/ci.sh, make ci, ./tests/run.sh and
pytest -q that the repository has, else the gates of halo.toml. A task that changes
that script or the makefile waits for approval.

Exit codes:
  0 completed              1 infrastructure         2 wrong usage
  3 all are completed      4 needs a human          5 something is missing
  6 cannot start, or another task comes first       10 no result
  11 out of attempts       12 failed: run it again  130 stopped by Ctrl-C

See also: halo loop, halo prd validate`;

async function task(flags: Flags, cli: Cli): Promise<void> {
  if (flags.next && flags.taskId !== undefined)
    throw new HaloError('USAGE', '--next and --task-id exclude each other.', { hint: 'Use one of them.' });
  const { performTask } = await import('../api/perform-task.ts');
  cli.exitCode = await performTask(
    {
      cwd: cli.cwd,
      userHome: homedir(),
      workspace: flags.workspace,
      tasks: flags.tasks,
      prompt: flags.prompt,
      taskId: flags.taskId,
      reset: flags.resetTask === true,
      confirm: flags.confirm,
    },
    {
      host: await cli.services.readHost(),
      log: labelled(flags.assignee, cli),
      execute: (request, { begin, finish }) =>
        runHere(request, {
          cli,
          json: false,
          asks: false,
          local: true,
          begin,
          finish: async ({ operations, runId, end }) =>
            finish({ operations, runId, end, view: await operations.getRun({ runId }) }),
        }),
    },
  );
}
