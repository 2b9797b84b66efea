import { safeLine } from '../core/safe-text.ts';

const SIGNALS: Record<number, string> = {
  129: 'SIGHUP',
  130: 'SIGINT',
  134: 'SIGABRT',
  137: 'SIGKILL',
  139: 'SIGSEGV',
  143: 'SIGTERM',
};

/** How a program ended without a word of its own, as one sentence; the last line on stderr is quoted when there is one. */
export function describeEnd(title: string, exitCode: number | undefined, stderrTail: string): string {
  if (exitCode === undefined) return `${title} was stopped before it ended by itself.`;
  const signal = SIGNALS[exitCode];
  const how = signal === undefined ? `ended with exit code ${exitCode}` : `was killed by ${signal}`;
  const said = lastLine(stderrTail);
  return said === undefined ? `${title} ${how} and gave no reason.` : `${title} ${how}: ${said}`;
}

function lastLine(text: string): string | undefined {
  const line = text.split('\n').findLast((each) => each.trim() !== '');
  return line === undefined ? undefined : safeLine(line, 500);
}
