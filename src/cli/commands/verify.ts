import { resolve } from 'node:path';
import type { Verified } from '../../api/verify.ts';
import { safeLine } from '../../core/safe-text.ts';
import { exitCodeOf } from '../../core/stop-reason.ts';
import type { Cli } from '../cli.ts';
import type { Define } from '../define.ts';
import { widthOf } from '../run-table.ts';
import { table, type Cell } from '../table.ts';

interface Flags {
  repo: string;
  json?: true;
}

export const define: Define = (command, cli) => {
  command
    .description(
      'Proves landed commits again, on this machine: compares each with its record (refs/notes/halo), then runs its setup and gates in a clean container of the recorded image on exactly that tree.',
    )
    .argument('<target>', 'a run, the start of its id, or a commit')
    .option('--repo <path>', 'where a commit is looked for', '.')
    .option('--json', 'print one commit per line as JSON')
    .addHelpText('after', HELP)
    .action((target: string, flags: Flags) => verify(target, flags, cli));
};

const HELP = `
Examples:
  halo verify 0tbq
  halo verify HEAD~2 --repo ../shop

Exit codes:
  0 all as recorded    10 something differs    2 no such run or commit    5 the image is missing

See also: halo status, halo diff`;

async function verify(target: string, { repo, json }: Flags, cli: Cli): Promise<void> {
  const stop = new AbortController();
  const off = cli.onStop(() => stop.abort());
  const folder = resolve(cli.cwd, repo);
  let good = true;
  try {
    for await (const verified of cli.services.verify({ target, folder, signal: stop.signal })) {
      good &&= verified.checks.every(({ ok }) => ok);
      await (json ? cli.printJson(verified) : cli.print(...page(verified, cli), ''));
    }
  } finally {
    off();
  }
  if (!good) cli.exitCode = exitCodeOf('GATE_FAILED');
  if (!json) await cli.print(good ? cli.paint('good', 'all as recorded') : cli.paint('bad', 'not as recorded'));
}

function page({ commit, story, checks }: Verified, cli: Cli): string[] {
  const heading = ['', 'WHAT', 'RECORDED', 'FOUND'].map((text) => ({ text }));
  const rows = checks.map(({ what, recorded, found, ok }): Cell[] => [
    { text: ok ? '✓' : '✗', tone: ok ? 'good' : 'bad' },
    { text: safeLine(what, 60) },
    { text: shorten(recorded) },
    { text: shorten(found), tone: ok ? 'plain' : 'bad' },
  ]);
  const head = `${cli.paint('strong', commit.slice(0, 12))}  ${safeLine(story)}`;
  return [head, ...table([heading, ...rows], { paint: cli.paint, width: widthOf(cli) })];
}

function shorten(text: string): string {
  return /^[0-9a-f]{40,64}$/.test(text) ? text.slice(0, 12) : safeLine(text);
}
