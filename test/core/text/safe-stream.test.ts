import { describe, expect, it } from 'vitest';
import { openSafeStream } from '../../../src/core/text/safe-stream.ts';
import { safeOutput } from '../../../src/core/text/safe-text.ts';
import { openHostileText } from '../../support/text/hostile-text.ts';

/** What terminals obey: clipboard, links, titles, colors, C1 forms, directions, overlong and unfinished sequences. */
const CORPUS = [
  '\u001b]52;c;ZXZpbA==\u0007text',
  '\u001b]8;;http://evil\u001b\\click\u001b]8;;\u001b\\',
  '\u001b]0;title\u009ctext\u009d0;t\u0007x',
  '\u001b[2J\u001b[1;1H\u001b[31mred\u001b[0m\u009b31mred',
  '\u001bPq#0;2;0;0;0\u001b\\sixel\u001b_apc\u001b\\\u001b^pm\u001b\\',
  'a\u202egnp.exe\u2066\u200b\u{e0041}\ufeff',
  'line\r\nline\rover\u0085\u2028\u2029\u0007\b\u0000',
  '\u001b(0charset\u001b#8\u001bc\u001b',
  '\u001b]0;open\nnext \u001b[\u001b[m \u001b]x\u001by \u001b\u001b[mz',
  'ä\t漢字 👩‍💻 é',
];

describe('a safe stream', () => {
  it.each(CORPUS)('escapes %j, split at every byte, like the whole', (text) => {
    const bytes = Buffer.from(text);
    for (let cut = 0; cut <= bytes.length; cut += 1) {
      const stream = openSafeStream();
      const shown = stream.write(bytes.subarray(0, cut)) + stream.write(bytes.subarray(cut)) + stream.end();
      expect(shown).toBe(safeOutput(text));
    }
    const stream = openSafeStream();
    const single = [...bytes].map((byte) => stream.write(Uint8Array.of(byte))).join('') + stream.end();
    expect(single).toBe(safeOutput(text));
  });

  it('agrees with safeOutput for random text and chunks', () => {
    const hostile = openHostileText(11);
    for (let round = 0; round < 3000; round += 1) {
      const text = hostile.text();
      const bytes = Buffer.from(text);
      const stream = openSafeStream();
      let shown = '';
      for (let at = 0; at < bytes.length;) {
        const length = 1 + hostile.next(5);
        shown += stream.write(bytes.subarray(at, at + length));
        at += length;
      }
      expect(shown + stream.end()).toBe(safeOutput(text));
    }
  });

  it('passes no C1 byte that is not UTF-8', () => {
    const stream = openSafeStream();
    expect(stream.write(Uint8Array.of(0x61, 0x9b, 0x33, 0x31, 0x6d, 0x62)) + stream.end()).toBe('a\ufffd31mb');
  });

  it('does not wait for the end of an endless line', () => {
    const stream = openSafeStream();
    let shown = '';
    stream.write(Buffer.from('\u001b]52;c;'));
    for (let round = 0; round < 50; round += 1) shown += stream.write(Buffer.alloc(100_000, 'A'));
    expect(shown.length).toBeGreaterThan(4_900_000);
    expect(shown + stream.write(Buffer.from('\u0007end')) + stream.end()).toBe(
      `<U+001B>]52;c;${'A'.repeat(5_000_000)}<U+0007>end`,
    );
  });
});
