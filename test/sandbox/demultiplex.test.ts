import { Readable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { tailSink } from '../../src/lib/streams.ts';
import { writeOutput, splitFrames } from '../../src/sandbox/docker/demultiplex.ts';

function frame(type: number, payload: string): Buffer {
  const header = Buffer.alloc(8);
  header[0] = type;
  header.writeUInt32BE(Buffer.byteLength(payload), 4);
  return Buffer.concat([header, Buffer.from(payload)]);
}

async function split(chunks: Buffer[]): Promise<{ stdout: string; stderr: string; bytes: number }> {
  const [stdout, stderr] = [tailSink(1_000_000), tailSink(1_000_000)];
  let bytes = 0;
  const count = (size: number) => (bytes += size) > 0;
  await writeOutput(splitFrames(Readable.from(chunks)), { stdout: stdout.sink, stderr: stderr.sink }, count);
  return { stdout: stdout.text(), stderr: stderr.text(), bytes };
}

const inPieces = (bytes: Buffer, size: number) =>
  Array.from({ length: Math.ceil(bytes.length / size) }, (_, i) => bytes.subarray(i * size, (i + 1) * size));

describe('the demultiplexer of the attach stream', () => {
  const stream = Buffer.concat([frame(1, 'one '), frame(2, 'wrong'), frame(1, ''), frame(1, 'two')]);

  it.each([1, 3, 8, 9, 1_000])('yields the same output if the socket delivers %i bytes at a time', async (size) => {
    expect(await split(inPieces(stream, size))).toEqual({ stdout: 'one two', stderr: 'wrong', bytes: 12 });
  });

  it('accepts ten thousand tiny frames in one chunk', async () => {
    const many = Buffer.concat(Array.from({ length: 10_000 }, () => frame(1, 'x')));
    expect((await split([many])).stdout).toBe('x'.repeat(10_000));
  });

  it('refuses a stream that ends inside a frame', async () => {
    await expect(split([stream.subarray(0, stream.length - 1)])).rejects.toThrow('inside a frame');
    await expect(split([stream.subarray(0, 5)])).rejects.toThrow('inside a frame');
  });

  it('continues when a sink is closed', async () => {
    const [stdout, stderr] = [tailSink(10), tailSink(10)];
    stdout.sink.destroy();
    await writeOutput(splitFrames(Readable.from([stream])), { stdout: stdout.sink, stderr: stderr.sink }, () => true);
    expect(stderr.text()).toBe('wrong');
  });
});
