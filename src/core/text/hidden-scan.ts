import { createHash } from 'node:crypto';
import { countHidden, hasHidden } from './hidden-characters.ts';

/** A line of a text file with hidden characters. */
export interface HiddenLine {
  /** From 1. */
  line: number;
  characters: number;
  /** Equal for lines with the same text; empty if several lines are counted as one. */
  digest: string;
}

/** How many more hidden characters are counted by all scans that share it. */
export interface HiddenBudget {
  characters: number;
}

/** Longer lines are scanned in parts. */
const MAX_LINE_LENGTH = 64 * 1024;
/** The bytes that git checks for NUL to detect binary files. */
const HEAD_BYTES = 8000;
/** Further lines of a file are counted with the last one. */
const MAX_LINES = 10_000;

/** Scans a stream of chunks for hidden characters, in constant memory. */
export class HiddenScan {
  readonly #budget: HiddenBudget;
  readonly #decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  readonly #strict = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  readonly #lines: HiddenLine[] = [];
  #read = 0;
  #line = 1;
  #isUtf8 = true;
  #hasNull = false;
  #isStart = true;
  #pending = '';

  constructor(budget: HiddenBudget) {
    this.#budget = budget;
  }

  push(bytes: Uint8Array): void {
    this.#hasNull ||= this.#read < HEAD_BYTES && bytes.subarray(0, HEAD_BYTES - this.#read).includes(0);
    this.#read += bytes.length;
    this.#isUtf8 &&= decodes(() => this.#strict.decode(bytes, { stream: true }));
    if (!this.#isBinary() && this.#budget.characters > 0) this.#take(this.#decoder.decode(bytes, { stream: true }));
  }

  /** Empty for a binary file: one that git does not treat as text and that is not valid UTF-8. */
  end(): HiddenLine[] {
    this.#isUtf8 &&= decodes(() => this.#strict.decode());
    if (this.#isBinary()) return [];
    if (this.#budget.characters > 0) {
      this.#take(this.#decoder.decode());
      this.#look(this.#pending);
    }
    return this.#lines;
  }

  #isBinary(): boolean {
    return this.#hasNull && !this.#isUtf8;
  }

  #take(text: string): void {
    const all = this.#pending + text;
    const end = all.lastIndexOf('\n') + 1;
    this.#scanLines(all.slice(0, end));
    let left = all.slice(end);
    while (left.length > MAX_LINE_LENGTH) {
      // Does not split a surrogate pair, or a carriage return from its newline.
      const at = /[\r\ud800-\udbff]/.test(left.charAt(MAX_LINE_LENGTH - 1)) ? MAX_LINE_LENGTH - 1 : MAX_LINE_LENGTH;
      this.#look(left.slice(0, at));
      left = left.slice(at);
    }
    this.#pending = left;
  }

  /** Scans complete lines, with their ends. */
  #scanLines(text: string): void {
    const isPlain = !this.#isStart && !hasHidden(text);
    for (let from = 0; from < text.length; this.#line += 1) {
      const end = text.indexOf('\n', from);
      if (!isPlain) this.#look(text.slice(from, end));
      from = end + 1;
    }
  }

  /** Counts a line, or a part of a longer one. */
  #look(text: string): void {
    const characters = countHidden(text, { startsFile: this.#isStart });
    this.#isStart = false;
    if (characters === 0) return;
    this.#budget.characters -= characters;
    const last = this.#lines.at(-1);
    if (last !== undefined && this.#lines.length >= MAX_LINES) {
      last.characters += characters;
      last.digest = '';
    } else {
      const digest = createHash('sha256').update(text).digest('base64');
      this.#lines.push({ line: this.#line, characters, digest });
    }
  }
}

function decodes(decode: () => void): boolean {
  try {
    decode();
    return true;
  } catch {
    return false;
  }
}
