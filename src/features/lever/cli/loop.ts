import { homedir } from 'node:os';
import { InvalidArgumentError } from 'commander';
import type { Cli, Define } from '../../../cli/cli.ts';
import { addTaskOptions, labelled, type TaskFlags } from '../../../cli/options/run-options.ts';

interface Flags extends TaskFlags {
  taskAgent?: string;
  delay: number;
  loop?: number | true;
}

export const define: Define = (command, cli) => {
  addTaskOptions(
    command.description(
      'Runs the tasks of a tasks file in order, each with a separate program: `halo task`, or the one given with --task-agent. Stops when all tasks are completed, a task needs a human, or a task is blocked.',
    ),
    'ralph-loop',
  )
    .option(
      '--task-agent <program>',
      'the program that runs a task: a file of the workspace if it contains a slash, else from PATH (default: TASK_AGENT_BIN, then halo task)',
    )
    .option('--delay <seconds>', 'pause between two cycles', parseSeconds, 0)
    .option('--loop [count]', 'maximum number of cycles (0 or no number: no limit)', parseCycles, 0)
    .addHelpText('after', HELP)
    .action((flags: Flags) => loop(flags, cli));
};

const HELP = `
Examples:
  halo loop
  halo loop --loop 3 --delay 10
  lever loop --tasks tasks.json --task-agent ./scripts/agent.sh

The program gets --tasks, --task-id, --workspace, --prompt and --assignee. Its exit codes:
  0 next task        3 nothing to do, the loop ends with 0
  4 needs a human    5, 6 cannot start   10, 11 blocked: the loop ends with that code
  130 interrupted    above 11: next cycle; all others: the loop fails with that code

See also: halo task, halo run`;

async function loop(flags: Flags, cli: Cli): Promise<void> {
  const [{ runLoop }, { processEnv }] = await Promise.all([
    import('../api/run-loop.ts'),
    import('../../../config/environment/host.ts'),
  ]);
  cli.exitCode = await runLoop(
    {
      cwd: cli.cwd,
      userHome: homedir(),
      workspace: flags.workspace,
      tasks: flags.tasks,
      prompt: flags.prompt,
      assignee: flags.assignee,
      taskAgent: flags.taskAgent,
      delayMs: flags.delay * 1000,
      most: flags.loop === true ? 0 : (flags.loop ?? 0),
    },
    {
      env: processEnv(),
      log: labelled(flags.assignee, cli),
      onStop: (listener) =>
        // A terminal sends Ctrl-C to the task agent as well; a second signal would make it exit immediately.
        cli.onStop((signal) => {
          if (signal !== undefined) listener({ signal, passOn: signal === 'SIGTERM' || cli.stdin.isTTY !== true });
        }),
    },
  );
}

function parseSeconds(text: string): number {
  const seconds = /^[0-9]+(\.[0-9]+)?$/.test(text) ? Number(text) : NaN;
  if (seconds <= 86_400) return seconds;
  throw new InvalidArgumentError('It must be a number of seconds from 0 to 86400.');
}

function parseCycles(text: string): number {
  if (/^[0-9]+$/.test(text)) return Number(text);
  throw new InvalidArgumentError('It must be a whole number of at least 0.');
}
