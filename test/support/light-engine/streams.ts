import type { ChildProcess } from 'node:child_process';
import type { Duplex } from 'node:stream';

/** In frames, as an engine sends the two streams of a container without a terminal. */
export function connectStreams(stream: Duplex, { stdin, stdout, stderr }: ChildProcess): void {
  stream.on('error', () => stream.destroy());
  stdin!.on('error', () => undefined);
  stream.pipe(stdin!);
  let open = 2;
  for (const [type, output] of [
    [1, stdout!],
    [2, stderr!],
  ] as const) {
    output.on('data', (bytes: Buffer) => {
      if (stream.destroyed || stream.writableEnded) return;
      const head = Buffer.alloc(8);
      head[0] = type;
      head.writeUInt32BE(bytes.length, 4);
      stream.write(head);
      if (stream.write(bytes)) return;
      for (const each of [stdout!, stderr!]) each.pause();
    });
    output.on('close', () => {
      if (--open === 0) stream.end();
    });
  }
  const resume = () => [stdout!, stderr!].forEach((output) => output.resume());
  stream.on('drain', resume);
  // Without a reader, output is lost, and stdin has ended.
  stream.on('close', () => {
    resume();
    stdin!.end();
  });
}
