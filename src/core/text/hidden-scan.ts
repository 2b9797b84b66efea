import { createHash } from 'node:crypto';
import { countHidden, hasHidden } from './hidden-characters.ts';

/** A line of a text file that holds hidden characters. */
export interface HiddenLine {
  /** From 1. */
  line: number;
  characters: number;
  /** The same for lines with the same text; empty where several are counted as one. */
  digest: string;
}

/** How many more are counted, by all scans that share it: what is looked for is rare. */
export interface HiddenBudget {
  characters: number;
}

export interface HiddenScan {
  push(bytes: Uint8Array): void;
  /** None for a binary file: one that git does not show as text, and that is not all UTF-8 either. */
  end(): HiddenLine[];
}

/** A longer line is looked at in parts. */
const LONGEST_LINE = 64 * 1024;
/** Where git looks for what makes a file binary. */
const HEAD_BYTES = 8000;
/** More lines of a file are not kept apart: the last one counts for those that follow. */
const MOST_LINES = 10_000;

/** Looks for hidden characters in a file that comes in pieces, in memory that does not grow with it. */
export function openHiddenScan(budget: HiddenBudget): HiddenScan {
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  const strict = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  const lines: HiddenLine[] = [];
  let [read, line] = [0, 1];
  let [isUtf8, hasNull, isStart] = [true, false, true];
  let pending = '';

  /** A line, or a part of a longer one. */
  function look(text: string): void {
    const characters = countHidden(text, { startsFile: isStart });
    isStart = false;
    if (characters === 0) return;
    budget.characters -= characters;
    const last = lines.at(-1);
    if (last !== undefined && lines.length >= MOST_LINES) {
      last.characters += characters;
      last.digest = '';
    } else lines.push({ line, characters, digest: createHash('sha256').update(text).digest('base64') });
  }

  function take(text: string): void {
    pending += text;
    const end = pending.lastIndexOf('\n') + 1;
    lookThrough(pending.slice(0, end));
    pending = pending.slice(end);
    while (pending.length > LONGEST_LINE) {
      // No character is cut in two, and a return is looked at with what follows it.
      const at = /[\r\ud800-\udbff]/.test(pending.charAt(LONGEST_LINE - 1)) ? LONGEST_LINE - 1 : LONGEST_LINE;
      look(pending.slice(0, at));
      pending = pending.slice(at);
    }
  }

  /** Whole lines, with their ends. */
  function lookThrough(text: string): void {
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
