import { describe, expect, it } from 'vitest';
import { hasHidden } from '../../../src/core/text/hidden-characters.ts';
import { truncate, safeJson, safeLine, safeOutput, safeText } from '../../../src/core/text/safe-text.ts';
import { openHostileText } from '../../support/text/hostile-text.ts';

describe('safeText', () => {
  it.each([
    ['colors', '\u001b[1;31mred\u001b[0m', '<U+001B>[1;31mred<U+001B>[0m'],
    ['a window title with what is in it', '\u001b]0;evil()\u0007text', '<U+001B>]0;evil()<U+0007>text'],
    ['a link', '\u001b]8;;http://x\u001b\\click', '<U+001B>]8;;http://x<U+001B>\\click'],
    ['eight-bit sequences', 'a\u009b31mb\u009d0;t\u009cc', 'a<U+009B>31mb<U+009D>0;t<U+009C>c'],
    ['a lone escape', 'a\u001b', 'a<U+001B>'],
    ['bells, backspaces and nulls', 'a\u0007\bb\u0000c\u007f', 'a<U+0007><U+0008>b<U+0000>c<U+007F>'],
    ['a return that would overwrite the line', 'rm -rf /\rls', 'rm -rf /<U+000D>ls'],
    ['line ends that are not newlines', 'a\u0085b\u2028c\u2029', 'a<U+0085>b<U+2028>c<U+2029>'],
    ['direction overrides', 'a\u202egnp.exe\u2069\u200f', 'a<U+202E>gnp.exe<U+2069><U+200F>'],
    ['zero-width characters', 'is\u200bAdmin\ufeff\u2060\u00ad', 'is<U+200B>Admin<U+FEFF><U+2060><U+00AD>'],
    ['letters that look like nothing', 'a\u3164 \u115f\uffa0\u2800', 'a<U+3164> <U+115F><U+FFA0><U+2800>'],
    ['tags', 'a\u{e0041}\u{e007f}', 'a<U+E0041><U+E007F>'],
    ['variants of ideographs', '葛\u{e0100}', '葛<U+E0100>'],
    ['what is drawn as nothing', 'a\u{1d159}\u{16fe4}\u{13440}\uffff', 'a<U+1D159><U+16FE4><U+13440><U+FFFF>'],
    ['variation selectors that carry data', 'a\u{fe01}\u{e0110}1\ufe0f', 'a<U+FE01><U+E0110>1<U+FE0F>'],
    ['joiners outside of the scripts that spell with them', 'ad\u200dmin \u200c', 'ad<U+200D>min <U+200C>'],
    ['lone surrogates', 'a\ud800b', 'a<U+D800>b'],
    ['a flood of combining marks', `a${'\u0301'.repeat(9)}`, `a${'\u0301'.repeat(6)}${'<U+0301>'.repeat(3)}`],
  ])('escapes %s', (_name, input, output) => {
    expect(safeText(input)).toBe(output);
    expect(hasHidden(input)).toBe(true);
  });

  it.each([
    ['newlines, tabs and all scripts', 'ä\t漢字\n é e\u0301 ไทย עברית'],
    ['emoji with all that belongs to them', '👩‍💻 ❤️ 👍🏽 🏳️‍🌈 👨‍👩‍👧‍👦 1️⃣ ☎︎ 🇩🇪'],
    ['joiners that are spelling', 'می‌خواهم क्‍ष ශ්‍රී'],
    ['ordinary marks', 'Việt e\u0323\u0302 שָׁלוֹם'],
  ])('keeps %s', (_name, text) => {
    expect(safeText(text)).toBe(text);
    expect(hasHidden(text)).toBe(false);
  });

  it('judges each character alone as it does beside others', () => {
    for (let code = 0; code <= 0xffff; code += 1) {
      const character = String.fromCharCode(code);
      // With a letter of another script the whole text is searched.
      if (hasHidden(character) !== hasHidden(`${character}\u1e00`)) expect.fail(code.toString(16));
    }
  });

  it('escapes everything that a terminal interprets, and omits nothing', () => {
    const hostile = openHostileText(7);
    for (let round = 0; round < 2000; round += 1) {
      const text = hostile.text();
      const safe = safeText(text);
      expect(safe).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e]/);
      const back = safe.replace(/<U\+([0-9A-F]{4,6})>/g, (_all, hex: string) =>
        String.fromCodePoint(parseInt(hex, 16)),
      );
      expect(back).toBe(text);
    }
  });

  it('takes linear time', () => {
    const most = 280_000;
    for (const part of ['\u200b', 'a\u0301', '\u0301', '👩\u200d', '\ufe0f', '\u001b[', '1\ufe0f'])
      expect(safeText(part.repeat(most / part.length)).length).toBeGreaterThanOrEqual(most);
  });
});

describe('safeOutput', () => {
  it('removes colors and cursor movements, and escapes the rest', () => {
    expect(safeOutput('\u001b[1;31mred\u001b[0m \u001b[?25l\u001b[2K\u001b[1A')).toBe('red ');
    expect(safeOutput('\u001b]0;evil()\u0007\u001b[')).toBe('<U+001B>]0;evil()<U+0007><U+001B>[');
  });

  it('converts carriage returns of progress bars to newlines', () => {
    expect(safeOutput('a\r\nb\rc')).toBe('a\nb\nc');
  });
});

it('safeJson means the same as JSON, and is safe to print', () => {
  const value = { a: ['\u009b31m', '\u202e', '\u{e0041}', '\u001b[m', '\u2028', '\u3164', 'ä漢👍'] };
  expect(JSON.parse(safeJson(value))).toEqual(value);
  expect(safeText(safeJson(value))).toBe(safeJson(value));
  expect(safeJson(value)).toContain('ä漢👍');
});

describe('safeLine and truncate', () => {
  it('puts text on one line of limited length', () => {
    expect(safeLine('a\n  b\tc\r\nd')).toBe('a b c d');
    expect(safeLine('a\rb\u200b')).toBe('a<U+000D>b<U+200B>');
    expect(safeLine('x'.repeat(50_000_000), 10)).toBe('xxxxxxxxx…');
  });

  it('never splits a character', () => {
    expect(truncate('👍👍👍👍', 3)).toBe('👍👍…');
    expect(truncate('👍👍', 2)).toBe('👍👍');
  });
});
