import { Command } from 'commander';
import type { Cli, Define } from './cli.ts';
import { noteMachine } from './run/note-machine.ts';
import { haloVersion } from '../lib/version.ts';

interface Entry {
  /** On the help page. */
  heading: string;
  name: string;
  summary: string;
  load: () => Promise<{ define: Define }>;
}

/** Every command below its heading, in the order of the help page. Only the called command is loaded. */
const GROUPS: Record<string, readonly Omit<Entry, 'heading'>[]> = {
  'Start:': [
    { name: 'new', summary: 'create a repository with an example', load: () => import('./commands/new.ts') },
    { name: 'init', summary: 'write a short halo.toml', load: () => import('./commands/init.ts') },
    { name: 'doctor', summary: 'check this machine and suggest fixes', load: () => import('./commands/doctor.ts') },
    { name: 'check', summary: 'run setup and gates here, without an agent', load: () => import('./commands/check.ts') },
    { name: 'run', summary: 'run a PRD here and follow it to the end', load: () => import('./commands/run.ts') },
    { name: 'submit', summary: 'queue a PRD for one or more repositories', load: () => import('./commands/submit.ts') },
    {
      name: 'queue',
      summary: 'run the PRDs of a folder, one after the other',
      load: () => import('../features/folder-queue/cli/queue.ts'),
    },
  ],
  'Inspect:': [
    {
      name: 'top',
      summary: 'show and control all runs on the whole terminal',
      load: () => import('./commands/top.ts'),
    },
    {
      name: 'status',
      summary: 'show active and recent runs, or one run in detail',
      load: () => import('./commands/status.ts'),
    },
    { name: 'inbox', summary: 'list what waits for a person', load: () => import('./commands/inbox.ts') },
    { name: 'ls', summary: 'list runs, newest first', load: () => import('./commands/ls.ts') },
    { name: 'watch', summary: 'show live what the agents of a run do', load: () => import('./commands/watch.ts') },
    { name: 'logs', summary: 'show or follow the log of a run', load: () => import('./commands/logs.ts') },
    {
      name: 'show',
      summary: 'review the result of a run, criterion by criterion',
      load: () => import('./commands/show.ts'),
    },
    { name: 'diff', summary: 'show what a run changed', load: () => import('./commands/diff.ts') },
    {
      name: 'debug',
      summary: 'open a shell in a copy of an attempt',
      load: () => import('../features/debug/cli/debug.ts'),
    },
    { name: 'batch', summary: 'show the runs of one submit', load: () => import('./commands/batch.ts') },
    { name: 'network', summary: 'list the network requests of a run', load: () => import('./commands/network.ts') },
    {
      name: 'cost',
      summary: 'show tokens and costs over all runs',
      load: () => import('../features/reports/cli/cost.ts'),
    },
    { name: 'errors', summary: 'list failures over all runs', load: () => import('../features/reports/cli/errors.ts') },
    {
      name: 'audit',
      summary: 'list decisions, landings and results over all runs',
      load: () => import('../features/reports/cli/audit.ts'),
    },
  ],
  'Review and land:': [
    {
      name: 'approve',
      summary: 'approve a story or run that waits for approval',
      load: () => import('./commands/approve.ts'),
    },
    {
      name: 'reject',
      summary: 'reject a story or run that waits for approval',
      load: () => import('./commands/reject.ts'),
    },
    {
      name: 'land',
      summary: 'fast-forward your branch to the result of a run',
      load: () => import('./commands/land.ts'),
    },
    {
      name: 'pr',
      summary: 'open a pull request for the result of a run',
      load: () => import('../features/pulls/cli/pr.ts'),
    },
    {
      name: 'verify',
      summary: 'verify landed commits again',
      load: () => import('../features/evidence/cli/verify.ts'),
    },
    {
      name: 'replay',
      summary: 'repeat an attempt offline from its cassette',
      load: () => import('../features/evidence/cli/replay.ts'),
    },
  ],
  'Control:': [
    { name: 'pause', summary: 'pause a run', load: () => import('./commands/pause.ts') },
    { name: 'resume', summary: 'resume a paused run', load: () => import('./commands/resume.ts') },
    { name: 'cancel', summary: 'cancel a run or one of its stories', load: () => import('./commands/cancel.ts') },
    {
      name: 'retry',
      summary: 'retry stories that failed, were cancelled or need a human',
      load: () => import('./commands/retry.ts'),
    },
    { name: 'answer', summary: 'answer the question of a story', load: () => import('./commands/answer.ts') },
    {
      name: 'tell',
      summary: 'send a message to the agent of a story',
      load: () => import('../features/tell/cli/tell.ts'),
    },
    { name: 'breaker', summary: 'list and reset circuit breakers', load: () => import('./commands/breaker.ts') },
  ],
  'PRDs and tasks:': [
    { name: 'prd', summary: 'create, check and track PRDs', load: () => import('./commands/prd.ts') },
    { name: 'prompt', summary: 'print the prompt of a story', load: () => import('./commands/prompt.ts') },
    {
      name: 'estimate',
      summary: 'estimate cost and time of a PRD from earlier runs',
      load: () => import('./commands/estimate.ts'),
    },
    { name: 'plan', summary: 'let an agent plan work as a PRD', load: () => import('../features/plan/cli/plan.ts') },
    { name: 'import', summary: 'turn a document into a PRD', load: () => import('./commands/import.ts') },
    {
      name: 'loop',
      summary: 'run the tasks of a tasks file in order',
      load: () => import('../features/lever/cli/loop.ts'),
    },
    { name: 'task', summary: 'run the next task of a tasks file', load: () => import('../features/lever/cli/task.ts') },
  ],
  'Operate:': [
    { name: 'up', summary: 'run Redis, API and workers in one process', load: () => import('./commands/up.ts') },
    { name: 'serve', summary: 'serve the HTTP API', load: () => import('./commands/serve.ts') },
    { name: 'user', summary: 'manage the users of a server', load: () => import('../features/people/cli/user.ts') },
    {
      name: 'hooks',
      summary: 'list and test the endpoints of notifications',
      load: () => import('../features/notifications/cli/hooks.ts'),
    },
    { name: 'mcp', summary: 'serve halo to agents as MCP tools', load: () => import('./commands/mcp.ts') },
    {
      name: 'plugin',
      summary: 'run a PRD and print one JSON document, for plugins',
      load: () => import('./commands/plugin.ts'),
    },
    {
      name: 'worker',
      summary: 'execute queued runs, and list and drain workers',
      load: () => import('./commands/worker.ts'),
    },
    {
      name: 'engine',
      summary: 'add, check and remove Docker engines of other machines',
      load: () => import('../features/engines/cli/engine.ts'),
    },
    { name: 'image', summary: 'build the sandbox image', load: () => import('./commands/image.ts') },
    {
      name: 'snapshot',
      summary: 'list, build and remove snapshots of installed dependencies',
      load: () => import('./commands/snapshot.ts'),
    },
    {
      name: 'agent',
      summary: 'list, update and choose versions of agents',
      load: () => import('../features/versions/cli/agent.ts'),
    },
    {
      name: 'models',
      summary: 'list models with their prices, and update the prices',
      load: () => import('../features/models/cli/models.ts'),
    },
    {
      name: 'prune',
      summary: 'remove artifacts and journals of old runs',
      load: () => import('../features/retention/cli/prune.ts'),
    },
    {
      name: 'backup',
      summary: 'save HALO_HOME to a file while halo works',
      load: () => import('../features/backup/cli/backup.ts'),
    },
    {
      name: 'restore',
      summary: 'restore a backup into an empty HALO_HOME',
      load: () => import('../features/backup/cli/restore.ts'),
    },
    { name: 'config', summary: 'show settings and their origins', load: () => import('./commands/config.ts') },
    { name: 'completion', summary: 'print a shell completion script', load: () => import('./commands/completion.ts') },
  ],
};

export const COMMANDS: readonly Entry[] = Object.entries(GROUPS).flatMap(([heading, entries]) =>
  entries.map((entry) => ({ ...entry, heading })),
);

const PURPOSE = `halo runs coding agents on PRDs, files of small stories. An agent implements each story in a
sealed container, gates check the result in a second one, and it lands as one commit on the
branch of the run.`;

const FOOTER = `
Examples:
  halo doctor                     is this machine ready?
  halo init                       write a halo.toml for this repository
  halo check                      do its setup and gates pass?
  halo run prd.json               run it and follow the progress

\`halo <command> --help\` explains each command. \`--color=always\` keeps colors in a pipe,
as in \`halo diff --color=always | less -R\`; \`--color=never\` turns them off. If HALO_URL is set,
commands use that server; otherwise they use this machine and HALO_HOME (~/.halo).`;

/** The program as `lever`, whose other commands are those of halo. */
const LEVER = {
  commands: ['loop', 'task'],
  purpose:
    'Runs the tasks of a tasks file with coding agents, as the tool lever does. A part of halo: `halo loop` and `halo task` are the same.',
  footer: '\n`lever <command> --help` explains each command, `halo --help` lists all commands of halo.',
};

/** The program with the named commands complete and all others by name only; without names, all are complete. */
export async function buildProgram(
  cli: Cli,
  names: readonly string[] = COMMANDS.map(({ name }) => name),
): Promise<Command> {
  const program = new Command(cli.program);
  const isLever = cli.program === 'lever';
  const stdout = (text: string) => void cli.write(text);
  program
    .description(isLever ? LEVER.purpose : PURPOSE)
    .version(`halo ${haloVersion()}`, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'show help')
    .helpCommand(false)
    .addHelpText('after', isLever ? LEVER.footer : FOOTER)
    .exitOverride()
    .hook('preAction', (_program, action) => noteMachine(action, cli))
    // Errors of commander are handled by main, like all errors.
    .configureOutput({ writeOut: stdout, writeErr: () => undefined, getOutHelpWidth: () => 100 });
  for (const { name, summary, load, heading } of COMMANDS) {
    const hidden = isLever && !LEVER.commands.includes(name);
    const command = program.command(name, { hidden }).helpGroup(heading).summary(summary).description(summary);
    command.copyInheritedSettings(program).helpCommand(false);
    if (names.includes(name)) (await load()).define(command, cli);
  }
  return program;
}
