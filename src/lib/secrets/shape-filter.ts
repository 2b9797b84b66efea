/** What each of five bytes in a row may be. */
export type ByteShape = readonly (readonly number[])[];

const LENGTH = 5;

/**
 * Compiles a search for places where bytes have one of these shapes; a place before the first byte counts as any byte. It
 * says only whether there may be one, in about half a nanosecond per byte: it looks up every second of the pairs of
 * bytes at even places, because five bytes always contain one of those.
 */
export function compileShapeFilter(shapes: readonly ByteShape[]): (data: Buffer) => boolean {
  /** For each pair of bytes, where in a shape it may be: a bit for each of the four places. */
  const places = new Uint8Array(65_536);
  for (const shape of shapes)
    for (let place = 0; place < LENGTH - 1; place++)
      for (const first of shape[place]!)
        for (const second of shape[place + 1]!) places[pairOf(first, second)]! |= 1 << place;

  const sets = shapes.map((shape) => shape.map((bytes) => new Set(bytes)));
  const hasShapeAt = (data: Buffer, from: number): boolean =>
    sets.some((shape) => shape.every((bytes, at) => from + at < 0 || bytes.has(data[from + at]!)));
  const hasShapeWithin = (data: Buffer, first: number, last: number): boolean => {
    for (let from = first; from <= last; from++) if (hasShapeAt(data, from)) return true;
    return false;
  };

  return (data) => {
    if (hasShapeAt(data, -1)) return true;
    if (data.length < LENGTH) return false;
    const odd = data.byteOffset % 2;
    const pairs = new Uint16Array(data.buffer, data.byteOffset + odd, (data.length - odd) >> 1);
    // The loop never reads beyond the pairs, which would make it slower; the last bytes come after it.
    const end = pairs.length - 1;
    for (let at = 1; at < end; at += 2) {
      const here = places[pairs[at]!]!;
      if (here === 0) continue;
      // Four of the five bytes are this pair and the one after or before it.
      const fits = (here & (places[pairs[at + 1]!]! >> 2)) | ((here >> 2) & places[pairs[at - 1]!]!);
      const place = odd + 2 * at;
      if (fits !== 0 && hasShapeWithin(data, place - 3, Math.min(place, data.length - LENGTH))) return true;
    }
    return hasShapeWithin(data, Math.max(0, data.length - LENGTH - 1), data.length - LENGTH);
  };
}

/** Two bytes as the machine reads them from memory. */
function pairOf(first: number, second: number): number {
  return new Uint16Array(Uint8Array.of(first, second).buffer)[0]!;
}
