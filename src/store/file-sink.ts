import { mkdirSync, rmSync } from 'node:fs';
import { open, type FileHandle } from 'node:fs/promises';
import { dirname } from 'node:path';
import { Writable } from 'node:stream';
import { asDiskError } from './disk-errors.ts';

/**
 * A stream that fills a new file of this owner alone, in a folder that is made; what was at the path stays with whoever
 * holds it open. Fails with DISK_FAILED.
 */
export function openFileSink(path: string): Writable {
  let file: FileHandle | undefined;
  const begin = () => {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    rmSync(path, { force: true });
    return open(path, 'wx', 0o600);
  };
  const report = (done: (error?: Error | null) => void) => (error: unknown) => done(asDiskError(path, error) as Error);
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
