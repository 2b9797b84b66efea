import { describe, expect, it } from 'vitest';
import { clip, safeJson, safeLine, safeText } from '../../src/core/safe-text.ts';
import { openHostileText } from '../support/hostile-text.ts';

describe('safeText', () => {
  it.each([
    ['colors', '\u001b[1;31mred\u001b[0m', 'red'],
    ['a window title', '\u001b]0;evil\u0007text', 'text'],
    ['a link with its target', '\u001b]8;;http://x\u001b\\click\u001b]8;;\u001b\\', 'click'],
    ['device control strings', 'a\u001bPpayload\u001b\\b', 'ab'],
    ['eight-bit sequences', 'a\u009b31mb\u009d0;t\u009cc', 'abc'],
    ['an unfinished sequence', 'a\u001b[', 'a'],
    ['an unfinished string up to its line end', '\u001b]0;hidden\nshown', '\nshown'],
    ['a lone escape', 'a\u001b', 'a'],
    ['a charset switch', 'a\u001b(0b', 'ab'],
    ['bells, backspaces and nulls', 'a\u0007\bb\u0000c\u007f', 'abc'],
    ['direction overrides', 'a\u202egnp.exe\u2069\u200f', 'agnp.exe'],
    ['invisible characters', 'a\u200bb\ufeff\u{e0041}', 'ab'],
    ['lone surrogates', 'a\ud800b', 'a\ufffdb'],
  ])('takes out %s', (_name, input, output) => {
    expect(safeText(input)).toBe(output);
  });

  it('keeps newlines, tabs and all scripts', () => {
    expect(safeText('ä\t漢字\n👩‍💻 é')).toBe('ä\t漢字\n👩‍💻 é');
  });

  it('turns every kind of line end into a newline', () => {
    expect(safeText('a\r\nb\rc\u2028d')).toBe('a\nb\nc\nd');
  });

  it('leaves nothing that a terminal obeys, whatever comes in', () => {
    const hostile = openHostileText(7);
    for (let round = 0; round < 2000; round += 1) {
      expect(safeText(hostile.text())).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e]/);
    }
  });
});

it('safeJson means the same as JSON, and is safe to print', () => {
  const value = { a: ['\u009b31m', '\u202e', '\u{e0041}', '\u001b[m', '\u2028', 'ä漢👍'] };
  expect(JSON.parse(safeJson(value))).toEqual(value);
  expect(safeText(safeJson(value))).toBe(safeJson(value).replaceAll('\u2028', '\n'));
  expect(safeJson(value)).toContain('ä漢👍');
});

describe('safeLine and clip', () => {
  it('puts text on one line of limited length', () => {
    expect(safeLine('a\n  b\tc')).toBe('a b c');
    expect(safeLine('x'.repeat(50_000_000), 10)).toBe('xxxxxxxxx…');
  });

  it('never cuts a character in half', () => {
    expect(clip('👍👍👍👍', 3)).toBe('👍👍…');
    expect(clip('👍👍', 2)).toBe('👍👍');
  });
});
