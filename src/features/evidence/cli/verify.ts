import { resolve } from 'node:path';
import type { Verified } from '../api/verify-commit.ts';
import { HaloError } from '../../../core/failure/errors.ts';
import { readStream } from '../../../lib/fs.ts';
import { safeLine } from '../../../core/text/safe-text.ts';
import { exitCodeOf } from '../../../core/failure/stop-reason.ts';
import { formatChecks } from './format-checks.ts';
import type { Cli, Define } from '../../../cli/cli.ts';
import { stoppable } from '../../../cli/run/run-until-signal.ts';

interface Flags {
  repo: string;
  trustProof?: true;
  json?: true;
  ci?: true;
  preReceive?: true;
  requireProof?: true;
}

export const define: Define = (command, cli) => {
  command
    .description(
      'Verifies landed commits on this machine. Compares each commit with its proof (refs/notes/halo), and the proof with the run directory, a signature or the configuration of the base commit. Then runs setup and gates on exactly that tree, in a clean container of the recorded image.',
    )
    .argument('[target]', 'a run (any unique part of its id) or a commit; with --ci: base..head')
    .option('--repo <path>', 'the repository of the commit', '.')
    .option(
      '--trust-proof',
      'use the settings of the proof even if nothing on this machine confirms them; runs its commands',
    )
    .option('--ci', 'check new commits without running anything: those of halo need their proof')
    .option('--pre-receive', 'with --ci: read the pushed refs from stdin, as a pre-receive hook of git')
    .option('--require-proof', 'with --ci: refuse commits of people, too')
    .option('--json', 'print one commit per line as JSON; ok is null for lines that only inform')
    .addHelpText('after', HELP)
    .action((target: string | undefined, flags: Flags) =>
      flags.ci ? showNewCommits(target, flags, cli) : verify(target, flags, cli),
    );
};

const HELP = `
Examples:
  halo verify 2dhe
  halo verify HEAD~2 --repo ../shop
  halo verify --ci origin/main..HEAD

Exit codes:
  0 all as recorded    10 something differs    2 no such run or commit    5 the image is missing

See also: halo status, halo diff`;

async function verify(
  target: string | undefined,
  { repo, trustProof, json, preReceive, requireProof }: Flags,
  cli: Cli,
): Promise<void> {
  const extra = preReceive ? '--pre-receive' : requireProof ? '--require-proof' : undefined;
  if (target === undefined || extra !== undefined)
    throw new HaloError('USAGE', extra === undefined ? 'No run or commit is named.' : `${extra} needs --ci.`, {
      hint: 'Name a run or a commit, or check new commits with `halo verify --ci`.',
    });
  const folder = resolve(cli.cwd, repo);
  const [host, { verify }] = await Promise.all([cli.services.readHost(), import('../api/verify-commit.ts')]);
  const { good, remarks } = await stoppable(cli, async (signal) => {
    let good = true;
    const remarks = new Set<string>();
    for await (const verified of verify(host, { target, folder, trustProof: trustProof === true, signal })) {
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

const SIGNS = { proven: '✓', human: '·', refused: '✗' } as const;
const TONES = { proven: 'good', human: 'quiet', refused: 'bad' } as const;

/** Prints a line for each new commit. */
async function showNewCommits(range: string | undefined, flags: Flags, cli: Cli): Promise<void> {
  const { repo, json, preReceive, requireProof = false, trustProof } = flags;
  if (trustProof || (preReceive && range !== undefined))
    throw new HaloError(
      'USAGE',
      trustProof ? '--ci runs nothing: --trust-proof has no effect.' : '--pre-receive takes no range.',
      { hint: trustProof ? 'Remove --trust-proof.' : 'Remove the range: git names the commits on stdin.' },
    );
  const pushed = preReceive ? (await readStream(cli.stdin, MAX_PUSH_BYTES)).toString('utf8') : undefined;
  const counts = { proven: 0, human: 0, refused: 0 };
  const [{ checkCommits }, { processEnv }] = await Promise.all([
    import('../api/check-commits.ts'),
    import('../../../config/environment/host.ts'),
  ]);
  for await (const checked of checkCommits(await cli.services.readHost(), {
    env: processEnv(),
    folder: resolve(cli.cwd, repo),
    range,
    pushed,
    requireProof,
  })) {
    const { commit, kind, says } = checked;
    counts[kind] += 1;
    if (json) await cli.printJson(checked);
    else
      await cli.print(
        `${cli.paint(TONES[kind], SIGNS[kind])} ${commit.slice(0, 12)}  ${kind.padEnd(7)}  ${safeLine(says)}`,
      );
  }
  if (counts.refused > 0) cli.exitCode = exitCodeOf('GATE_FAILED');
  if (json) return;
  const all = `${counts.proven} proven, ${counts.human} of people, ${counts.refused} refused`;
  await cli.print(cli.paint(counts.refused > 0 ? 'bad' : 'good', all));
}

/** More refs than a push has. */
const MAX_PUSH_BYTES = 16 * 1024 * 1024;

function page({ commit, story, checks }: Verified, cli: Cli): string[] {
  return [`${cli.paint('strong', commit.slice(0, 12))}  ${safeLine(story)}`, ...formatChecks(checks, cli)];
}
