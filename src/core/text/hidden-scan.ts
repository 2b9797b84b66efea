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

export interface HiddenScan {
  push(bytes: Uint8Array): void;
  /** Empty for a binary file: one that git does not treat as text and that is not valid UTF-8. */
  end(): HiddenLine[];
}

/** Longer lines are scanned in parts. */
const MAX_LINE_LENGTH = 64 * 1024;
/** The bytes that git checks for NUL to detect binary files. */
const HEAD_BYTES = 8000;
/** Further lines of a file are counted with the last one. */
const MAX_LINES = 10_000;

/** Scans a stream of chunks for hidden characters, in constant memory. */
export function openHiddenScan(budget: HiddenBudget): HiddenScan {
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  const strict = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  const lines: HiddenLine[] = [];
  let [read, line] = [0, 1];
  let [isUtf8, hasNull, isStart] = [true, false, true];
  let pending = '';

  /** Counts a line, or a part of a longer one. */
  function look(text: string): void {
    const characters = countHidden(text, { startsFile: isStart });
    isStart = false;
    if (characters === 0) return;
    budget.characters -= characters;
    const last = lines.at(-1);
    if (last !== undefined && lines.length >= MAX_LINES) {
      last.characters += characters;
      last.digest = '';
    } else lines.push({ line, characters, digest: createHash('sha256').update(text).digest('base64') });
  }

  function take(text: string): void {
    pending += text;
    const end = pending.lastIndexOf('\n') + 1;
    scanLines(pending.slice(0, end));
    pending = pending.slice(end);
    while (pending.length > MAX_LINE_LENGTH) {
      // Does not split a surrogate pair, or a carriage return from its newline.
      const at = /[\r\ud800-\udbff]/.test(pending.charAt(MAX_LINE_LENGTH - 1)) ? MAX_LINE_LENGTH - 1 : MAX_LINE_LENGTH;
      look(pending.slice(0, at));
      pending = pending.slice(at);
    }
  }

  /** Scans complete lines, with their ends. */
  function scanLines(text: string): void {
    const isPlain = !isStart && !hasHidden(text);
    for (let from = 0; from < text.length; line += 1) {
      const end = text.indexOf('\n', from);
      if (!isPlain) look(text.slice(from, end));
      from = end + 1;
    }
  }

  function isBinary(): boolean {
    return hasNull && !isUtf8;
  }

  return {
    push(bytes) {
      hasNull ||= read < HEAD_BYTES && bytes.subarray(0, HEAD_BYTES - read).includes(0);
      read += bytes.length;
      isUtf8 &&= decodes(() => strict.decode(bytes, { stream: true }));
      if (!isBinary() && budget.characters > 0) take(decoder.decode(bytes, { stream: true }));
    },
    end() {
      isUtf8 &&= decodes(() => strict.decode());
      if (isBinary()) return [];
      if (budget.characters > 0) {
        take(decoder.decode());
        look(pending);
      }
      return lines;
    },
  };
}

function decodes(decode: () => void): boolean {
  try {
    decode();
    return true;
  } catch {
    return false;
  }
}
