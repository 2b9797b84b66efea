import { readSecret, type Env } from './environment/host.ts';

/** Not every machine has it. */
const LESS = 'if command -v less >/dev/null; then exec less; else exec cat; fi';

/**
 * The command line of the user's pager by git's rules: GIT_PAGER, `core.pager` of their own configuration, PAGER, then
 * `less`. Undefined where they want none: it is empty or `cat`.
 */
export async function readPager(
  env: Env,
  corePager: () => Promise<string | undefined>,
): Promise<{ command: string; env: Env } | undefined> {
  const command = env['GIT_PAGER'] ?? (await corePager()) ?? readSecret(env, 'PAGER') ?? LESS;
  if (command.trim() === '' || command.trim() === 'cat') return undefined;
  // As git does: colors are passed on, and what fits on the screen is not paged.
  return { command, env: { LESS: 'FRX', LV: '-c', ...env } };
}
