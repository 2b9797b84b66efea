import { clip, safeOutput } from './safe-text.ts';
import type { StoryLine, Tone } from './transcript/transcript-line.ts';

/** Most characters of a line of a transcript. */
export const LINE_LENGTH = 240;
/** Most lines of what somebody said. */
export const SAID_LINES = 12;

/** Most lines and characters of what a transcript shows of one event. */
export interface Extent {
  /** Lines of what an agent said. */
  said: number;
  /** Lines of the output of a command that failed. */
  failedOutput: number;
  /** Lines of the output of any other command. */
  output: number;
  /** Characters of a line. */
  line: number;
}

export const EXCERPT: Extent = { said: SAID_LINES, failedOutput: 8, output: 3, line: LINE_LENGTH };
const ALL = Number.POSITIVE_INFINITY;
/** All that the journal holds. */
export const WHOLE: Extent = { said: ALL, failedOutput: ALL, output: ALL, line: ALL };

/** Lines that go on with the one before. */
export function continued(lines: string[], tone: Tone, indent: string): StoryLine[] {
  return lines.map((line) => ({ label: '', tone, text: `${indent}${line}` }));
}

/** The first lines of a text that people wrote or read. */
export function cap(text: string, most: number, width = LINE_LENGTH): string[] {
  const lines = cleanLines(text, width);
  if (lines.length <= most) return lines;
  return [...lines.slice(0, most - 1), `… ${more(lines.length - most + 1)}`];
}

/** The last lines of a command's output: that is where its result is. */
export function tail(text: string, most: number, width = LINE_LENGTH): string[] {
  const lines = cleanLines(text, width);
  if (lines.length <= most) return lines;
  return [`… ${more(lines.length - most + 1)}`, ...lines.slice(1 - most)];
}

/** How a command ended, in words. */
export function exitText(exitCode: number | undefined): string {
  return exitCode === undefined ? 'killed' : `exit ${exitCode}`;
}

/** As much of a commit's id as people read. */
export function short(commit: string): string {
  return commit.slice(0, 7);
}

function more(count: number): string {
  return `${count} more ${count === 1 ? 'line' : 'lines'}`;
}

/** The lines of a text that say something, safe to print and cut to length. */
export function cleanLines(text: string, width = LINE_LENGTH): string[] {
  return safeOutput(text)
    .split('\n')
    .map((line) => clip(line.replace(/\t/g, '  ').trimEnd(), width))
    .filter((line) => line.trim() !== '');
}
