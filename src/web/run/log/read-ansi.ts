import { safeText } from '../../../core/text/safe-text.ts';

/** How text looks: colors are numbers of the palette of 16. */
export interface AnsiStyle {
  fore?: number;
  back?: number;
  bold?: true;
  dim?: true;
  italic?: true;
  underline?: true;
  inverse?: true;
  strike?: true;
}

/** A part of a line with one look. Its text is safe to show. */
export interface AnsiSpan {
  text: string;
  style: AnsiStyle;
}

/** Colors; other sequences (cursor movements, titles, links); what is left of an escape. */
const SEQUENCE =
  /(?:\u001b\[|\u009b)([0-9;:]*)m|(?:\u001b\[|\u009b)[0-?]*[ -/]*[@-~]|\u001b\][^\u0007\u001b]*(?:\u0007|\u001b\\)|\u001b[PX^_][^\u001b]*\u001b\\|\u001b[ -/]+[0-~]|\u001b[=>78cDEHMNOZ]/g;
const MAX_CODES = 32;

/**
 * Reads a line of a log. Colors become styles, other sequences are removed, other control characters are made visible. anser
 * reads colors alone: it shows the address of a link, does not know C1 controls, and drops colors with colons.
 */
export function readAnsi(line: string): AnsiSpan[] {
  const text = line.replace(/\r$/, '');
  if (!/[\u001b\u009b]/.test(text)) return [{ text: safeText(text), style: {} }];
  const spans: AnsiSpan[] = [];
  let style: AnsiStyle = {};
  let from = 0;
  const add = (until: number) => {
    if (until > from) spans.push({ text: safeText(text.slice(from, until)), style });
  };
  for (const match of text.matchAll(SEQUENCE)) {
    add(match.index);
    from = match.index + match[0].length;
    if (match[1] !== undefined) style = applyCodes(style, match[1]);
  }
  add(text.length);
  return spans;
}

/** The classes of `log.css` for a style. A background replaces the color, so that every combination can be read. */
export function classesOf({ fore, back, bold, dim, italic, underline, inverse, strike }: AnsiStyle): string {
  const [text, behind] = inverse ? [back, fore ?? 'text'] : [fore, back];
  const names = [
    behind === undefined ? text !== undefined && `ansi-${text}` : `ansi-back ansi-on-${behind}`,
    bold && 'ansi-bold',
    dim && text === undefined && behind === undefined && 'soft',
    italic && 'ansi-italic',
    underline && 'ansi-underline',
    strike && 'ansi-strike',
  ];
  return names.filter((name) => typeof name === 'string').join(' ');
}

function applyCodes(before: AnsiStyle, text: string): AnsiStyle {
  // `38:2::1:2:3` has an empty color space.
  const codes = text
    .replace(/([34]8:2:):/g, '$1')
    .split(/[;:]/, MAX_CODES)
    .map(Number);
  let style = { ...before };
  for (let at = 0; at < codes.length; at++) {
    const code = codes[at] ?? 0;
    if (code === 38 || code === 48) {
      const { color, length } = readColor(codes.slice(at + 1));
      at += length;
      if (color !== undefined) style = code === 38 ? { ...style, fore: color } : { ...style, back: color };
    } else style = applyCode(style, code);
  }
  return style;
}

const SET: Record<number, keyof AnsiStyle> = {
  1: 'bold',
  2: 'dim',
  3: 'italic',
  4: 'underline',
  7: 'inverse',
  9: 'strike',
};
const CLEARED: Record<number, (keyof AnsiStyle)[]> = {
  22: ['bold', 'dim'],
  23: ['italic'],
  24: ['underline'],
  27: ['inverse'],
  29: ['strike'],
  39: ['fore'],
  49: ['back'],
};

function applyCode(style: AnsiStyle, code: number): AnsiStyle {
  if (code === 0) return {};
  const set = SET[code];
  if (set !== undefined) return { ...style, [set]: true };
  const cleared = CLEARED[code];
  if (cleared !== undefined)
    return Object.fromEntries(Object.entries(style).filter(([key]) => !cleared.includes(key as keyof AnsiStyle)));
  if (code >= 30 && code <= 37) return { ...style, fore: code - 30 };
  if (code >= 40 && code <= 47) return { ...style, back: code - 40 };
  if (code >= 90 && code <= 97) return { ...style, fore: code - 82 };
  if (code >= 100 && code <= 107) return { ...style, back: code - 92 };
  return style;
}

/** Reads `5;n` or `2;r;g;b`. */
function readColor([kind, ...values]: number[]): { color?: number; length: number } {
  if (kind === 5) {
    const [number = -1] = values;
    return { length: 2, ...(number >= 0 && number <= 255 && { color: nearestOf256(number) }) };
  }
  if (kind !== 2) return { length: 0 };
  const [red = -1, green = -1, blue = -1] = values;
  const isValid = [red, green, blue].every((value) => value >= 0 && value <= 255);
  return { length: 4, ...(isValid && { color: nearestOf(red, green, blue) }) };
}

function nearestOf256(number: number): number {
  if (number < 16) return number;
  if (number >= 232) {
    const gray = 8 + (number - 232) * 10;
    return nearestOf(gray, gray, gray);
  }
  const level = (step: number) => (step === 0 ? 0 : 55 + step * 40);
  const cube = number - 16;
  return nearestOf(level(Math.floor(cube / 36)), level(Math.floor(cube / 6) % 6), level(cube % 6));
}

/** The colors of xterm. The page shows others of the same names, which can be read on its backgrounds. */
const PALETTE = [
  [0, 0, 0],
  [205, 0, 0],
  [0, 205, 0],
  [205, 205, 0],
  [0, 0, 238],
  [205, 0, 205],
  [0, 205, 205],
  [229, 229, 229],
  [127, 127, 127],
  [255, 0, 0],
  [0, 255, 0],
  [255, 255, 0],
  [92, 92, 255],
  [255, 0, 255],
  [0, 255, 255],
  [255, 255, 255],
] as const;

function nearestOf(red: number, green: number, blue: number): number {
  const far = PALETTE.map(([r, g, b]) => (r - red) ** 2 + (g - green) ** 2 + (b - blue) ** 2);
  return far.indexOf(Math.min(...far));
}

/** Splits spans where a text was found, in upper or lower case. */
export function markFound(spans: readonly AnsiSpan[], text: string): (AnsiSpan & { isFound?: true })[] {
  const wanted = text.toLowerCase();
  const whole = spans.map((span) => span.text).join('');
  const places: number[] = [];
  const lower = whole.toLowerCase();
  // A few letters have another length in lower case: then nothing is marked.
  if (wanted === '' || lower.length !== whole.length) return [...spans];
  for (let at = lower.indexOf(wanted); at >= 0; at = lower.indexOf(wanted, at + wanted.length)) places.push(at);
  let start = 0;
  return spans.flatMap((span) => {
    const cuts = places.flatMap((at) => [at - start, at - start + wanted.length]);
    const inside = [0, ...cuts.filter((cut) => cut > 0 && cut < span.text.length), span.text.length];
    const base = start;
    start += span.text.length;
    return inside.slice(0, -1).map((from, index) => {
      const isFound = places.some((at) => at <= base + from && base + from < at + wanted.length);
      return { ...span, text: span.text.slice(from, inside[index + 1]), ...(isFound && { isFound }) };
    });
  });
}
