/** Finds many byte strings in one pass, in time proportional to the data and independent of their number. */
export interface PatternMatcher {
  /** Reports every occurrence, as `[from, to)` in `data`, with the number of its needle. */
  find(data: Buffer, onHit: (from: number, to: number, needle: number) => void): void;
  /** The offset at which the longest incomplete needle at the end of `data` starts; the length of `data` if none does. */
  beginning(data: Buffer): number;
}

interface Needle {
  bytes: Buffer;
  /** Of the text that it comes from. */
  number: number;
}

const NOTHING: PatternMatcher = { find: () => {}, beginning: (data) => data.length };

/**
 * Wu and Manber's search: a table says for two bytes how far the window can move on. Every byte string must have at
 * least two bytes; a short one makes the search slow.
 */
function compileExact(all: readonly Needle[]): PatternMatcher {
  const window = Math.min(...all.map(({ bytes }) => bytes.length), 255);
  const longest = Math.max(...all.map(({ bytes }) => bytes.length));
  const moves = new Uint8Array(65_536).fill(window - 1);
  // Most candidates end here, without a lookup in a map.
  const starts = new Uint8Array(65_536);
  for (const { bytes } of all) {
    starts[pairAt(bytes, 0)] = 1;
    for (let last = 1; last < window; last++) {
      const pair = pairAt(bytes, last - 1);
      moves[pair] = Math.min(moves[pair]!, window - 1 - last);
    }
  }
  const byEnd = group(all, ({ bytes }) => pairAt(bytes, window - 2));
  const byStart = group(all, ({ bytes }) => pairAt(bytes, 0));
  const firsts = new Set(all.map(({ bytes }) => bytes[0]!));
  return {
    find(data, onHit) {
      /** How far the window can move from where it ends at `last`. */
      const step = (last: number): number => {
        const move = moves[pairAt(data, last - 1)]!;
        if (move > 0) return move;
        const from = last - window + 1;
        if (starts[pairAt(data, from)] === 0) return 1;
        for (const { bytes, number } of byEnd.get(pairAt(data, last - 1)) ?? [])
          if (agree(data, from, bytes, bytes.length)) onHit(from, from + bytes.length, number);
        return 1;
      };
      // Two windows, each in one half of the data: one moves while the other waits for memory.
      const middle = Math.max(window - 1, data.length >> 1);
      let [first, second] = [window - 1, middle];
      while (first < middle && second < data.length) {
        first += step(first);
        second += step(second);
      }
      while (first < Math.min(middle, data.length)) first += step(first);
      while (second < data.length) second += step(second);
    },
    beginning(data) {
      for (let from = Math.max(0, data.length - longest + 1); from < data.length - 1; from++) {
        const rest = data.length - from;
        for (const { bytes } of byStart.get(pairAt(data, from)) ?? [])
          if (bytes.length > rest && agree(data, from, bytes, rest)) return from;
      }
      return data.length > 0 && firsts.has(data[data.length - 1]!) ? data.length - 1 : data.length;
    },
  };
}

/** Shorter prefixes of a secret at the end of a line are written immediately and may be visible. */
const MIN_PREFIX_LENGTH = 4;

/**
 * Matches needles that are wrapped into lines; line ends inside them are ignored. Needles of less than four bytes are
 * ignored.
 */
export function compileMatcher(texts: readonly string[]): PatternMatcher {
  const wrapped = texts
    .map((text, number): Needle => ({ bytes: stripLineBreaks(Buffer.from(text)).bytes, number }))
    .filter(({ bytes }) => bytes.length >= MIN_PREFIX_LENGTH);
  if (wrapped.length === 0) return NOTHING;
  const needles = compileExact(wrapped.flatMap((needle) => [needle, ...withoutBeginning(needle)]));
  const longest = Math.max(0, ...wrapped.map(({ bytes }) => bytes.length));
  const begins = (data: Buffer): number => {
    const tail = data.subarray(Math.max(0, data.length - 2 * longest));
    const { bytes, placeOf } = stripLineBreaks(tail);
    const from = needles.beginning(bytes);
    if (from === bytes.length || (endsLine(data) && bytes.length - from < MIN_PREFIX_LENGTH)) return data.length;
    return data.length - tail.length + placeOf(from);
  };
  return {
    find(data, onHit) {
      const { bytes, placeOf } = stripLineBreaks(data);
      needles.find(bytes, (from, to, needle) => onHit(placeOf(from), placeOf(to - 1) + 1, needle));
    },
    beginning(data) {
      // A backslash at the end may be half of an escaped line end.
      const open = /\\{0,8}$/.exec(data.toString('latin1', Math.max(0, data.length - 8)))?.[0].length ?? 0;
      const before = begins(data.subarray(0, data.length - open));
      return Math.min(begins(data), before < data.length - open ? before : data.length);
    },
  };
}

/** What is left to find if the beginning was on the line before. */
function withoutBeginning({ bytes, number }: Needle): Needle[] {
  return bytes.length < 4 * MIN_PREFIX_LENGTH ? [] : [{ bytes: bytes.subarray(MIN_PREFIX_LENGTH - 1), number }];
}

function endsLine(data: Buffer): boolean {
  const last = data[data.length - 1];
  return last === 0x0a || last === 0x0d;
}

function pairAt(bytes: Buffer, from: number): number {
  return (bytes[from]! << 8) | bytes[from + 1]!;
}

function agree(data: Buffer, from: number, bytes: Buffer, length: number): boolean {
  if (from + length > data.length) return false;
  for (let at = 0; at < length; at++) if (data[from + at] !== bytes[at]) return false;
  return true;
}

function group(all: readonly Needle[], keyOf: (needle: Needle) => number): Map<number, Needle[]> {
  const groups = new Map<number, Needle[]>();
  for (const needle of all) {
    const group = groups.get(keyOf(needle));
    if (group === undefined) groups.set(keyOf(needle), [needle]);
    else group.push(needle);
  }
  return groups;
}

const [LF, CR, BACKSLASH, N, R] = [0x0a, 0x0d, 0x5c, 0x6e, 0x72];
/** More backslashes before an `n` are not an escaped line end. */
const MAX_ESCAPES = 8;

/** Bytes without their line ends. */
interface StrippedBytes {
  bytes: Buffer;
  /** The offset in the original of a byte. */
  placeOf: (at: number) => number;
}

/**
 * Removes line ends, including JSON-escaped ones (`\n`, `\\n`, …), because programs wrap long text such as base64, and
 * secrets of several lines are written with any of them.
 */
function stripLineBreaks(data: Buffer): StrippedBytes {
  const bytes = Buffer.allocUnsafe(data.length);
  let length = 0;
  eachPiece(data, (from, to) => (length += data.copy(bytes, length, from, to)));
  let pieces: number[] | undefined;
  return { bytes: bytes.subarray(0, length), placeOf: (at) => placeIn((pieces ??= placesOf(data)), at) };
}

/** Start offsets of each piece without line ends, alternately without and with them. */
function placesOf(data: Buffer): number[] {
  const places: number[] = [];
  let length = 0;
  eachPiece(data, (from, to) => {
    places.push(length, from);
    length += to - from;
  });
  return places;
}

/** Calls `visit` with `[from, to)` of what is between line ends; the last piece may be empty. */
function eachPiece(data: Buffer, visit: (from: number, to: number) => void): void {
  let from = 0;
  let [lf, cr, escape] = [data.indexOf(LF), data.indexOf(CR), data.indexOf(BACKSLASH)];
  for (;;) {
    let at = lf < 0 ? data.length : lf;
    if (cr >= 0 && cr < at) at = cr;
    if (escape >= 0 && escape < at) at = escape;
    if (at === data.length) break;
    const length = data[at] === BACKSLASH ? escapedEnd(data, at) : 1;
    if (length > 0) {
      if (at > from) visit(from, at);
      from = at + length;
    }
    const after = at + Math.max(length, 1);
    if (lf >= 0 && lf < after) lf = data.indexOf(LF, after);
    if (cr >= 0 && cr < after) cr = data.indexOf(CR, after);
    if (escape >= 0 && escape < after) escape = data.indexOf(BACKSLASH, after);
  }
  visit(from, data.length);
}

/** Length of an escaped line end at `from`; 0 if there is none. */
function escapedEnd(data: Buffer, from: number): number {
  let next = from + 1;
  while (next - from < MAX_ESCAPES && data[next] === BACKSLASH) next += 1;
  return data[next] === N || data[next] === R ? next - from + 1 : 0;
}

function placeIn(pieces: readonly number[], at: number): number {
  let [low, high] = [0, pieces.length / 2 - 1];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (pieces[2 * middle]! <= at) low = middle;
    else high = middle - 1;
  }
  return pieces[2 * low + 1]! + at - pieces[2 * low]!;
}
