import { HaloError } from '../../core/failure/errors.ts';
import type { WantedFiles } from '../logs/attempt-files.ts';
import type { Cli, Define } from '../cli.ts';
import { parseLineCount, parseSince, SINCE } from '../options/filter-runs.ts';
import { showEvents } from '../logs/show-events.ts';
import { showFiles, showRaw } from '../logs/show-files.ts';
import { showSummaries } from '../logs/show-summary.ts';
import { parseCount, stoppable } from '../run/run-until-signal.ts';
import type { Operations } from '../../api/operations.ts';
import type { ListedRun } from '../../api/runs/limited-runs.ts';
import type { RunState } from '../../core/run/state.ts';
import { findBatch, groupRuns, resolveRun } from '../options/resolve-run.ts';

interface Flags extends WantedFiles {
  follow?: true;
  batch?: string;
  full?: true;
  timestamps?: true;
  since?: string;
  tail?: number;
  summary?: true;
  raw?: true;
  json?: true;
}

export const define: Define = (command, cli) => {
  command
    .description(
      'Shows the log of runs: messages, commands and edits of the agent, then setup and gates, with elapsed time. Or prints a file of an attempt: the complete log of a gate or of setup, the prompt, or the stderr of the agent.',
    )
    .argument(
      '[runId...]',
      'runs, each by any unique part of its id; @ or -1 for the newest run of this repository (default), -2 for the one before',
    )
    .option('-f, --follow', 'continue until the runs end; without an id: all runs that have not ended')
    .option('--batch <id>', 'the runs of a batch, by any unique part of its id')
    .option('--story <id>', 'only this story')
    .option(
      '--attempt <n>',
      'only this attempt (with --gate, --setup, --prompt and --stderr, default: the last one)',
      parseCount,
    )
    .option('--gate <n>', 'the complete log of the nth gate', parseCount)
    .option('--setup', 'the complete logs of setup, before the agent and before the gates')
    .option('--prompt', 'the prompt of the agent')
    .option('--stderr', 'the stderr of the agent')
    .option('--full', 'shorten nothing: complete messages of the agent, complete logs of setup and gates')
    .option('-t, --timestamps', 'dates and times (UTC) instead of elapsed time')
    .option('--since <time>', `only what happened after ${SINCE}`)
    .option('-n, --tail <lines>', 'only the last lines of each run', parseLineCount)
    .option('--summary', 'each run in figures: times, attempts with their costs, retries and breakers')
    .option('--raw', 'the raw output of the agent, or the raw file, byte for byte (sanitized on a terminal)')
    .option('--json', 'the journal, one event per line, with the runId if there are several runs')
    .addHelpText('after', HELP)
    .action((runIds: string[], flags: Flags) => logs(runIds, flags, cli));
};

const HELP = `
Examples:
  halo logs 2dhe -f
  halo logs 2dhe --story US-002 --gate 2
  halo logs 2dhe --story US-002 --attempt 1 --prompt
  halo logs -f
  halo logs --batch bjfw -f --since 10m -t
  halo logs 2dhe --summary
  halo logs 2dhe --raw > agent.jsonl
  halo logs 2dhe --json | jq 'select(.type == "gate.ended")'

Ctrl-C stops following, not the runs.

See also: halo status, halo diff, halo debug`;

async function logs(references: string[], flags: Flags, cli: Cli): Promise<void> {
  assertOneView(flags);
  const { raw, json, full, timestamps, follow, ...rest } = flags;
  const since = flags.since === undefined ? undefined : parseSince(flags.since, new Date());
  await stoppable(cli, (signal) =>
    cli.withOperations(async (operations) => {
      const runs = await namedRuns(operations, { ...flags, references }, cli);
      const [{ runId } = { runId: '' }, ...others] = runs;
      if (flags.summary) {
        const runIds = runs.map((run) => run.runId);
        return showSummaries({ operations, runIds, json: json === true }, cli);
      }
      if (raw === undefined && !isFile(flags)) {
        const how = { json: json === true, full: full === true, timestamps: timestamps === true };
        const what = { ...rest, ...how, follow: follow === true, since };
        const show = () => showEvents({ operations, runs, signal, ...what }, cli);
        return follow || json ? show() : cli.paged(show);
      }
      if (others.length > 0)
        throw new HaloError('USAGE', '--raw, --gate, --setup, --prompt and --stderr read the files of one run.', {
          hint: 'Pass one run id. Run `halo ls` to list all runs.',
        });
      return isFile(flags)
        ? cli.paged(() => showFiles({ operations, runId, wanted: flags, exact: raw === true, tail: flags.tail }, cli))
        : showRaw({ operations, runId, story: flags.story, follow: follow === true, signal }, cli);
    }),
  );
}

function isFile({ gate, setup, prompt, stderr }: Flags): boolean {
  return [gate, setup, prompt, stderr].some((each) => each !== undefined);
}

const OF_EVENTS = ['json', 'full', 'timestamps', 'since'] as const;
/** Options that conflict with this one. */
const UNFIT: Partial<Record<keyof Flags, readonly (keyof Flags)[]>> = {
  summary: [
    'follow',
    'story',
    'attempt',
    'gate',
    'setup',
    'prompt',
    'stderr',
    'raw',
    'full',
    'timestamps',
    'since',
    'tail',
  ],
  raw: [...OF_EVENTS],
  gate: ['setup', 'prompt', 'stderr', 'follow', 'batch', ...OF_EVENTS],
  setup: ['prompt', 'stderr', 'follow', 'batch', ...OF_EVENTS],
  prompt: ['stderr', 'follow', 'batch', ...OF_EVENTS],
  stderr: ['follow', 'batch', ...OF_EVENTS],
};

function assertOneView(flags: Flags): void {
  for (const [option, unfit] of Object.entries(UNFIT)) {
    if (flags[option as keyof Flags] === undefined) continue;
    const other = unfit.find((each) => flags[each] !== undefined);
    if (other === undefined) continue;
    throw new HaloError('USAGE', `--${option} and --${other} exclude each other.`, {
      hint: 'Run `halo logs --help` for their meanings.',
    });
  }
  if (flags.raw && !isFile(flags) && (flags.tail ?? flags.attempt) !== undefined)
    throw new HaloError('USAGE', 'The raw output of the agent cannot be limited.', {
      hint: 'Leave out --tail and --attempt, or --raw.',
    });
}

interface NamedRuns {
  references: readonly string[];
  /** A batch, by a part of its id. */
  batch?: string;
  follow?: true;
}

/**
 * The runs to show: the named ones in their order, others oldest first. Following without a name means all runs that
 * have not ended or, if there are none, the newest of this repository. Throws RUN_NOT_FOUND.
 */
async function namedRuns(
  operations: Operations,
  { references, batch, follow }: NamedRuns,
  cli: Cli,
): Promise<RunState[]> {
  const runs: RunState[] = [];
  if (batch !== undefined) runs.push(...findBatch(groupRuns((await operations.listRuns({ batch })).runs), batch)[1]);
  else if (follow && references.length === 0) runs.push(...active((await operations.listRuns({ ended: 0 })).runs));
  const asked = runs.length === 0 && references.length === 0 ? [undefined] : references;
  for (const reference of asked) {
    const { state } = await operations.getRun({ runId: await resolveRun(operations, reference, cli) });
    if (!runs.some(({ runId }) => runId === state.runId)) runs.push(state);
  }
  return runs;
}

function active(runs: readonly ListedRun[]): RunState[] {
  return runs.filter(({ status }) => status !== 'ended').reverse();
}
