import { chmod } from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger } from 'pino';
import { createFolders } from '../../lib/fs.ts';
import { escapeJson } from '../../core/text/safe-text.ts';
import type { Masker } from '../../lib/secrets/masker.ts';

/** The worker's log: on stderr, or in `<home>/worker.log`, which no other user can read. */
export async function openLog(
  log: 'stderr' | 'file',
  { home, masker }: { home: string; masker: Masker },
): Promise<Logger> {
  const { destination, pino } = await import('pino');
  const options = { level: 'info', hooks: { streamWrite: (line: string) => escapeJson(masker.text(line)) } };
  if (log === 'stderr') return pino(options, destination(2));
  const dest = join(home, 'worker.log');
  await createFolders(home, 0o700);
  // Opening an existing file does not change its mode.
  await chmod(dest, 0o600).catch(() => undefined);
  return pino(options, destination({ dest, mode: 0o600, sync: true }));
}
