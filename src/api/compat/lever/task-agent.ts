import { access, constants, stat } from 'node:fs/promises';
import { constants as system } from 'node:os';
import { basename, delimiter, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { execa } from 'execa';
import type { Env } from '../../../config/environment/host.ts';
import { HaloError } from '../../../core/failure/errors.ts';

/** A program and the words that go before the flags. */
export interface TaskAgent {
  program: string;
  words: string[];
}

const HALO = fileURLToPath(new URL('../../../../bin/halo', import.meta.url));
/** Programs that are halo, and need to be told which command is meant. */
const OWN_NAMES = ['halo', 'lever'];

/**
 * The program that runs one task: without a name `halo task`, with a slash a file of the workspace, else what PATH has.
 * Throws TASK_AGENT_MISSING.
 */
export async function findTaskAgent(
  name: string | undefined,
  { cwd, workspace, env }: { cwd: string; workspace: string; env: Env },
): Promise<TaskAgent> {
  if (name === undefined) return { program: process.execPath, words: [HALO, 'task'] };
  const places = name.includes('/')
    ? [resolve(workspace, name)]
    : (env['PATH'] ?? '').split(delimiter).flatMap((folder) => (folder === '' ? [] : [resolve(cwd, folder, name)]));
  for (const program of places)
    if (await isProgram(program)) return { program, words: OWN_NAMES.includes(basename(program)) ? ['task'] : [] };
  const where = name.includes('/')
    ? `${places[0]} is no executable file`
    : `${JSON.stringify(name)} is not on the PATH`;
  throw new HaloError('TASK_AGENT_MISSING', `The task agent cannot be started: ${where}.`, {
    hint: 'With a slash, --task-agent is a file below the workspace that may be executed; without one, a program on the PATH.',
  });
}

async function isProgram(path: string): Promise<boolean> {
  const executable = await access(path, constants.X_OK).then(
    () => true,
    () => false,
  );
  return executable && (await stat(path)).isFile();
}

export interface RunningAgent {
  /** The exit code; for an end by a signal 128 and its number, as shells have it. */
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
        hint: 'It has to be a program of this machine; the first line of a script names one, like #!/bin/sh.',
        cause: result.cause,
      });
    }),
    kill: (signal) => void child.kill(signal),
  };
}
