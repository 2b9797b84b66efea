import type { FileHandle } from 'node:fs/promises';

/** Bytes of a file: from the first offset up to, and without, the second. */
export type ByteRange = [from: number, to: number];

const CHUNK_BYTES = 256 * 1024;
/** The longest line that is compared. */
const MAX_LINE_BYTES = 8 * 1024 * 1024;
/** More of them take more space than they save. */
export const MAX_RANGES = 10_000;
const NEWLINE = 0x0a;

/**
 * Where the lines of `own` are in `shared`, which has them in the same order among others: the bytes of these ranges are
 * those of `own`. Undefined if they are not there, or in too many places. `from`: where to begin in `shared`, the beginning
 * of a line.
 */
export async function findRanges(own: FileHandle, shared: FileHandle, from: number): Promise<ByteRange[] | undefined> {
  const ranges: ByteRange[] = [];
  const [mine, all] = [new FileWindow(own, 0), new FileWindow(shared, from)];
  for (let size = CHUNK_BYTES; ;) {
    const [wanted, found] = [await mine.peek(size), await all.peek(size)];
    if (wanted.length === 0) return ranges;
    const same = lengthOfSameLines(wanted, found, wanted.length < size);
    if (same > 0) {
      addRange(ranges, [all.position, all.position + same]);
      if (ranges.length > MAX_RANGES) return undefined;
      mine.advance(same);
      all.advance(same);
      size = CHUNK_BYTES;
      continue;
    }
    const line = found.indexOf(NEWLINE) + 1;
    const isLonger = found.length === size && (line === 0 || startsAlike(wanted, found));
    if (isLonger && size < MAX_LINE_BYTES) size *= 2;
    else if (line === 0) return undefined;
    else all.advance(line);
  }
}

/** Adds a range behind the others, and joins it with the last one if nothing is between them. */
export function addRange(ranges: ByteRange[], [from, to]: ByteRange): void {
  const last = ranges.at(-1);
  if (last?.[1] === from) last[1] = to;
  else ranges.push([from, to]);
}

/** In bytes. */
export function sizeOfRanges(ranges: readonly ByteRange[]): number {
  return ranges.reduce((sum, [from, to]) => sum + to - from, 0);
}

/** Whether a line may be the same beyond the end of both parts. */
function startsAlike(a: Buffer, b: Buffer): boolean {
  return !a.includes(NEWLINE) && commonLength(a, b) === Math.min(a.length, b.length);
}

/** The length of the whole lines with which both begin; at the end of the file, the last line needs no line break. */
function lengthOfSameLines(wanted: Buffer, found: Buffer, isEnd: boolean): number {
  const common = commonLength(wanted, found);
  if (isEnd && common === wanted.length) {
    const isWhole = wanted[common - 1] === NEWLINE || found[common] === NEWLINE;
    if (isWhole) return common;
  }
  return common === 0 ? 0 : wanted.lastIndexOf(NEWLINE, common - 1) + 1;
}

function commonLength(a: Buffer, b: Buffer): number {
  let [same, end] = [0, Math.min(a.length, b.length)];
  if (a.subarray(0, end).equals(b.subarray(0, end))) return end;
  while (end - same > 1) {
    const middle = Math.floor((same + end) / 2);
    if (a.subarray(same, middle).equals(b.subarray(same, middle))) same = middle;
    else end = middle;
  }
  return same;
}

/** Reads a file forwards, with a look at what follows. */
class FileWindow {
  readonly #file: FileHandle;
  #bytes = Buffer.alloc(0);
  #isAtEnd = false;
  position: number;

  constructor(file: FileHandle, position: number) {
    this.#file = file;
    this.position = position;
  }

  /** The next bytes, fewer at the end of the file. */
  async peek(size: number): Promise<Buffer> {
    while (this.#bytes.length < size && !this.#isAtEnd) {
      const more = Buffer.alloc(Math.max(CHUNK_BYTES, size - this.#bytes.length));
      const { bytesRead } = await this.#file.read(more, 0, more.length, this.position + this.#bytes.length);
      this.#isAtEnd = bytesRead === 0;
      this.#bytes = Buffer.concat([this.#bytes, more.subarray(0, bytesRead)]);
    }
    return this.#bytes.subarray(0, size);
  }

  advance(bytes: number): void {
    this.#bytes = this.#bytes.subarray(bytes);
    this.position += bytes;
  }
}
