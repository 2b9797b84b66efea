import { describe, expect, it } from 'vitest';
import { compileShapeFilter, mayHoldShape, TOKEN_PATTERNS } from '../../../src/lib/secrets/token-patterns.ts';
import { openRandom } from '../../support/faults/random.ts';

const BEGINNINGS = TOKEN_PATTERNS.flatMap(({ beginnings }) => beginnings);
/** The first four characters of each beginning, where a word begins. */
const SHAPE = new RegExp(
  `(?<![\\w-])(?:${BEGINNINGS.map((text) => text.slice(0, 4) + (text.length < 4 ? '[\\w-]' : '')).join('|')})|BEGIN`,
);

describe('the filter for what looks like a secret', () => {
  it.each([0, 1, 2, 3, 4, 5, 6, 7])('finds each beginning at each place of bytes that begin at offset %i', (offset) => {
    for (const text of [...BEGINNINGS.map((beginning) => beginning.padEnd(4, 'a')), 'BEGIN'])
      for (let before = 0; before < 12; before += 1)
        for (let after = 0; after < 6; after += 1) {
          const whole = Buffer.from(`${'x'.repeat(offset)}${' '.repeat(before)}${text}${' '.repeat(after)}`);
          if (!mayHoldShape(whole.subarray(offset))) expect.fail(JSON.stringify([text, before, after]));
        }
  });

  it('agrees with a regular expression about random bytes', () => {
    const random = openRandom(15);
    const below = (end: number) => Math.floor(random() * end);
    const chars = 'sk-ghpo_AKIZx \nBEGINr\x80\xff';
    for (let round = 0; round < 20_000; round += 1) {
      let text = Array.from({ length: below(24) }, () => chars[below(chars.length)]).join('');
      const cut = below(text.length + 1);
      const part = BEGINNINGS[below(BEGINNINGS.length)]!.slice(0, 3 + below(3));
      if (below(2) === 0) text = text.slice(0, cut) + part + text.slice(cut);
      const offset = below(5);
      const bytes = Buffer.from(`${'s'.repeat(offset)}${text}`, 'latin1').subarray(offset);
      if (mayHoldShape(bytes) !== SHAPE.test(text)) expect.fail(JSON.stringify(text));
    }
  });

  it('finds nothing in bytes that are fewer than a shape', () => {
    const isAbc = compileShapeFilter([[...'abcde'].map((char) => [char.charCodeAt(0)])]);
    for (const text of ['', 'a', 'abcd', 'bcd']) expect(isAbc(Buffer.from(text))).toBe(false);
    expect(isAbc(Buffer.from('abcde'))).toBe(true);
    // A place before the first byte counts as any byte.
    expect(isAbc(Buffer.from('bcde'))).toBe(true);
  });
});
