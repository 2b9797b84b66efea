const [LF, CR, BACKSLASH, N, R] = [0x0a, 0x0d, 0x5c, 0x6e, 0x72];
/** More backslashes before an `n` are not an escaped line end. */
const MAX_ESCAPES = 8;

/** Bytes without their line ends. */
export interface StrippedBytes {
  bytes: Buffer;
  /** The offset in the original of a byte. */
  placeOf: (at: number) => number;
}

/**
 * Removes line ends, including JSON-escaped ones (`\n`, `\\n`, …), because programs wrap long text such as base64, and
 * secrets of several lines are written with any of them.
 */
export function stripLineBreaks(data: Buffer): StrippedBytes {
  const bytes = Buffer.allocUnsafe(data.length);
  /** Start offsets of each piece without line ends, alternately in `bytes` and in `data`. */
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

/** Yields each line end with its length. */
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
