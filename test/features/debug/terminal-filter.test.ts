import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { openTerminalFilter } from '../../../src/features/debug/core/terminal-filter.ts';

const filtered = (text: string) => openTerminalFilter().write(Buffer.from(text));

describe('a terminal filter', () => {
  it.for([
    ['text, also in other scripts', 'naïve 日本 🙂\r\n\t\u0007\b'],
    ['colours', '\u001b[1;38;2;10;20;30m\u001b[0m\u001b[4:3m'],
    ['cursor movements', '\u001b[2;5H\u001b[A\u001b7\u001b8\u001b[s\u001b[u\u001b[5G'],
    ['erasing and scrolling', '\u001b[2J\u001b[?2K\u001b[1;10r\u001b[3L\u001bM'],
    ['the second screen and its cursor', '\u001b[?1049h\u001b[?25l\u001b[?1h\u001b=\u001b[?2004h'],
    ['lines', '\u001b(0lqk\u001b(B\u000e\u000f'],
  ])('passes %s', ([, text]) => {
    expect(filtered(text!)).toBe(text);
  });

  it.for([
    ['the title', '\u001b]0;evil\u0007'],
    ['the clipboard', '\u001b]52;c;ZXZpbA==\u001b\\'],
    ['links', '\u001b]8;;http://evil.example\u001b\\'],
    ['strings for the terminal', '\u001bP$qm\u001b\\\u001b_x\u001b\\\u001b^x\u001b\\\u001bXx\u001b\\'],
    ['a question for its kind', '\u001b[c\u001b[>c\u001b[=c\u001bZ\u0005'],
    ['a question for the cursor', '\u001b[6n\u001b[?6n'],
    ['the window', '\u001b[21t\u001b[8;1;1t'],
    ['reports of keys and the mouse', '\u001b[?1000h\u001b[?1006h\u001b[>4;2m\u001b[>1u\u001b[?u'],
    ['a reset', '\u001bc\u001b[!p'],
    ['a long sequence', `\u001b[${'1'.repeat(1_000)}`.slice(0, 130)],
    ['controls of eight bits', '\u009b6n'.slice(0, 1)],
  ])('removes %s', ([, text]) => {
    expect(filtered(`a${text!}b`)).toBe('ab');
  });

  it('keeps the allowed of several modes', () => {
    expect(filtered('\u001b[?1000;25;1003l')).toBe('\u001b[?25l');
  });

  it('ends a string at what cancels it, and a sequence at the next one', () => {
    expect(filtered('\u001b]0;evil\u0018shown')).toBe('shown');
    expect(filtered('\u001b]0;evil\u001b[1mshown')).toBe('\u001b[1mshown');
    expect(filtered('\u001b[1\u001b[2mshown')).toBe('\u001b[2mshown');
  });

  it('prints the same, whatever the chunks, and nothing that a terminal answers', () => {
    const pieces = fc.constantFrom(
      '\u001b',
      '[',
      ']',
      '?',
      '6',
      'n',
      'c',
      ';',
      '(',
      'P',
      '\\',
      '\u0007',
      'h',
      'm',
      'é',
    );
    fc.assert(
      fc.property(fc.array(pieces), fc.nat(), (parts, at) => {
        const bytes = Buffer.from(parts.join(''));
        const filter = openTerminalFilter();
        const whole = filtered(parts.join(''));
        const middle = at % (bytes.length + 1);
        expect(filter.write(bytes.subarray(0, middle)) + filter.write(bytes.subarray(middle))).toBe(whole);
        // oxlint-disable-next-line no-control-regex -- escape sequences are what it is about
        expect(whole).not.toMatch(/\u001b(?:\][^\u001b]|P|\[[?>=]?[\d;]*[cn])/);
      }),
    );
  });

  it('puts the terminal back', () => {
    const filter = openTerminalFilter();
    filter.write(Buffer.from('\u001b[?1049h\u001b[?25l\u001b[?2004h\u001b[?2004l'));
    expect(filter.end()).toContain('\u001b[?1049l\u001b[?25h');
    expect(filter.end()).not.toContain('?1049');
  });
});
