import { truncate, safeOutput } from '../text/safe-text.ts';
import type { StoryLine, Tone } from './transcript-line.ts';

/** Maximum characters of a transcript line. */
export const LINE_LENGTH = 240;
/** Maximum lines of a message. */
export const SAID_LINES = 12;

/** Maximum lines and characters that a transcript shows of one event. */
export interface Extent {
  /** Lines of an agent's message; 1: its text in one line. */
  said: number;
  /** Output lines of a failed command. */
  failedOutput: number;
  /** Output lines of any other command. */
  output: number;
  /** Characters of a line. */
  line: number;
}

export const EXCERPT: Extent = { said: SAID_LINES, failedOutput: 8, output: 3, line: LINE_LENGTH };
const ALL = Number.POSITIVE_INFINITY;
/** One line for each event. */
export const LIVE: Extent = { said: 1, failedOutput: 0, output: 0, line: LINE_LENGTH };
/** Everything in the journal. */
export const WHOLE: Extent = { said: ALL, failedOutput: ALL, output: ALL, line: ALL };

/** Creates lines that continue the previous one. */
export function continuationLines(lines: string[], tone: Tone, indent: string): StoryLine[] {
  return lines.map((line) => ({ label: '', tone, text: `${indent}${line}` }));
}

/** The first lines of a text. */
export function headLines(text: string, maxLines: number, width = LINE_LENGTH): string[] {
  const lines = cleanLines(text, width);
  if (lines.length <= maxLines) return lines;
  if (maxLines === 1) return [truncate(lines.join(' '), width)];
  return [...lines.slice(0, maxLines - 1), `… ${moreLines(lines.length - maxLines + 1)}`];
}

/** The last lines of a command's output, where its result is. */
export function tailLines(text: string, maxLines: number, width = LINE_LENGTH): string[] {
  const lines = cleanLines(text, width);
  if (lines.length <= maxLines) return lines;
  return [`… ${moreLines(lines.length - maxLines + 1)}`, ...lines.slice(1 - maxLines)];
}

/** Describes how a command ended. */
export function exitText(exitCode: number | undefined): string {
  return exitCode === undefined ? 'killed' : `exit ${exitCode}`;
}

/** The end of a command, as of `CommandResult`. */
interface EndedCommand {
  exitCode?: number | undefined;
  interrupted?: true | undefined;
}

/** How a command ended, as all displays show it. */
export function commandEnd({ exitCode, interrupted }: EndedCommand): {
  mark: string;
  word: string;
  tone: 'good' | 'warn' | 'bad';
} {
  if (exitCode === 0) return { mark: '✓', word: 'passed', tone: 'good' };
  if (interrupted) return { mark: '-', word: 'interrupted', tone: 'warn' };
  return { mark: '✗', word: 'failed', tone: 'bad' };
}

/** An abbreviated commit id. */
export function shortCommit(commit: string): string {
  return commit.slice(0, 7);
}

function moreLines(count: number): string {
  return `${count} more ${count === 1 ? 'line' : 'lines'}`;
}

/** The non-blank lines of a text, safe to print and truncated. */
export function cleanLines(text: string, width = LINE_LENGTH): string[] {
  return safeOutput(text)
    .split('\n')
    .map((line) => truncate(line.replace(/\t/g, '  ').trimEnd(), width))
    .filter((line) => line.trim() !== '');
}

/** The option of `halo logs` that prints a log, given its path below the attempt. */
export function logOptionFor(log: string): string {
  const gate = /(?:^|\/)(\d+)\.log$/.exec(log)?.[1];
  return gate === undefined ? '--setup' : `--gate ${gate}`;
}
