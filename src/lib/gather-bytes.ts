/** Bytes that come in pieces, put together: an array of pieces would take many times their size when they are tiny. */
export interface Gathered {
  add(piece: Uint8Array): void;
  length(): number;
  /** All of them, and begins anew. */
  take(): Buffer;
}

export function gatherBytes(): Gathered {
  let room = Buffer.alloc(0);
  let length = 0;
  return {
    length: () => length,
    add(piece) {
      if (length + piece.length > room.length) {
        const larger = Buffer.allocUnsafe(2 * (length + piece.length));
        room.copy(larger, 0, 0, length);
        room = larger;
      }
      room.set(piece, length);
      length += piece.length;
    },
    take() {
      const all = room.subarray(0, length);
      room = Buffer.alloc(0);
      length = 0;
      return all;
    },
  };
}
