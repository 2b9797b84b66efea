import { chmod } from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger } from 'pino';
import { createFolders } from '../../lib/fs.ts';
import { escapeJson } from '../../core/text/safe-text.ts';
import { HaloError } from '../../core/failure/errors.ts';
import type { Masker } from '../../lib/secrets/masker.ts';

/** Lines that could not be written are kept up to this length, and written with a later one. */
const MAX_KEPT_LENGTH = 1024 * 1024;

/**
 * The worker's log: on stderr, or in `<home>/worker.log`, which no other user can read. A disk that is full does not end the
 * worker.
 */
export async function openLog(
  log: 'stderr' | 'file',
  { home, masker }: { home: string; masker: Masker },
): Promise<Logger> {
  const { pino } = await import('pino');
  const serializers = { err: (error: unknown) => describeLogged(error) ?? pino.stdSerializers.err(error as Error) };
  const options = {
    level: 'info',
    serializers,
    hooks: { streamWrite: (line: string) => escapeJson(masker.text(line)) },
  };
  const open = (where: { dest: number | string; mode?: number }) => {
    const sink = pino.destination({ ...where, sync: true, maxLength: MAX_KEPT_LENGTH });
    sink.on('error', () => undefined);
    return pino(options, sink);
  };
  if (log === 'stderr') return open({ dest: 2 });
  const dest = join(home, 'worker.log');
  await createFolders(home, 0o700);
  // Opening an existing file does not change its mode.
  await chmod(dest, 0o600).catch(() => undefined);
  return open({ dest, mode: 0o600 });
}

/**
 * An error whose message says what is wrong: without stack, and with its cause only if the message does not contain it.
 * Undefined for other errors, which need their stack.
 */
export function describeLogged(error: unknown): Record<string, unknown> | undefined {
  if (!(error instanceof HaloError) || error.code === 'INTERNAL') return undefined;
  const { code, message, hint, cause } = error;
  const why = cause instanceof Error ? cause.message : '';
  return {
    ...{ type: 'HaloError', code, message },
    ...(hint !== undefined && { hint }),
    ...(!message.includes(why) && { cause: why }),
  };
}
