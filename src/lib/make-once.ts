import { randomBytes } from 'node:crypto';
import { link, mkdir, open, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { syncPath } from './atomic-write.ts';

/**
 * Makes a small file for its owner alone, unless it is there: of several who come first one wins, nobody sees a part of
 * it, and a power cut does not take it any more when this resolves. Its folder is made as well.
 */
export async function makeOnce(path: string, text: string): Promise<void> {
  const aside = `${path}.${randomBytes(4).toString('hex')}.tmp`;
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  try {
    const file = await open(aside, 'wx', 0o600);
    try {
      await file.writeFile(text);
      await file.sync();
    } finally {
      await file.close();
    }
    await link(aside, path);
    await syncPath(dirname(path));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  } finally {
    await rm(aside, { force: true }).catch(() => undefined);
  }
}
