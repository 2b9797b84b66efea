import { setTimeout as sleep } from 'node:timers/promises';
import { finished } from 'node:stream/promises';
import { expect, test } from 'vitest';
import { batchingSink, WRITE_AHEAD_BYTES } from '../../../src/lib/streams.ts';

const toError = (error: unknown) => error as Error;

/** A target whose writes end when the test says so. */
function openTarget() {
  const written: string[] = [];
  const writing: ((error?: Error) => void)[] = [];
  let isClosed = false;
  const target = {
    write: (chunks: Buffer[]) => {
      written.push(Buffer.concat(chunks).toString());
      return new Promise<void>((resolve, reject) =>
        writing.push((error) => (error === undefined ? resolve() : reject(error))),
      );
    },
    close: () => {
      isClosed = true;
      return Promise.resolve();
    },
  };
  return { target, written, finishWrite: (error?: Error) => writing.shift()?.(error), isClosed: () => isClosed };
}

test('a batching sink writes small chunks together, in order, and what arrives during a write afterwards', async () => {
  const { target, written, finishWrite } = openTarget();
  const sink = batchingSink(target, toError);
  sink.write('a');
  sink.write('b');
  await expect.poll(() => written).toEqual(['ab']);
  sink.write('c');
  await sleep(50);
  sink.write('d');
  await sleep(50);
  expect(written).toEqual(['ab']);
  finishWrite();
  await expect.poll(() => written).toEqual(['ab', 'cd']);
  sink.end('e');
  finishWrite();
  await expect.poll(() => written).toEqual(['ab', 'cd', 'e']);
  finishWrite();
  await finished(sink);
});

test('a batching sink holds no more than its limit while its target is slow', async () => {
  const { target, written, finishWrite } = openTarget();
  const sink = batchingSink(target, toError);
  const chunk = Buffer.alloc(100_000, 'x');
  sink.write('first');
  await expect.poll(() => written).toHaveLength(1);
  let accepted = 0;
  while (sink.write(chunk)) {
    accepted += chunk.length;
    await sleep(1);
    expect(accepted).toBeLessThan(3 * WRITE_AHEAD_BYTES);
  }
  expect(accepted).toBeGreaterThan(WRITE_AHEAD_BYTES / 2);
  let isDrained = false;
  sink.once('drain', () => (isDrained = true));
  await expect
    .poll(() => {
      finishWrite();
      return isDrained;
    })
    .toBe(true);
  sink.destroy();
});

test('a batching sink that is destroyed writes what it has accepted, and closes its target', async () => {
  const { target, written, finishWrite, isClosed } = openTarget();
  const sink = batchingSink(target, toError);
  sink.write('accepted');
  sink.destroy();
  await expect.poll(() => written).toEqual(['accepted']);
  expect(isClosed()).toBe(false);
  finishWrite();
  await finished(sink).catch(() => undefined);
  await expect.poll(isClosed).toBe(true);
});

test('a batching sink fails with the error of its target, and closes it', async () => {
  const { target, written, finishWrite, isClosed } = openTarget();
  const sink = batchingSink(target, toError);
  sink.write('lost');
  await expect.poll(() => written).toEqual(['lost']);
  finishWrite(new Error('the disk is full'));
  await expect(finished(sink)).rejects.toThrow('the disk is full');
  expect(isClosed()).toBe(true);
});
