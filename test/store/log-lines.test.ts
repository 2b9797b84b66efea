import { appendFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { findLines } from '../../src/core/text/safe-text.ts';
import { LogReader } from '../../src/store/run/log-lines.ts';
import type { StoredContent } from '../../src/store/run/stored-file.ts';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'halo-log-'));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

function plain(text: string): StoredContent {
  const path = join(dir, '1.log');
  writeFileSync(path, text);
  return { path, isStored: false, bytes: Buffer.byteLength(text) };
}

function compressed(text: string): StoredContent {
  const path = join(dir, '1.log.gz');
  writeFileSync(path, gzipSync(text));
  return { path, isStored: true };
}

async function texts(reader: LogReader, content: StoredContent, from: number, count: number): Promise<string[]> {
  return (await reader.readLines(content, from, count)).lines.map(String);
}

const LINES = Array.from({ length: 123_456 }, (_, at) => `line ${at} ${'ä'.repeat(at % 40)}`);

describe.each([
  ['plain', plain],
  ['compressed', compressed],
])('a log in a %s file', (_name, write) => {
  it('returns any of its lines', async () => {
    const content = write(`${LINES.join('\n')}\n`);
    const reader = new LogReader();
    for (const from of [0, 999, 1_000, 1_001, 65_432, 123_455])
      expect(await texts(reader, content, from, 3)).toEqual(LINES.slice(from, from + 3));
    expect(await reader.readLines(content, 123_456, 3)).toEqual({ total: 123_456, from: 123_456, lines: [] });
  });

  it('counts a last line without an end, and no line of an empty file', async () => {
    const content = write('a\n\nb');
    expect(await texts(new LogReader(), content, 0, 10)).toEqual(['a', '', 'b']);
    expect(await new LogReader().readLines(write(''), 0, 10)).toEqual({ total: 0, from: 0, lines: [] });
  });

  it('cuts long lines, and returns fewer lines if they are long', async () => {
    const content = write(`${'x'.repeat(5_000_000)}\n${`${'y'.repeat(4_096)}\n`.repeat(1_000)}`);
    const { total, lines } = await new LogReader().readLines(content, 0, 1_000);
    expect(total).toBe(1_001);
    expect(lines.length).toBeLessThan(300);
    expect(lines.map(({ length }) => length).every((length) => length === 4_096)).toBe(true);
    expect(String(lines[1])).toBe('y'.repeat(4_096));
  });

  it('finds lines in upper and lower case, across colors and chunks', async () => {
    const text = LINES.map((line, at) => (at % 1_000 === 1 ? `${line} \u001b[1;31mFa\u001b[0mIled` : line)).join('\n');
    const found = await new LogReader().search(write(text), (lines) => findLines(String(lines), 'failed'));
    expect(found.count).toBe(124);
    expect(found.lines.slice(0, 3)).toEqual([1, 1_001, 2_001]);
    expect(found.lines.at(-1)).toBe(123_001);
  });

  it('names at most 10,000 lines that match, and counts all', async () => {
    const found = await new LogReader().search(write(LINES.join('\n')), (lines) => findLines(String(lines), 'LINE'));
    expect(found.count).toBe(123_456);
    expect(found.lines).toHaveLength(10_000);
  });
});

describe('a log that grows', () => {
  it('has the new lines at the next call, also those that were begun', async () => {
    const reader = new LogReader();
    const content = plain('one\ntw');
    expect(await texts(reader, content, 0, 10)).toEqual(['one', 'tw']);
    appendFileSync(content.path, `o\n${LINES.join('\n')}`);
    expect(await reader.measure({ ...content, bytes: 10_000_000 })).toMatchObject({ lines: 123_458 });
    expect(await texts(reader, content, 1, 2)).toEqual(['two', 'line 0 ']);
  });

  it('is read again from its start if it became shorter', async () => {
    const reader = new LogReader();
    expect(await texts(reader, plain(LINES.join('\n')), 5, 1)).toEqual([LINES[5]]);
    expect(await texts(reader, plain('new'), 0, 10)).toEqual(['new']);
  });

  it('is counted once by concurrent calls', async () => {
    const reader = new LogReader();
    const content = plain(LINES.join('\n'));
    const sizes = await Promise.all(Array.from({ length: 5 }, () => reader.measure(content)));
    expect(new Set(sizes.map(({ lines }) => lines))).toEqual(new Set([123_456]));
  });
});
