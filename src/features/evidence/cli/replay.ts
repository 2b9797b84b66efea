import type { Replayed } from '../api/schemas.ts';
import { safeLine } from '../../../core/text/safe-text.ts';
import { exitCodeOf } from '../../../core/failure/stop-reason.ts';
import { formatChecks } from './format-checks.ts';
import type { Cli, Define } from '../../../cli/cli.ts';
import { RUN_ARGUMENT } from '../../../cli/options/resolve-run.ts';
import { parseCount, stoppable } from '../../../cli/run/run-until-signal.ts';

interface Flags {
  story: string;
  attempt?: number;
  json?: true;
}

export const define: Define = (command, cli) => {
  command
    .description(
      'Repeats an attempt at a story without a model: the real agent runs in the same image on the same commit with the recorded responses of its cassette, and the gates check the result. Nothing lands. Reports the first request that differs from the recording.',
    )
    .argument(...RUN_ARGUMENT)
    .requiredOption('--story <id>', 'the story (required)')
    .option('--attempt <n>', 'the attempt (default: the last one)', parseCount)
    .option('--json', 'print the result as JSON')
    .addHelpText('after', HELP)
    .action((runId: string | undefined, flags: Flags) => replay(runId, flags, cli));
};

const HELP = `
Examples:
  halo run prd.json -c model.mode=record
  halo replay 2dhe --story US-002

Exit codes:
  0 ended as recorded    10 ended differently    2 no such run or story    5 cassette or image missing

See also: halo verify, halo logs`;

async function replay(runId: string | undefined, { story, attempt, json }: Flags, cli: Cli): Promise<void> {
  const replayed = await stoppable(cli, (signal) =>
    cli.withRun(runId, (operations, runId) => operations.replay({ runId, story, attempt }, signal)),
  );
  const same = replayed.checks.every(({ ok }) => ok);
  if (!same) cli.exitCode = exitCodeOf('GATE_FAILED');
  if (json) return cli.printJson(replayed);
  await cli.print(...page(replayed, cli), '');
  await cli.print(
    same ? cli.paint('good', 'ended as recorded') : cli.paint('bad', 'ended differently from the recording'),
  );
}

function page({ story, attempt, divergence, checks }: Replayed, cli: Cli): string[] {
  return [
    `${cli.paint('strong', safeLine(story))}  attempt ${attempt}`,
    ...formatChecks(checks, cli),
    divergence === undefined ? 'All requests match the recording.' : safeLine(divergence, 400),
  ];
}
