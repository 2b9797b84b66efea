const [LF, CR, BACKSLASH, N, R] = [0x0a, 0x0d, 0x5c, 0x6e, 0x72];
/** More backslashes than this before an `n` are no escaped line end. */
const MOST_ESCAPES = 8;

/** Bytes without their line ends. */
export interface Unwrapped {
  bytes: Buffer;
  /** The place in the original of one of them. */
  placeOf: (at: number) => number;
}

/**
 * Takes out line ends, also those that JSON escaped (`\n`, `\\n`, …): programs wrap what is long, base64 above all,
 * and a secret of several lines is written with each of them.
 */
export function unwrap(data: Buffer): Unwrapped {
  const bytes = Buffer.allocUnsafe(data.length);
  /** Where each piece without line ends begins: in `bytes` and in `data`, in turns. */
  const pieces: number[] = [];
  let length = 0;
  let from = 0;
  for (const [at, ends] of lineEnds(data)) {
    if (at > from) pieces.push(length, from);
    length += data.copy(bytes, length, from, at);
    from = at + ends;
  }
  pieces.push(length, from);
  length += data.copy(bytes, length, from);
  return { bytes: bytes.subarray(0, length), placeOf: (at) => placeIn(pieces, at) };
}

/** Each line end with its length. */
function* lineEnds(data: Buffer): Generator<readonly [at: number, length: number]> {
  const next = { lf: data.indexOf(LF), cr: data.indexOf(CR), escape: data.indexOf(BACKSLASH) };
  for (;;) {
    const at = Math.min(...Object.values(next).map((place) => (place < 0 ? data.length : place)));
    if (at === data.length) return;
    const length = data[at] === BACKSLASH ? escapedEnd(data, at) : 1;
    if (length > 0) yield [at, length];
    const after = at + Math.max(length, 1);
    if (next.lf >= 0 && next.lf < after) next.lf = data.indexOf(LF, after);
    if (next.cr >= 0 && next.cr < after) next.cr = data.indexOf(CR, after);
    if (next.escape >= 0 && next.escape < after) next.escape = data.indexOf(BACKSLASH, after);
  }
}

/** How many bytes an escaped line end takes at `from`; 0: there is none. */
function escapedEnd(data: Buffer, from: number): number {
  let next = from + 1;
  while (next - from < MOST_ESCAPES && data[next] === BACKSLASH) next += 1;
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
