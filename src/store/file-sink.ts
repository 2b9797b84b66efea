import { rmSync } from 'node:fs';
import { open, type FileHandle } from 'node:fs/promises';
import { dirname } from 'node:path';
import { Writable } from 'node:stream';
import { createFolders } from '../lib/fs.ts';
import { toDiskError } from './disk-errors.ts';

/**
 * Opens a stream that writes a new file, readable by its owner only, and creates the folder. An existing file is
 * unlinked, not overwritten: processes that have it open keep its content. The stream fails with DISK_FAILED, and with
 * the error of `mayWrite`, which is called first.
 */
export function openFileSink(path: string, mayWrite?: () => Promise<void>): Writable {
  let file: FileHandle | undefined;
  const begin = async () => {
    await mayWrite?.();
    await createFolders(dirname(path), 0o700);
    rmSync(path, { force: true });
    return open(path, 'wx', 0o600);
  };
  const report = (done: (error?: Error | null) => void) => (error: unknown) => done(toDiskError(path, error) as Error);
  return new Writable({
    construct: (done) =>
      void Promise.resolve()
        .then(begin)
        .then((opened) => {
          file = opened;
          done();
        }, report(done)),
    write: (chunk: Buffer, _encoding, done) =>
      void file?.writeFile(chunk).then(() => {
        done();
      }, report(done)),
    destroy: (error, done) => void Promise.resolve(file?.close()).then(() => done(error), report(done)),
  });
}
