import { resolve } from 'node:path';
import type { Verified } from '../../api/runs/verify-commit.ts';
import { safeLine } from '../../core/text/safe-text.ts';
import { exitCodeOf } from '../../core/failure/stop-reason.ts';
import { formatChecks } from '../output/format-checks.ts';
import type { Cli, Define } from '../cli.ts';
import { stoppable } from '../run/run-until-signal.ts';

interface Flags {
  repo: string;
  trustRecord?: true;
  json?: true;
}

export const define: Define = (command, cli) => {
  command
    .description(
      'Verifies landed commits on this machine. Compares each commit with its record (refs/notes/halo), and the record with the run directory, a signature or the configuration of the base commit. Then runs setup and gates on exactly that tree, in a clean container of the recorded image.',
    )
    .argument('<target>', 'a run (any unique part of its id) or a commit')
    .option('--repo <path>', 'the repository of the commit', '.')
    .option(
      '--trust-record',
      'use the settings of the record even if nothing on this machine confirms them; runs its commands',
    )
    .option('--json', 'print one commit per line as JSON')
    .addHelpText('after', HELP)
    .action((target: string, flags: Flags) => verify(target, flags, cli));
};

const HELP = `
Examples:
  halo verify 2dhe
  halo verify HEAD~2 --repo ../shop

Exit codes:
  0 all as recorded    10 something differs    2 no such run or commit    5 the image is missing

See also: halo status, halo diff`;

async function verify(target: string, { repo, trustRecord, json }: Flags, cli: Cli): Promise<void> {
  const folder = resolve(cli.cwd, repo);
  const { good, remarks } = await stoppable(cli, async (signal) => {
    let good = true;
    const remarks = new Set<string>();
    for await (const verified of cli.services.verify({ target, folder, trustRecord: trustRecord === true, signal })) {
      good &&= verified.checks.every(({ ok }) => ok !== false);
      for (const remark of verified.remarks) remarks.add(remark);
      await (json ? cli.printJson(verified) : cli.print(...page(verified, cli), ''));
    }
    return { good, remarks };
  });
  if (!good) cli.exitCode = exitCodeOf('GATE_FAILED');
  if (json) return;
  const tone = !good ? 'bad' : remarks.size > 0 ? 'warn' : 'good';
  await cli.print(cli.paint(tone, good ? ['all as recorded', ...remarks].join('; ') : 'not as recorded'));
}

function page({ commit, story, checks }: Verified, cli: Cli): string[] {
  return [`${cli.paint('strong', commit.slice(0, 12))}  ${safeLine(story)}`, ...formatChecks(checks, cli)];
}
