import type { Finding } from '../../api/finding.ts';
import { exitCodeOf } from '../../core/failure/stop-reason.ts';
import type { Tone } from '../../core/transcript/transcript-line.ts';
import { wrapToWidth } from '../../lib/wrap.ts';
import type { Cli } from '../cli.ts';
import type { Define } from '../define.ts';

export const define: Define = (command, cli) => {
  command
    .description(
      'Checks what halo needs on this machine (Docker, its limits, Redis, git, the image, the agent, disk space) and says how to mend each thing that is not right.',
    )
    .option('--json', 'print the findings as JSON')
    .addHelpText('after', HELP)
    .action((flags: { json?: true }) => examine(flags, cli));
};

const HELP = `
Examples:
  halo doctor
  halo doctor --json | jq -r '.[] | select(.ok != "ok") | .mend'

Exit codes:
  0 ready, perhaps with warnings    5 something that halo needs is missing

See also: halo image build, halo init`;

const MARKS: Record<Finding['ok'], { mark: string; tone: Tone }> = {
  ok: { mark: '✓', tone: 'good' },
  warn: { mark: '!', tone: 'warn' },
  fail: { mark: '✗', tone: 'bad' },
};

async function examine(flags: { json?: true }, cli: Cli): Promise<void> {
  const findings = await cli.services.diagnose();
  if (findings.some((finding) => finding.ok === 'fail')) cli.exitCode = exitCodeOf('MISSING_DEPENDENCY');
  if (flags.json) return cli.printJson(findings);
  const width = Math.max(0, ...findings.map((finding) => finding.name.length));
  const indent = ' '.repeat(width + 4);
  for (const { ok, name, says, mend } of findings) {
    const { mark, tone } = MARKS[ok];
    await cli.print(`${cli.paint(tone, mark)} ${name.padEnd(width)}  ${hang(says, indent)}`);
    if (mend !== undefined) await cli.print(`${indent}${cli.paint('strong', '→')} ${hang(mend, `${indent}  `)}`);
  }

  /** What does not fit on a line goes on below its first word; whole where nobody's screen is known. */
  function hang(text: string, before: string): string {
    if (!cli.terminal.shown) return text;
    return wrapToWidth(text, Math.max(20, (cli.screen.columns ?? 80) - before.length)).join(`\n${before}`);
  }
}
