import { chmod } from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger } from 'pino';
import { createFolders } from '../../lib/fs.ts';
import { escapeJson } from '../../core/text/safe-text.ts';
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
  const options = { level: 'info', hooks: { streamWrite: (line: string) => escapeJson(masker.text(line)) } };
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
