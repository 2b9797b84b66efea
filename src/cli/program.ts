import { Command } from 'commander';
import type { Cli } from './cli.ts';
import type { Define } from './define.ts';
import { noteMachine } from './run/note-machine.ts';
import { version } from '../lib/version.ts';

interface Entry {
  name: string;
  summary: string;
  load: () => Promise<{ define: Define }>;
}

/** Every command, in the order of the help page. Only the one that is called is loaded. */
export const COMMANDS: readonly Entry[] = [
  { name: 'run', summary: 'run a PRD here and follow it to its end', load: () => import('./commands/run.ts') },
  { name: 'submit', summary: 'queue a PRD for one or more repositories', load: () => import('./commands/submit.ts') },
  {
    name: 'status',
    summary: 'show what is going on, or one run in detail',
    load: () => import('./commands/status.ts'),
  },
  { name: 'logs', summary: 'read or follow what a run does', load: () => import('./commands/logs.ts') },
  { name: 'batch', summary: 'show the runs of one submit', load: () => import('./commands/batch.ts') },
  { name: 'ls', summary: 'list all runs', load: () => import('./commands/ls.ts') },
  { name: 'show', summary: 'review what a run made, criterion by criterion', load: () => import('./commands/show.ts') },
  { name: 'diff', summary: 'show what a run changed', load: () => import('./commands/diff.ts') },
  {
    name: 'network',
    summary: 'list what a run asked the network for',
    load: () => import('./commands/network.ts'),
  },
  { name: 'land', summary: 'fast-forward your branch to what a run made', load: () => import('./commands/land.ts') },
  { name: 'pause', summary: 'let a run rest', load: () => import('./commands/pause.ts') },
  { name: 'resume', summary: 'let a paused run go on', load: () => import('./commands/resume.ts') },
  { name: 'cancel', summary: 'end a run, or take a story out of it', load: () => import('./commands/cancel.ts') },
  { name: 'retry', summary: 'do again what failed or was cancelled', load: () => import('./commands/retry.ts') },
  {
    name: 'approve',
    summary: 'say yes to a story or a run that waits',
    load: () => import('./commands/approve.ts'),
  },
  { name: 'reject', summary: 'say no to it', load: () => import('./commands/reject.ts') },
  {
    name: 'breaker',
    summary: 'show and close what keeps halo from trying again',
    load: () => import('./commands/breaker.ts'),
  },
  { name: 'verify', summary: 'prove landed commits again', load: () => import('./commands/verify.ts') },
  {
    name: 'replay',
    summary: 'repeat an attempt offline from its cassette',
    load: () => import('./commands/replay.ts'),
  },
  { name: 'loop', summary: 'run one task of a tasks file after the other', load: () => import('./commands/loop.ts') },
  { name: 'task', summary: 'run the next task of a tasks file', load: () => import('./commands/task.ts') },
  { name: 'worker', summary: 'execute queued runs', load: () => import('./commands/worker.ts') },
  { name: 'serve', summary: 'serve the HTTP API', load: () => import('./commands/serve.ts') },
  { name: 'up', summary: 'Redis, API and workers in one process', load: () => import('./commands/up.ts') },
  { name: 'prd', summary: 'make, check and track PRDs', load: () => import('./commands/prd.ts') },
  { name: 'import', summary: 'turn a document into a PRD', load: () => import('./commands/import.ts') },
  { name: 'init', summary: 'write a commented halo.toml', load: () => import('./commands/init.ts') },
  { name: 'check', summary: 'run setup and gates here, without an agent', load: () => import('./commands/check.ts') },
  { name: 'doctor', summary: 'check this machine and say how to mend it', load: () => import('./commands/doctor.ts') },
  { name: 'image', summary: 'build the sandbox image', load: () => import('./commands/image.ts') },
  { name: 'config', summary: 'show the settings and where they come from', load: () => import('./commands/config.ts') },
  { name: 'completion', summary: 'print a shell completion script', load: () => import('./commands/completion.ts') },
];

/** Headings of the help page, in their order, with their commands. */
export const GROUPS: readonly [heading: string, names: readonly string[]][] = [
  ['Start:', ['init', 'doctor', 'check', 'run', 'submit']],
  ['Look:', ['status', 'ls', 'logs', 'show', 'diff', 'batch', 'network']],
  ['Decide:', ['approve', 'reject', 'land', 'verify', 'replay']],
  ['Control:', ['pause', 'resume', 'cancel', 'retry', 'breaker']],
  ['PRDs and tasks:', ['prd', 'import', 'loop', 'task']],
  ['Operate:', ['up', 'serve', 'worker', 'image', 'config', 'completion']],
];

const PURPOSE = `halo runs coding agents on PRDs: each story in a sealed container, proven by
gates in a second one, landed as one commit on a branch of its own.`;

const FOOTER = `
Start here:
  halo doctor                     is this machine ready?
  halo init                       a halo.toml for this repository
  halo check                      do its setup and gates pass?
  halo run prd.json               do it, and watch

\`halo <command> --help\` explains each command. \`--color=always\` keeps colors in a pipe,
as in \`halo diff --color=always | less -R\`; \`--color=never\` leaves them out. All commands talk to the server
in HALO_URL when it is set, else they work on this machine, below HALO_HOME (~/.halo).`;

/** The program with the named commands complete and all others by name only; without names, all are complete. */
export async function buildProgram(
  cli: Cli,
  names: readonly string[] = COMMANDS.map(({ name }) => name),
): Promise<Command> {
  const program = new Command('halo');
  const stdout = (text: string) => void cli.write(text);
  program
    .description(PURPOSE)
    .version(`halo ${version()}`, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'show help')
    .helpCommand(false)
    .addHelpText('after', FOOTER)
    .exitOverride()
    .hook('preAction', (_program, action) => noteMachine(action, cli))
    // Errors go the way of all errors, through main.
    .configureOutput({ writeOut: stdout, writeErr: () => undefined, getOutHelpWidth: () => 100 });
  for (const { name, summary, load, heading } of inGroups()) {
    const command = program
      .command(name)
      .helpGroup(heading)
      .summary(summary)
      .description(summary)
      .helpOption('-h, --help', 'show help');
    command.copyInheritedSettings(program).helpCommand(false);
    if (names.includes(name)) (await load()).define(command, cli);
  }
  return program;
}

/** Every command in the order of the help page. */
function inGroups(): (Entry & { heading: string })[] {
  return GROUPS.flatMap(([heading, names]) =>
    names.flatMap((name) => COMMANDS.filter((entry) => entry.name === name).map((entry) => ({ ...entry, heading }))),
  );
}
