import { composeServices } from '../../../src/cli/compose.ts';
import { NOT_INHERITED, type Ended, type Start } from '../halo/halo-process.ts';
import { openMemory } from '../memory-operations.ts';
import { runCli } from './cli-world.ts';

/**
 * Runs a command line of halo with its real services, as a process of its own would, in this process. What programs that
 * it starts write to its terminal is not in the result.
 */
export async function callHalo(words: string[], { cwd, env }: Pick<Start, 'cwd' | 'env'>): Promise<Ended> {
  const before = setVariables({ ...NOT_INHERITED, ...env });
  try {
    return await runCli(words, { operations: openMemory(), services: composeServices(words), cwd });
  } finally {
    setVariables(before);
  }
}

/** Returns the values that they had. */
function setVariables(values: Record<string, string | undefined>): Record<string, string | undefined> {
  const before = Object.fromEntries(Object.keys(values).map((name) => [name, process.env[name]]));
  for (const [name, value] of Object.entries(values)) {
    if (value === undefined) delete process.env[name];
    else process.env[name] = value;
  }
  return before;
}
