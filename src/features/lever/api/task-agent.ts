import { constants as system } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { execa } from '../../../lib/execa.ts';
import type { Env } from '../../../config/environment/host.ts';
import { HaloError } from '../../../core/failure/errors.ts';
import { findProgram, isProgram } from '../../../lib/fs.ts';
import { PACKAGE_ROOT } from '../../../lib/version.ts';

/** A program and its arguments before the flags. */
interface TaskAgent {
  program: string;
  words: string[];
}

const HALO = join(PACKAGE_ROOT, 'bin', 'halo');
/** Names of halo's own program, which needs the command as an argument. */
const OWN_NAMES = ['halo', 'lever'];

/**
 * The program that runs one task: without a name `halo task`, with a slash a file of the workspace, else a program on
 * the PATH. Throws TASK_AGENT_MISSING.
 */
export async function resolveTaskAgent(
  name: string | undefined,
  { cwd, workspace, env }: { cwd: string; workspace: string; env: Env },
): Promise<TaskAgent> {
  if (name === undefined) return { program: process.execPath, words: [HALO, 'task'] };
  const file = name.includes('/') ? resolve(workspace, name) : undefined;
  const program = file === undefined ? await findProgram(name, env['PATH'], cwd) : (await isProgram(file)) && file;
  if (program) return { program, words: OWN_NAMES.includes(basename(program)) ? ['task'] : [] };
  const where = file === undefined ? `${JSON.stringify(name)} is not on the PATH` : `${file} is not an executable file`;
  throw new HaloError('TASK_AGENT_MISSING', `The task agent cannot be started: ${where}.`, {
    hint: 'Set --task-agent to an executable file of the workspace (with a slash), or to a program on the PATH (without one).',
  });
}

interface RunningAgent {
  /** The exit code; 128 plus the number of the signal that ended the program, as in shells. */
  ended: Promise<number>;
  kill(signal: NodeJS.Signals): void;
}

/** Starts the task agent in the workspace, with the terminal of this process. */
export function startTaskAgent({ program, words }: TaskAgent, flags: string[], workspace: string): RunningAgent {
  const child = execa(program, [...words, ...flags], { cwd: workspace, stdio: 'inherit', reject: false });
  return {
    ended: child.then((result) => {
      if (result.exitCode !== undefined) return result.exitCode;
      if (result.signal !== undefined) return 128 + system.signals[result.signal];
      throw new HaloError('TASK_AGENT_MISSING', `The task agent ${program} cannot be started (${result.code}).`, {
        hint: 'Check that it can run on this machine; a script needs a first line such as #!/bin/sh.',
        cause: result.cause,
      });
    }),
    kill: (signal) => void child.kill(signal),
  };
}
