import { COMPRESSED, readChunks, type StoredContent } from './stored-file.ts';

/** Lines of a log, from one number on. */
export interface LogLines {
  /** Lines of the whole log, with an unfinished last one. */
  total: number;
  /** The number of the first line, from 0. */
  from: number;
  /** Longer lines are cut. */
  lines: Buffer[];
}

/** The lines of a log that contain a text. */
export interface LogMatches {
  count: number;
  /** Their numbers, from 0; the first ones, if there are very many. */
  lines: number[];
}

const NEWLINE = 0x0a;
/** The offset of every line with a multiple of this number is kept. */
const MARK_LINES = 1_000;
const MAX_LINE_BYTES = 4_096;
const MAX_READ_BYTES = 1024 * 1024;
const MAX_MATCHES = 10_000;
const MAX_INDEXES = 64;

/** Where the lines of a log are, as far as it was read. Logs only grow. */
class LineIndex {
  #marks = [0];
  #newlines = 0;
  #scanned = 0;
  #endsLine = true;
  #isComplete = false;
  #reading: Promise<void> = Promise.resolve();

  get total(): number {
    return this.#newlines + (this.#endsLine ? 0 : 1);
  }

  get bytes(): number {
    return this.#scanned;
  }

  /** Reads what was written since the last call. */
  async update(content: StoredContent): Promise<void> {
    const reading = this.#reading.catch(() => undefined).then(() => this.#scan(content));
    this.#reading = reading;
    return reading;
  }

  /** The offset of a line that is not behind `line`, and its number. */
  markBefore(line: number): { line: number; offset: number } {
    const at = Math.min(Math.floor(line / MARK_LINES), this.#marks.length - 1);
    return { line: at * MARK_LINES, offset: this.#marks[at] ?? 0 };
  }

  async #scan(content: StoredContent): Promise<void> {
    if (this.#isComplete) return;
    if (content.bytes !== undefined && content.bytes < this.#scanned) this.#restart();
    for await (const chunk of readChunks(content, this.#scanned)) {
      for (let at = chunk.indexOf(NEWLINE); at >= 0; at = chunk.indexOf(NEWLINE, at + 1)) {
        this.#newlines += 1;
        if (this.#newlines % MARK_LINES === 0) this.#marks.push(this.#scanned + at + 1);
      }
      this.#scanned += chunk.length;
      this.#endsLine = chunk.at(-1) === NEWLINE;
    }
    // Only files of ended runs are compressed.
    this.#isComplete = content.path.endsWith(COMPRESSED);
  }

  #restart(): void {
    this.#marks = [0];
    this.#newlines = 0;
    this.#scanned = 0;
    this.#endsLine = true;
  }
}

/** Reads parts of logs of any size. The places of their lines are kept in memory, so that only the first read is long. */
export class LogReader {
  readonly #indexes = new Map<string, LineIndex>();

  /** The number of lines and bytes of a log. */
  async measure(content: StoredContent): Promise<{ lines: number; bytes: number }> {
    const index = await this.#indexOf(content);
    return { lines: index.total, bytes: index.bytes };
  }

  /** Reads at most `count` lines, or fewer if they are long. */
  async readLines(content: StoredContent, from: number, count: number): Promise<LogLines> {
    const index = await this.#indexOf(content);
    const mark = index.markBefore(from);
    const lines: Buffer[] = [];
    let [skip, bytes] = [from - mark.line, 0];
    const wanted = Math.min(count, index.total - from);
    for await (const line of splitLines(readChunks(content, mark.offset))) {
      if (lines.length >= wanted || bytes >= MAX_READ_BYTES) break;
      if (skip > 0) {
        skip -= 1;
        continue;
      }
      lines.push(line);
      bytes += line.length;
    }
    return { total: index.total, from, lines };
  }

  /** Finds the lines for which `matches` is true. It gets whole lines, many at a time, and returns the matching ones. */
  async search(content: StoredContent, findIn: (lines: Buffer) => Iterable<number>): Promise<LogMatches> {
    const found: LogMatches = { count: 0, lines: [] };
    let first = 0;
    for await (const lines of splitParts(readChunks(content, 0))) {
      for (const line of findIn(lines)) {
        found.count += 1;
        if (found.lines.length < MAX_MATCHES) found.lines.push(first + line);
      }
      first += countNewlines(lines);
    }
    return found;
  }

  async #indexOf(content: StoredContent): Promise<LineIndex> {
    const index = this.#indexes.get(content.path) ?? new LineIndex();
    // The one that was not used for the longest time is the first.
    this.#indexes.delete(content.path);
    this.#indexes.set(content.path, index);
    for (const path of this.#indexes.keys()) if (this.#indexes.size > MAX_INDEXES) this.#indexes.delete(path);
    await index.update(content);
    return index;
  }
}

function countNewlines(bytes: Buffer): number {
  let count = 0;
  for (let at = bytes.indexOf(NEWLINE); at >= 0; at = bytes.indexOf(NEWLINE, at + 1)) count += 1;
  return count;
}

/** Yields lines without their ends, cut to a maximum length. */
async function* splitLines(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let begun: Buffer | undefined;
  for await (const chunk of chunks) {
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, start)) {
      const rest = chunk.subarray(start, Math.min(end, start + MAX_LINE_BYTES));
      yield begun === undefined ? rest : Buffer.concat([begun, rest]).subarray(0, MAX_LINE_BYTES);
      begun = undefined;
      start = end + 1;
    }
    if (start === chunk.length) continue;
    const rest = chunk.subarray(start, start + MAX_LINE_BYTES);
    begun = Buffer.concat([begun ?? Buffer.alloc(0), rest]).subarray(0, MAX_LINE_BYTES);
  }
  if (begun !== undefined) yield begun;
}

/** Yields parts that end at the end of a line, if they can: a line that is longer than a chunk is split. */
async function* splitParts(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let begun = Buffer.alloc(0);
  for await (const chunk of chunks) {
    const end = chunk.lastIndexOf(NEWLINE) + 1;
    if (end === 0 && begun.length < MAX_READ_BYTES) {
      begun = Buffer.concat([begun, chunk]);
      continue;
    }
    const cut = end === 0 ? chunk.length : end;
    yield Buffer.concat([begun, chunk.subarray(0, cut)]);
    begun = Buffer.from(chunk.subarray(cut));
  }
  if (begun.length > 0) yield begun;
}
