import { Writable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { HEAD_BYTES, openCommandLog, TAIL_LOG_BYTES } from '../../../src/worker/workspace/run-step.ts';

function memory(): { sink: Writable; text: () => string } {
  const chunks: Buffer[] = [];
  const sink = new Writable({
    write(chunk: Buffer, _encoding, done) {
      chunks.push(chunk);
      done();
    },
  });
  return { sink, text: () => Buffer.concat(chunks).toString('latin1') };
}

async function logOf(sizes: number[], letter = 'x'): Promise<{ text: string; tail: string }> {
  const kept = memory();
  const log = openCommandLog(kept.sink);
  log.stdout.write('first\n');
  for (const size of sizes) {
    await new Promise((done) => log.stderr.write(Buffer.alloc(size, letter), done));
  }
  log.stdout.write('\nlast');
  const tail = log.tail();
  await log.close();
  return { text: kept.text(), tail };
}

describe('the log of a command', () => {
  it('keeps all output, in order, while it is short', async () => {
    const { text, tail } = await logOf([10]);
    expect(text).toBe('first\nxxxxxxxxxx\nlast');
    expect(tail).toBe(text);
  });

  it('keeps all output up to the total of head and tail', async () => {
    const { text } = await logOf([HEAD_BYTES, TAIL_LOG_BYTES - 100]);
    expect(text).not.toContain('missing');
    expect(text).toHaveLength(HEAD_BYTES + TAIL_LOG_BYTES - 100 + 11);
  });

  it('keeps head and tail of a long one, and reports exactly how much is missing', async () => {
    const sizes = Array.from({ length: 300 }, () => 65_536);
    const { text, tail } = await logOf(sizes);
    const missing = 300 * 65_536 + 11 - HEAD_BYTES - TAIL_LOG_BYTES;
    expect(text.startsWith('first\nxxx')).toBe(true);
    expect(text.slice(HEAD_BYTES, HEAD_BYTES + 60)).toContain(`\n[halo: ${missing} bytes are missing here]\n`);
    expect(text.endsWith('xxx\nlast')).toBe(true);
    expect(tail).toHaveLength(4_096);
  });
});
