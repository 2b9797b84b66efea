import { mkdir, open, type FileHandle } from 'node:fs/promises';
import { dirname } from 'node:path';
import { Writable } from 'node:stream';
import { createByteBuffer } from '../../lib/streams.ts';
import { toDiskError } from '../disk-errors.ts';

const NEWLINE = 0x0a;
/** A longer line is written in parts. */
const MAX_LINE_BYTES = 4 * 1024 * 1024;

/**
 * Opens a stream that writes an agent's output to two files: byte for byte to `own`, the attempt's file, and line by
 * line to the end of `shared`, the run's file. The stream fails with DISK_FAILED.
 */
export function openRawOutput(paths: { own: string; shared: string }, mayWrite?: () => Promise<void>): Writable {
  let files: { own: FileHandle; shared: FileHandle } | undefined;
  const line = createByteBuffer();

  const start = async () => {
    await mayWrite?.();
    await mkdir(dirname(paths.own), { recursive: true, mode: 0o700 });
    return { own: await open(paths.own, 'a', 0o600), shared: await open(paths.shared, 'a', 0o600) };
  };
  const write = async (chunk: Buffer) => {
    files ??= await start();
    await files.own.writeFile(chunk);
    const cut = chunk.lastIndexOf(NEWLINE) + 1;
    const whole = line.length() + chunk.length > MAX_LINE_BYTES ? chunk.length : cut;
    line.add(chunk.subarray(0, whole));
    if (whole > 0) await files.shared.writeFile(line.take());
    line.add(chunk.subarray(whole));
  };
  const end = async () => {
    if (line.length() === 0) return;
    line.add(Buffer.from('\n'));
    await files?.shared.writeFile(line.take());
  };
  const close = async () => {
    await files?.own.close();
    await files?.shared.close();
  };
  const report = (done: (error?: Error | null) => void) => (error: unknown) =>
    done(toDiskError(paths.own, error) as Error);

  return new Writable({
    write: (chunk: Buffer, _encoding, done) => void write(chunk).then(() => done(), report(done)),
    final: (done) => void end().then(() => done(), report(done)),
    destroy: (error, done) => void close().then(() => done(error), report(done)),
  });
}
