import { processEnv, type Env } from './host.ts';

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
