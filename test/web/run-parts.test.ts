import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { endOfOutput } from '../../src/web/run/end-of-output.ts';
import { classesOf, markFound, readAnsi } from '../../src/web/run/log/read-ansi.ts';
import { layOutGraph, NODE } from '../../src/web/run/stories/lay-out-graph.ts';

const ESC = '\u001b';
const WEB = join(import.meta.dirname, '../../src/web');

describe('the colors of a log', () => {
  const look = (line: string) => readAnsi(line).map(({ text, style }) => [text, classesOf(style)]);

  it('are read from its sequences', () => {
    expect(look(`a${ESC}[31mb${ESC}[1mc${ESC}[22md${ESC}[0me`)).toEqual([
      ['a', ''],
      ['b', 'ansi-1'],
      ['c', 'ansi-1 ansi-bold'],
      ['d', 'ansi-1'],
      ['e', ''],
    ]);
    expect(look(`${ESC}[3;4;9;92mx${ESC}[23;24;29;39my`)).toEqual([
      ['x', 'ansi-10 ansi-italic ansi-underline ansi-strike'],
      ['y', ''],
    ]);
    expect(look(`${ESC}[2mx${ESC}[m y`)).toEqual([
      ['x', 'soft'],
      [' y', ''],
    ]);
  });

  it('have a background that replaces the color of the text', () => {
    expect(look(`${ESC}[31;42mx${ESC}[7my${ESC}[27;49mz${ESC}[7mw`)).toEqual([
      ['x', 'ansi-back ansi-on-2'],
      ['y', 'ansi-back ansi-on-1'],
      ['z', 'ansi-1'],
      ['w', 'ansi-back ansi-on-1'],
    ]);
    expect(look(`${ESC}[7mx`)).toEqual([['x', 'ansi-back ansi-on-text']]);
  });

  it.each([
    ['38;5;196', 'ansi-9'],
    ['38;5;2', 'ansi-2'],
    ['38;5;244', 'ansi-8'],
    ['38;2;250;5;5', 'ansi-9'],
    ['38:2::0:200:0', 'ansi-2'],
    ['48;5;21', 'ansi-back ansi-on-4'],
    ['38;5;999', ''],
    ['38;2;1;2', ''],
    ['38;5;1;1', 'ansi-1 ansi-bold'],
  ])('colors beyond the 16 become the nearest one: %s', (codes, classes) =>
    expect(look(`${ESC}[${codes}mx`)).toEqual([['x', classes]]),
  );

  it.each([
    ['the cursor', `a${ESC}[2K${ESC}[1;1H${ESC}[?25lb`, 'ab'],
    ['a link', `a${ESC}]8;;javascript:alert(1)${ESC}\\b${ESC}]8;;${ESC}\\`, 'ab'],
    ['a title', `a${ESC}]0;title\u0007b`, 'ab'],
    ['a device string', `a${ESC}P1$r0m${ESC}\\b`, 'ab'],
    ['a character set', `a${ESC}(0b`, 'ab'],
    ['an open link', `a${ESC}]8;;http://x`, 'a<U+001B>]8;;http://x'],
    ['an open sequence', `a${ESC}[31`, 'a<U+001B>[31'],
    ['a return', 'a\rb', 'a<U+000D>b'],
    ['a line end', 'a\r', 'a'],
    ['text that runs backwards', 'a\u202eb', 'a<U+202E>b'],
    ['backspaces', 'a\bb', 'a<U+0008>b'],
  ])('remain when a log contains %s', (_name, line, text) =>
    expect(
      readAnsi(line)
        .map((span) => span.text)
        .join(''),
    ).toBe(text),
  );

  it('are read in linear time from hostile lines', () => {
    const start = performance.now();
    for (const part of [`${ESC}[${'1;'.repeat(100_000)}m`, `${ESC}]`.repeat(50_000), `${ESC}[31`.repeat(50_000)])
      readAnsi(`${part}x`);
    expect(performance.now() - start).toBeLessThan(5_000);
  });

  it('are kept where a searched text is marked', () => {
    const found = markFound(readAnsi(`my ${ESC}[31mER${ESC}[0mror, error`), 'Error');
    expect(found.filter(({ isFound }) => isFound).map(({ text }) => text)).toEqual(['ER', 'ror', 'error']);
    expect(found.map(({ text }) => text).join('')).toBe('my ERror, error');
  });

  it.each([0, 1])('have a contrast of at least 4.5 on the backgrounds of a log (scheme %s)', (scheme) => {
    const css = ['page/page.css', 'run/log/log.css'].map((name) => readFileSync(join(WEB, name), 'utf8')).join('\n');
    const values = new Map(
      [...css.matchAll(/(--[\w-]+): light-dark\((#\w+), (#\w+)\)/g)].map((match) => [
        match[1],
        match[2 + scheme] ?? '',
      ]),
    );
    const names = [...values.keys()].filter((name) => name?.startsWith('--ansi-'));
    expect(names).toHaveLength(16);
    for (const name of names)
      for (const back of ['--card', '--back'])
        expect([name, back, contrast(values.get(name)!, values.get(back)!) >= 4.5]).toEqual([name, back, true]);
  });
});

/** https://www.w3.org/TR/WCAG21/#dfn-contrast-ratio */
function contrast(one: string, other: string): number {
  const [dark, light] = [luminance(one), luminance(other)].sort((a, b) => a - b) as [number, number];
  return (light + 0.05) / (dark + 0.05);
}

function luminance(color: string): number {
  const digits = color.length === 4 ? [...color.slice(1)].flatMap((digit) => [digit, digit]).join('') : color.slice(1);
  const [red = 0, green = 0, blue = 0] = [0, 2, 4].map((at) => {
    const value = parseInt(digits.slice(at, at + 2), 16) / 255;
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

describe('the end of an output', () => {
  const lines = (count: number, width = 0) =>
    Array.from({ length: count }, (_, at) => `${at + 1}${'x'.repeat(width)}`).join('\n');

  it('has all lines that the journal has', () => {
    const { lines: shown, note } = endOfOutput(`${lines(79)}\n\n`);
    expect([shown.length, shown.at(-1), note]).toEqual([79, '79', undefined]);
  });

  it('says so if the log may have more lines', () => {
    expect(endOfOutput(lines(79, 60)).note).toBe('Last 79 lines of the log');
    expect(endOfOutput(lines(1, 4_095)).note).toBe('End of the log');
  });

  it.each([
    ['FAIL', `${ESC}[41m${ESC}[1m FAIL ${ESC}[22m${ESC}[49m test/coupon.test.ts > is rounded`],
    ['a compiler', 'src/cart.ts(3,5): error TS2304: Cannot find name'],
    ['a class of errors', `${ESC}[31mAssertionError: expected 1 to be 2${ESC}[39m`],
    ['TAP', 'not ok 3 - adds up'],
    ['a sign', '   × adds up'],
    ['an exception', 'java.lang.NullPointerException: cart'],
    ['a number of errors', 'Tests run: 5, Failures: 1, Errors: 0'],
    ['an error about 0', 'error: 0.5 is not an amount'],
  ])('starts at the first error: %s', (_name, error) => {
    const before = [
      ...['ok 1 - errors.test.ts', '0 failed, no errors', '✓ src/error-text.test.ts (3 tests)'],
      ...['Tests run: 5, Failures: 0, Errors: 0, Skipped: 0', 'errors: 0', 'failures=0'],
      ...['the image has 1920×1080 pixels', 'stderror is empty'],
    ];
    expect(endOfOutput([...before, error, 'npm error code 1'].join('\n')).start).toBe(before.length);
  });

  it('starts at its end without an error', () => {
    expect(endOfOutput(lines(5)).start).toBe(4);
    expect(endOfOutput('').lines).toEqual(['']);
  });
});

describe('the graph of stories', () => {
  const story = (id: string, ...dependsOn: string[]) => ({ id, dependsOn });

  it('places each story to the right of those that it depends on', () => {
    const { nodes, edges } = layOutGraph([story('d', 'b', 'c'), story('c', 'a'), story('b', 'a'), story('a')]);
    const x = new Map(nodes.map((node) => [node.id, node.x]));
    for (const { from, to } of edges) expect(x.get(from)).toBeLessThan(x.get(to)!);
    expect(edges.map(({ from, to }) => `${from}${to}`).sort()).toEqual(['ab', 'ac', 'bd', 'cd']);
  });

  it('has no edge for a dependency that follows from others', () => {
    const { edges } = layOutGraph([story('a'), story('b', 'a'), story('c', 'a', 'b')]);
    expect(edges.map(({ from, to }) => `${from}${to}`)).toEqual(['ab', 'bc']);
  });

  it('is not harmed by cycles and unknown stories', () => {
    const { nodes } = layOutGraph([story('a', 'c', 'x'), story('b', 'a'), story('c', 'b'), story('d', 'd')]);
    expect(nodes.map(({ id }) => id).sort()).toEqual(['a', 'b', 'c', 'd']);
    expect(layOutGraph([])).toEqual({ nodes: [], edges: [], width: 0, height: 0 });
  });

  it('places 100 stories without overlap, fast', () => {
    const stories = Array.from({ length: 100 }, (_, at) =>
      story(`s${at}`, ...[1, 2, 7, 13].filter((step) => at >= step && at % step === 0).map((step) => `s${at - step}`)),
    );
    const before = process.cpuUsage();
    const { nodes } = layOutGraph(stories);
    expect(process.cpuUsage(before).user / 1000).toBeLessThan(1_000);
    for (const [index, a] of nodes.entries())
      for (const b of nodes.slice(index + 1))
        expect(Math.abs(a.x - b.x) >= NODE.width || Math.abs(a.y - b.y) >= NODE.height).toBe(true);
  });
});
