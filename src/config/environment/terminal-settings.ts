import { processEnv, type Env, readSecret } from './host.ts';
import { HaloError } from '../../core/failure/errors.ts';

/** Capabilities of the output streams of a command. */
export interface Terminal {
  /** Progress may be drawn in place on stdout. */
  drawable: boolean;
  /** stdout is a terminal, so control sequences must be escaped. */
  shown: boolean;
  /** Text on stdout and stderr may have color. */
  color: { stdout: boolean; stderr: boolean };
  /** HALO_DEBUG: errors include a stack trace. */
  debug: boolean;
}

interface Stream {
  isTTY?: boolean;
}

/** Values of `--color`; by default terminals have color. */
export const COLORS = ['always', 'never', 'auto'] as const;
export type ColorMode = (typeof COLORS)[number];

/** Reads NO_COLOR, FORCE_COLOR, TERM, CI and HALO_DEBUG; `--color` takes precedence over the first two. */
export function readTerminal(
  streams: { stdout: Stream; stderr: Stream },
  env: Env = processEnv(),
  wish: ColorMode = 'auto',
): Terminal {
  const isSet = (name: string) => env[name] !== undefined && env[name] !== '' && env[name] !== '0';
  const dumb = env['TERM'] === 'dumb';
  const color = ({ isTTY = false }: Stream) => {
    if (wish !== 'auto') return wish === 'always';
    return !isSet('NO_COLOR') && (isSet('FORCE_COLOR') || (isTTY && !dumb));
  };
  const shown = streams.stdout.isTTY === true;
  return {
    drawable: shown && !dumb && !isSet('CI'),
    shown,
    color: { stdout: color(streams.stdout), stderr: color(streams.stderr) },
    debug: isSet('HALO_DEBUG'),
  };
}

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
