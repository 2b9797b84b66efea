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
