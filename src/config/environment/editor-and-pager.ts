import { HaloError } from '../../core/failure/errors.ts';
import { readSecret, type Env } from './host.ts';

/** Returns the command line of the user's editor: VISUAL, else EDITOR. Throws USAGE if neither is set. */
export function readEditor(env: Env): string {
  const editor = readSecret(env, 'VISUAL') ?? readSecret(env, 'EDITOR');
  if (editor !== undefined) return editor;
  throw new HaloError('USAGE', 'No editor is set: neither VISUAL nor EDITOR.', {
    hint: 'Set one, as in `EDITOR=nano halo prd edit`, or edit the file yourself and check it with `halo prd validate`.',
  });
}

/** The default pager; falls back to cat if less is not installed. */
const LESS = 'if command -v less >/dev/null; then exec less; else exec cat; fi';

/**
 * Returns the command line of the user's pager by git's rules: GIT_PAGER, `core.pager`, PAGER, then `less`. Undefined if
 * the pager is disabled: empty or `cat`.
 */
export async function readPager(
  env: Env,
  corePager: () => Promise<string | undefined>,
): Promise<{ command: string; env: Env } | undefined> {
  const command = env['GIT_PAGER'] ?? (await corePager()) ?? readSecret(env, 'PAGER') ?? LESS;
  if (command.trim() === '' || command.trim() === 'cat') return undefined;
  // Same options as git: keep colors, and do not page what fits on the screen.
  return { command, env: { LESS: 'FRX', LV: '-c', ...env } };
}
