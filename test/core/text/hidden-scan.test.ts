import { expect, it } from 'vitest';
import { HiddenScan, type HiddenLine } from '../../../src/core/text/hidden-scan.ts';
import { collectHidden, describeHidden } from '../../../src/core/text/hidden-places.ts';

function scan(bytes: Buffer, step = bytes.length, budget = { characters: 1000 }): HiddenLine[] {
  const scanning = new HiddenScan(budget);
  for (let at = 0; at < bytes.length; at += step) scanning.push(bytes.subarray(at, at + step));
  return scanning.end();
}

it('finds the same lines in a file cut at any byte', () => {
  const bytes = Buffer.from('\ufeffeins\r\n❤️ 👩‍💻\n\u001b[1m\u202e\nplain\n\u200b');
  const whole = scan(bytes);
  expect(whole.map(({ line, characters }) => [line, characters])).toEqual([
    [3, 2],
    [5, 1],
  ]);
  for (let step = 1; step < 12; step += 1) expect(scan(bytes, step)).toEqual(whole);
});

it('treats a file as binary only if no encoding of text matches', () => {
  expect(scan(Buffer.from('a\u0000b'))).toHaveLength(1);
  expect(scan(Buffer.from('\xff\u0000\u001b', 'latin1'))).toEqual([]);
  expect(scan(Buffer.concat([Buffer.alloc(9000, 'a\n'), Buffer.from('\xff\u0000', 'latin1')]))).toHaveLength(1);
});

it('scans long lines in parts, and counts further lines as one above the maximum', () => {
  const long = Buffer.from(`${'x'.repeat(200_000)}\u200b${'x'.repeat(200_000)}\n\u200b`);
  expect(scan(long, 65_536).map(({ line }) => line)).toEqual([1, 2]);
  const many = scan(Buffer.from('\u200b\n'.repeat(10_005)), 65_536, { characters: 1_000_000 });
  expect(many).toHaveLength(10_000);
  expect(many.at(-1)).toEqual({ line: 10_000, characters: 6, digest: '' });
});

it('describes their number and places', () => {
  const all = collectHidden();
  expect(all.all()).toBeUndefined();
  for (let line = 1; line <= 7; line += 1) all.add(line < 3 ? 'a\u202e.js' : 'b.js', line, 1);
  expect(describeHidden(all.all()!)).toBe(
    '7 hidden characters in 2 files: a<U+202E>.js:1, a<U+202E>.js:2, b.js:3, b.js:4, b.js:5, 2 more',
  );
});

it('names a long line once, in any number of pieces', () => {
  const all = collectHidden();
  for (const characters of [3, 4]) all.add('data.bin', 1, characters);
  expect(describeHidden(all.all()!)).toBe('7 hidden characters in 1 file: data.bin:1');
});

it('misses nothing at the boundaries of parts', () => {
  for (const hidden of ['\r', '\u{e0041}', '\u200b', '\u{e0100}'])
    for (const at of [65_534, 65_535, 65_536]) {
      const line = Buffer.from(`${'x'.repeat(at)}${hidden}evil()${'y'.repeat(70_000)}`);
      expect(scan(line, 65_536).reduce((sum, { characters }) => sum + characters, 0)).toBe(1);
    }
});
