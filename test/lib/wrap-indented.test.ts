import { wrapIndented, stringWidth } from '../../src/lib/string-width.ts';
import { describe, expect, it } from 'vitest';

describe('wrapToWidth', () => {
  it.each([
    ['short enough', 12, ['short enough']],
    ['one two three four', 9, ['one two', 'three', 'four']],
    ['  one two three', 9, ['  one two', '  three']],
    ['a longer-than-all word', 6, ['a', 'longer', '-than-', 'all', 'word']],
    ['漢字漢字漢字', 5, ['漢字', '漢字', '漢字']],
    ['two  spaces', 8, ['two', 'spaces']],
    ['no room', 1, ['…']],
  ])('breaks "%s" to %i columns', (line, width, lines) => {
    expect(wrapIndented(line, width)).toEqual(lines);
    for (const each of lines) expect(stringWidth(each)).toBeLessThanOrEqual(width);
  });

  it('splits one character whose vowel signs are wider than the terminal', () => {
    const line = `क${'\u0903'.repeat(50)}`;
    const lines = wrapIndented(line, 10);
    expect(lines.join('')).toBe(line);
    for (const each of lines) expect(stringWidth(each)).toBeLessThanOrEqual(10);
  });

  it('reads a line of many columns once: it would take minutes otherwise', { timeout: 30_000 }, () => {
    expect(wrapIndented('購'.repeat(20_000), 20)).toHaveLength(2_000);
  });
});
