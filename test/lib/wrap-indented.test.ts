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
});
