import type { Finding } from '../../api/doctor/doctor-finding.ts';
import { exitCodeOf } from '../../core/failure/stop-reason.ts';
import type { Tone } from '../../core/transcript/transcript-line.ts';
import { wrapIndented } from '../../lib/string-width.ts';
import type { Cli, Define } from '../cli.ts';

export const define: Define = (command, cli) => {
  command
    .description(
      'Checks this machine for everything that halo needs (Docker, its limits, Redis, git, the image, the agent, disk space) and suggests a fix for each problem. In a repository, agent and model key are those of its configuration.',
    )
    .option('--json', 'print the findings as JSON: name, ok (ok, warn, fail), says (the message), fix')
    .addHelpText('after', HELP)
    .action((flags: { json?: true }) => examine(flags, cli));
};

const HELP = `
Examples:
  halo doctor
  halo doctor --json | jq -r '.[] | select(.ok != "ok") | .fix'

Exit codes:
  0 ready, possibly with warnings    5 something that halo needs is missing

See also: halo image build, halo init`;

const MARKS: Record<Finding['ok'], { mark: string; tone: Tone }> = {
  ok: { mark: '✓', tone: 'good' },
  warn: { mark: '!', tone: 'warn' },
  fail: { mark: '✗', tone: 'bad' },
};

async function examine(flags: { json?: true }, cli: Cli): Promise<void> {
  const findings = await cli.services.diagnose(cli.cwd);
  if (findings.some((finding) => finding.ok === 'fail')) cli.exitCode = exitCodeOf('MISSING_DEPENDENCY');
  if (flags.json) return cli.printJson(findings);
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
