import { composeServices } from '../../../src/cli/compose.ts';
import { NOT_INHERITED, type Ended, type Start } from '../halo/halo-process.ts';
import { openMemory } from '../memory-operations.ts';
import { runCli } from './cli-world.ts';

/**
 * Runs a command line of halo with its real services, as a process of its own would, in this process. What programs that
 * it starts write to its terminal is not in the result. The variables are those of the process: tests that run at the same
 * time with homes of their own start processes instead.
 */
export async function callHalo(words: string[], { cwd, env }: Pick<Start, 'cwd' | 'env'>): Promise<Ended> {
  const own = JSON.stringify(env);
  if (running > 0 && own !== shared) throw new Error('Another call of halo in this process has other variables.');
  if (running === 0) outside = setVariables({ ...NOT_INHERITED, ...env });
  shared = own;
  running += 1;
  try {
    return await runCli(words, { operations: openMemory(), services: composeServices(words), cwd });
  } finally {
    running -= 1;
    if (running === 0) setVariables(outside);
  }
}

/** The calls that run, their variables, and what these were before. */
let running = 0;
let shared = '';
let outside: Record<string, string | undefined> = {};

/** Returns the values that they had. */
function setVariables(values: Record<string, string | undefined>): Record<string, string | undefined> {
  const before = Object.fromEntries(Object.keys(values).map((name) => [name, process.env[name]]));
  for (const [name, value] of Object.entries(values)) {
    if (value === undefined) delete process.env[name];
    else process.env[name] = value;
  }
  return before;
}
