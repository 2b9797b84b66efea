import { mkdir, open, type FileHandle } from 'node:fs/promises';
import { dirname } from 'node:path';
import { Writable } from 'node:stream';
import { asDiskError } from './disk.ts';

const NEWLINE = 0x0a;
/** A longer line is passed on in parts. */
const LONGEST_LINE = 4 * 1024 * 1024;

/**
 * A stream that keeps an agent's output twice: byte for byte in `own`, the attempt's file, and line by line
 * at the end of `shared`, the run's file. Fails with DISK_FAILED.
 */
export function openRawOutput(own: string, shared: string): Writable {
  let files: { own: FileHandle; shared: FileHandle } | undefined;
  let line: Buffer[] = [];
  let lineLength = 0;

  const start = async () => {
    await mkdir(dirname(own), { recursive: true, mode: 0o700 });
    return { own: await open(own, 'a', 0o600), shared: await open(shared, 'a', 0o600) };
  };
  const write = async (chunk: Buffer) => {
    files ??= await start();
    await files.own.writeFile(chunk);
    const cut = chunk.lastIndexOf(NEWLINE) + 1;
    const whole = lineLength + chunk.length > LONGEST_LINE ? chunk.length : cut;
    if (whole > 0) {
      await files.shared.writeFile(Buffer.concat([...line, chunk.subarray(0, whole)]));
      line = [];
      lineLength = 0;
    }
    if (whole < chunk.length) line.push(Buffer.from(chunk.subarray(whole)));
    lineLength += chunk.length - whole;
  };
  const end = async () => {
    if (lineLength > 0) await files?.shared.writeFile(Buffer.concat([...line, Buffer.from('\n')]));
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
