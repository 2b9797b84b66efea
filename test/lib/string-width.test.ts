import { describe, expect, it } from 'vitest';
import { cutStartToWidth, cutToWidth, fitToWidth, widthOf } from '../../src/lib/width.ts';

describe('cutToWidth', () => {
  it.each([
    ['abc', 3, 'abc'],
    ['abcd', 3, 'ab…'],
    ['漢字漢字', 5, '漢字…'],
    ['漢字漢字', 4, '漢…'],
    ['👩‍💻👩‍💻', 3, '👩‍💻…'],
    ['e\u0301e\u0301e\u0301', 2, 'e\u0301…'],
    ['abc', 1, '…'],
    ['abc', 0, ''],
  ])('cuts %s to %i columns', (line, width, result) => {
    expect(cutToWidth(line, width)).toBe(result);
    expect(widthOf(cutToWidth(line, width))).toBeLessThanOrEqual(width);
  });
});

describe('cutStartToWidth', () => {
  it.each([
    ['abc', 3, 'abc'],
    ['/home/me/shop', 6, '…/shop'],
    ['漢字漢字', 4, '…字'],
    ['abc', 0, ''],
  ])('cuts the start of %s to %i columns', (line, width, result) => {
    expect(cutStartToWidth(line, width)).toBe(result);
  });
});

describe('fitToWidth', () => {
  it('fills up by columns, not by characters', () => {
    expect(fitToWidth('漢', 4)).toBe('漢  ');
    expect(fitToWidth('abcdef', 4)).toBe('abc…');
  });
});
