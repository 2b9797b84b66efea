import type { Finding } from '../../api/doctor/doctor-finding.ts';
import type { Tone } from '../../core/transcript/transcript-line.ts';
import { wrapIndented } from '../../lib/string-width.ts';
import type { Cli } from '../cli.ts';

const MARKS: Record<Finding['ok'], { mark: string; tone: Tone }> = {
  ok: { mark: '✓', tone: 'good' },
  warn: { mark: '!', tone: 'warn' },
  fail: { mark: '✗', tone: 'bad' },
};

/** Prints the results of checks, a line each, with the suggested fixes. */
export async function printFindings(findings: readonly Finding[], cli: Cli): Promise<void> {
  const width = Math.max(0, ...findings.map((finding) => finding.name.length));
  const indent = ' '.repeat(width + 4);
  for (const { ok, name, says, fix } of findings) {
    const { mark, tone } = MARKS[ok];
    await cli.print(`${cli.paint(tone, mark)} ${name.padEnd(width)}  ${hang(says, indent)}`);
    if (fix !== undefined) await cli.print(`${indent}${cli.paint('strong', '→')} ${hang(fix, `${indent}  `)}`);
  }

  /** Wraps and indents a text for a terminal; other output is not wrapped. */
  function hang(text: string, before: string): string {
    if (!cli.terminal.shown) return text;
    return wrapIndented(text, Math.max(20, (cli.screen.columns ?? 80) - before.length)).join(`\n${before}`);
  }
}
