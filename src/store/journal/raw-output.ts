import { mkdir, open, type FileHandle } from 'node:fs/promises';
import { dirname } from 'node:path';
import { Writable } from 'node:stream';
import { gatherBytes } from '../../lib/gather-bytes.ts';
import { asDiskError } from '../disk-errors.ts';

const NEWLINE = 0x0a;
/** A longer line is passed on in parts. */
const LONGEST_LINE = 4 * 1024 * 1024;

/**
 * A stream that keeps an agent's output twice: byte for byte in `own`, the attempt's file, and line by line
 * at the end of `shared`, the run's file. Fails with DISK_FAILED.
 */
export function openRawOutput(own: string, shared: string): Writable {
  let files: { own: FileHandle; shared: FileHandle } | undefined;
  const line = gatherBytes();

  const start = async () => {
    await mkdir(dirname(own), { recursive: true, mode: 0o700 });
    return { own: await open(own, 'a', 0o600), shared: await open(shared, 'a', 0o600) };
  };
  const write = async (chunk: Buffer) => {
    files ??= await start();
    await files.own.writeFile(chunk);
    const cut = chunk.lastIndexOf(NEWLINE) + 1;
    const whole = line.length() + chunk.length > LONGEST_LINE ? chunk.length : cut;
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
  const report = (done: (error?: Error | null) => void) => (error: unknown) => done(asDiskError(own, error) as Error);

  return new Writable({
    write: (chunk: Buffer, _encoding, done) => void write(chunk).then(() => done(), report(done)),
    final: (done) => void end().then(() => done(), report(done)),
    destroy: (error, done) => void close().then(() => done(error), report(done)),
  });
}
