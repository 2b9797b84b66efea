import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { composeServices } from '../../../src/cli/compose.ts';
import { main } from '../../../src/cli/main.ts';
import type { Ended, Start } from '../halo/halo-process.ts';

/** Variables of the surroundings that could decide where halo works. */
const NOT_INHERITED = ['HALO_URL', 'HALO_TOKEN', 'HALO_REDIS_URL', 'OPENAI_API_KEY'];

/**
 * Performs a command line of halo as its own process does, with the same services, but in this process, which starts
 * much faster. One command at a time: its variables replace those of this process until it ends.
 */
export async function haloHere(words: string[], { cwd, env }: Omit<Start, 'via'>): Promise<Ended> {
  const before = { ...process.env };
  const set = { ...Object.fromEntries(NOT_INHERITED.map((name) => [name, undefined])), ...env };
  replaceVariables(set);
  const [stdout, stderr] = [new PassThrough(), new PassThrough()];
  const printed = Promise.all([text(stdout), text(stderr)]);
  try {
    const code = await main(words, {
      stdin: new PassThrough().end(),
      stdout,
      stderr,
      terminal: { drawable: false, shown: false, color: { stdout: false, stderr: false }, debug: false },
      cwd,
      services: composeServices(words),
      ask: undefined,
      onStop: () => () => undefined,
      onKey: () => () => undefined,
      exitNow: () => undefined,
    });
    for (const stream of [stdout, stderr]) stream.end();
    const [out, err] = await printed;
    return { code, stdout: out, stderr: err };
  } finally {
    replaceVariables(Object.fromEntries(Object.keys(set).map((name) => [name, before[name]])));
  }
}

function replaceVariables(values: Record<string, string | undefined>): void {
  for (const [name, value] of Object.entries(values))
    if (value === undefined) delete process.env[name];
    else process.env[name] = value;
}
