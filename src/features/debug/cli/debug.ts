import { Writable } from 'node:stream';
import { Option, type Command } from 'commander';
import type { Cli, Define } from '../../../cli/cli.ts';
import { RUN_ARGUMENT, resolveRun } from '../../../cli/options/resolve-run.ts';
import { parseCount, stoppable } from '../../../cli/run/run-until-signal.ts';
import type { TakenTerminal } from '../../../cli/run/take-terminal.ts';
import { HaloError } from '../../../core/failure/errors.ts';
import { exitCodeOf } from '../../../core/failure/stop-reason.ts';
import { openSafeStream } from '../../../core/text/safe-stream.ts';
import { safeLine } from '../../../core/text/safe-text.ts';
import { shortCommit } from '../../../core/transcript/excerpt.ts';
import { shellQuote } from '../../../lib/text.ts';
import type { DebugBegun, DebugEnd, DebugEvent, DebugProgram } from '../api/debug-attempt.ts';
import { DEBUG_POINTS, type DebugPoint } from '../core/choose-state.ts';
import { openTerminalFilter } from '../core/terminal-filter.ts';

interface Flags {
  at?: DebugPoint;
  attempt?: number;
}

export const define: Define = (command, cli) => {
  command
    .description(
      'Opens a shell in a sealed copy of an attempt, on this machine: the same image and limits, the environment and services of a gate, no network, no model, no keys. The copy is removed when the shell ends; the journal keeps who opened it. With `--`, it runs one command instead.',
    )
    .argument(...RUN_ARGUMENT)
    .argument('[story]', 'the story (default: the one that explains the end of the run)')
    .argument('[command...]', 'after `--`: the command')
    .addOption(
      new Option(
        '--at <state>',
        'as its agent left it, on what setup had installed, or as its gates found it (default: gates, if it came so far)',
      ).choices(DEBUG_POINTS),
    )
    .option('--attempt <n>', 'the attempt (default: the last one)', parseCount)
    .addHelpText('after', HELP)
    .action((_run: string | undefined, _story: string | undefined, _words: string[], flags: Flags, self: Command) =>
      debug(splitWords(self), flags, cli),
    );
};

const HELP = `
Examples:
  halo debug 2dhe
  halo debug 2dhe US-002 --at agent
  halo debug 2dhe US-002 --attempt 1 -- npm test

Exit codes:
  0 the shell has ended, whatever its code; with \`--\`: the code of the command
  2 no such run, story or attempt, or no terminal    5 the image is missing
  10 it was stopped at a limit    130 stopped by Ctrl-C

See also: halo logs, halo diff, halo check`;

interface Words {
  run: string | undefined;
  story: string | undefined;
  /** For a shell. */
  command: string | undefined;
}

/** Commander does not say which words came after \`--\`. */
function splitWords(self: Command): Words {
  let top = self;
  while (top.parent !== null) top = top.parent;
  const { rawArgs } = top as Command & { rawArgs: readonly string[] };
  const end = rawArgs.indexOf('--');
  const after = end < 0 ? [] : rawArgs.slice(end + 1);
  const [run, story, ...more] = self.args.slice(0, self.args.length - after.length);
  if (more.length > 0)
    throw new HaloError('USAGE', `${JSON.stringify(more[0])} is one word too many.`, {
      hint: 'Put `--` before the command.',
    });
  if (end >= 0 && after.length === 0) throw new HaloError('USAGE', 'There is no command after `--`.');
  // One word may be a whole command line.
  const command = after.length < 2 ? after[0] : after.map(shellQuote).join(' ');
  return { run, story, command };
}

async function debug({ run: reference, story, command }: Words, { at, attempt }: Flags, cli: Cli): Promise<void> {
  const host = await cli.services.readHost();
  if (host.apiUrl !== undefined)
    throw new HaloError('USAGE', 'HALO_URL is set, but `halo debug` works only on the machine of the server.', {
      hint: 'Run the command there, without HALO_URL.',
    });
  const run = await cli.withOperations((operations) => resolveRun(operations, reference, cli));
  const program = command === undefined ? openShell(cli) : openCommand(command, cli);
  const { debugAttempt } = await import('../api/debug-attempt.ts');
  const tell = (event: DebugEvent | DebugBegun) => (event.type === 'ready' ? program.begin() : showEvent(event, cli));
  const query = { run, story, attempt, at };
  let end: DebugEnd;
  try {
    end = await stoppable(cli, (signal) => debugAttempt(host, { ...query, program: program.program, signal, tell }));
  } finally {
    await program.end();
  }
  await showEnd(end, cli);
}

interface OpenedProgram {
  program: DebugProgram;
  begin(): Promise<void>;
  /** Safe to call at any time. */
  end(): Promise<void>;
}

function openCommand(command: string, cli: Cli): OpenedProgram {
  const show = openSafeStream();
  // Bytes for a program, text for a person.
  const stdout = new Writable({
    write: (bytes: Buffer, _encoding, done) =>
      void (cli.terminal.shown ? cli.write(show.write(bytes)) : cli.writeExactly(bytes)).then(() => done(), done),
    final: (done) => void cli.write(show.end()).then(() => done(), done),
  });
  const errors = openSafeStream();
  const lines = (text: string) => (text === '' ? Promise.resolve() : cli.note(text.replace(/\n$/, '')));
  const stderr = new Writable({
    write: (bytes: Buffer, _encoding, done) => void lines(errors.write(bytes)).then(() => done(), done),
    final: (done) => void lines(errors.end()).then(() => done(), done),
  });
  return { program: { command, stdout, stderr }, begin: () => Promise.resolve(), end: () => Promise.resolve() };
}

function openShell(cli: Cli): OpenedProgram {
  if (!cli.terminal.shown || cli.stdin.isTTY !== true)
    throw new HaloError('USAGE', 'A shell needs a terminal.', {
      hint: 'Run it at a terminal, or one command: `halo debug <run> -- <command>`.',
    });
  const filter = openTerminalFilter();
  let taken: TakenTerminal | undefined;
  // The terminal is taken when the shell begins: until then, Ctrl-C stops the preparation.
  const terminal = () => {
    taken ??= cli.takeTerminal();
    if (taken === undefined) throw new HaloError('USAGE', 'The terminal is gone.');
    return taken;
  };
  const output = new Writable({
    write: (bytes: Buffer, _encoding, done) => terminal().write(filter.write(bytes), done),
  });
  return {
    program: {
      terminal: {
        get input() {
          return terminal().input;
        },
        output,
        size: () => terminal().size(),
        onResize: (listener) => terminal().onResize(listener),
      },
    },
    begin: () => cli.note(cli.paintErr('quiet', 'a copy: nothing is kept, there is no network; `exit` removes it')),
    async end() {
      if (taken === undefined) return;
      await new Promise<void>((done) => taken?.write(filter.end(), done));
      taken.release();
    },
  };
}

async function showEvent(event: Exclude<DebugEvent, { type: 'ready' }> | DebugBegun, cli: Cli): Promise<void> {
  const row = (label: string, text: string) => cli.note(`${cli.paintErr('quiet', label.padEnd(8))} ${text}`);
  switch (event.type) {
    case 'begun': {
      const { story, attempt, at, base, commit, isRunning, gates, configured } = event;
      await row('copy', `${safeLine(story)}, attempt ${attempt}, ${describe(at, shortCommit(base), commit)}`);
      if (isRunning && commit === undefined)
        await cli.note(cli.paintErr('warn', 'its agent is still at work: what it has changed is not in the copy'));
      for (const command of configured) {
        const ran = gates.find((gate) => gate.command === command);
        const how = ran === undefined ? 'did not run' : `exited ${ran.exitCode ?? 'by a limit'}`;
        await row('gate', `${safeLine(command)}  ${cli.paintErr(ran?.exitCode === 0 ? 'good' : 'warn', how)}`);
      }
      return;
    }
    case 'snapshot':
      return row('setup', `from snapshot ${event.key.slice(0, 12)}`);
    case 'setup': {
      const failed = event.exitCode !== 0;
      await row('setup', `${safeLine(event.command)}  ${failed ? cli.paintErr('bad', 'FAILED') : 'ok'}`);
      if (failed && event.tail.trim() !== '') await cli.note(event.tail.trimEnd());
    }
  }
}

function describe(at: DebugPoint, base: string, commit: string | undefined): string {
  if (commit === undefined) return `on ${base}: no change of it was kept`;
  return at === 'gates' ? `as its gates found it: commit ${shortCommit(commit)}` : 'as its agent left it';
}

async function showEnd({ exitCode, stopped }: DebugEnd, cli: Cli): Promise<void> {
  if (stopped !== undefined) {
    cli.exitCode = exitCodeOf(stopped.stopReason);
    await cli.note(`${cli.paintErr('bad', 'stopped')}  ${safeLine(stopped.summary, 1000)}`);
  } else if (exitCode !== undefined) cli.exitCode = exitCode;
}
