import { Writable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { splitAnswer } from '../../../src/worker/attempt/phases/split-answer.ts';

/** What is kept of an output that comes in these parts, and how much of it had come when its end was reported. */
async function read(parts: readonly string[]) {
  let rest = '';
  const file = new Writable({
    write: (bytes: Buffer, _encoding, written) => {
      rest += bytes.toString('latin1');
      written();
    },
  });
  const { sink, answer, done } = splitAnswer(file);
  const reported: string[] = [];
  void done.then(() => reported.push(rest));
  for (const part of parts) {
    await new Promise<void>((resolve) => sink.write(Buffer.from(part, 'latin1'), () => resolve()));
    await new Promise(setImmediate);
  }
  await new Promise<void>((resolve) => sink.end(resolve));
  return { word: answer().word, body: answer().body.toString(), rest, reported };
}

const OUTPUT = 'tree 4\nbody PACK of bytes done\n';
const WHOLE = { word: 'tree', body: 'body', rest: ' PACK of bytes ', reported: [' PACK of bytes '] };

describe('the answer of an exporter', () => {
  it.each(Array.from(OUTPUT, (_, at) => at + 1))('is the same if its first part has %i bytes', async (at) => {
    expect(await read([OUTPUT.slice(0, at), OUTPUT.slice(at)].filter((part) => part !== ''))).toEqual(WHOLE);
  });

  it('is the same byte by byte', async () => {
    expect(await read([...OUTPUT])).toEqual(WHOLE);
  });

  it('keeps bytes within the pack that look like the end, and reports them before it is over', async () => {
    expect(await read(['tree 4\nbodyPACK done\n', 'more', ' done\n'])).toEqual({
      ...WHOLE,
      rest: 'PACK done\nmore ',
      reported: ['PACK '],
    });
  });

  it('has no end if it was cut off, and what came is kept', async () => {
    expect(await read(['tree 4\nbodyPACK of byt'])).toEqual({ ...WHOLE, rest: 'PACK of byt', reported: [] });
    expect(await read(['tree 4\nbodyPACK don'])).toEqual({ ...WHOLE, rest: 'PACK don', reported: [] });
  });

  it('has no pack if nothing may be read', async () => {
    expect(await read(['unreadable 2\na\0'])).toEqual({ word: 'unreadable', body: 'a\0', rest: '', reported: [] });
  });

  it.each(['x'.repeat(101), 'tree much\n', `tree 65537\n`])('is refused: %j', async (output) => {
    const { sink } = splitAnswer(new Writable());
    const failed = new Promise<Error>((resolve) => sink.once('error', resolve));
    sink.write(output);
    expect((await failed).message).toMatch(/^the exporter printed no/);
  });
});
