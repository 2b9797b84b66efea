import { describe, expect, it } from 'vitest';
import { truncateStartToWidth, truncateToWidth, padToWidth, stringWidth } from '../../src/lib/string-width.ts';

describe('widthOf', () => {
  it.each([
    ['', 0],
    ['halo ls', 7],
    ['✓ größe · 1…2 → ─ ⠋', 19],
    ['\x1b[31mred\x1b[39m', 3],
    ['\x1b[31m漢字\x1b[39m', 4],
    ['e\u0301\u0302', 1],
    ['\u200b\u200d', 0],
    ['👩🏽‍🚀🏳️‍🌈🇩🇪', 6],
    ['❤️', 2],
    ['❤', 1],
    ['❤\u200d🔥', 2],
    ['1️⃣', 2],
    ['1\u20e3', 2],
    ['ｶﾞ', 2],
    ['\u1112\u1161\u11ab한', 4],
    ['नमस्ते', 3],
    ['𠮷', 2],
    ['\ud800', 0],
  ])('%j takes %i columns', (line, width) => expect(stringWidth(line)).toBe(width));
});

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
    expect(truncateToWidth(line, width)).toBe(result);
    expect(stringWidth(truncateToWidth(line, width))).toBeLessThanOrEqual(width);
  });
});

describe('cutStartToWidth', () => {
  it.each([
    ['abc', 3, 'abc'],
    ['/home/me/shop', 6, '…/shop'],
    ['漢字漢字', 4, '…字'],
    ['abc', 0, ''],
  ])('cuts the start of %s to %i columns', (line, width, result) => {
    expect(truncateStartToWidth(line, width)).toBe(result);
  });
});

describe('fitToWidth', () => {
  it('fills up by columns, not by characters', () => {
    expect(padToWidth('漢', 4)).toBe('漢  ');
    expect(padToWidth('abcdef', 4)).toBe('abc…');
  });
});
