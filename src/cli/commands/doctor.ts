import { exitCodeOf } from '../../core/failure/stop-reason.ts';
import type { Cli, Define } from '../cli.ts';
import { printFindings } from '../output/findings.ts';

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

async function examine(flags: { json?: true }, cli: Cli): Promise<void> {
  const findings = await cli.services.diagnose(cli.cwd);
  if (findings.some((finding) => finding.ok === 'fail')) cli.exitCode = exitCodeOf('MISSING_DEPENDENCY');
  if (flags.json) return cli.printJson(findings);
  await printFindings(findings, cli);
}
