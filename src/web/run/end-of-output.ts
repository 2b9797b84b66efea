import { TAIL_BYTES } from '../../core/journal/event-parts.ts';
import { readAnsi } from './log/read-ansi.ts';

/** What a journal has of an output. */
interface OutputEnd {
  lines: string[];
  /** The index of the line to show first: the first one about an error; without any, the last line. */
  start: number;
  /** Set if the log may have more lines before these. */
  note?: string;
}

/** How compilers, linters and test runners name an error, but not `0 failed`, `errors: 0` or a path like errors.ts. */
const ERRORS = [
  /(?<![\w./-]|\b(?:0|no) )(?:errors?|fail(?:s|ed|ure|ures)?|fatal|panic(?:ked)?|traceback|not ok)(?![\w/-]|\.\w|\s*[:=]\s*0(?!\w|\.\d))/i,
  /\b[A-Z]\w*(?:Error|Exception)\b/,
  /^\s*[✗✘✖×]/,
];

/** The last lines of an output, as far as a journal has them. */
export function endOfOutput(tail: string): OutputEnd {
  const lines = tail.replace(/\s+$/, '').split(/\r?\n/);
  const first = lines.map(plain).findIndex((line) => ERRORS.some((error) => error.test(line)));
  const start = first < 0 ? lines.length - 1 : first;
  if (new TextEncoder().encode(tail).length < TAIL_BYTES) return { lines, start };
  return { lines, start, note: lines.length === 1 ? 'End of the log' : `Last ${lines.length} lines of the log` };
}

function plain(line: string): string {
  return readAnsi(line)
    .map(({ text }) => text)
    .join('');
}
