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

  it('reads a line of many columns once', () => {
    // The processor time of a quick one, because the collection of garbage of other tests may fall into it.
    const time = (length: number) => {
      const line = '購'.repeat(length);
      const times = [1, 2, 3].map(() => {
        const started = process.cpuUsage();
        expect(wrapIndented(line, 20)).toHaveLength(length / 10);
        return process.cpuUsage(started).user / 1000;
      });
      return Math.min(...times);
    };
    time(1000);
    const [short, long] = [time(2000), time(20_000)];
    expect(long).toBeLessThan(40 * Math.max(5, short));
  });
});
