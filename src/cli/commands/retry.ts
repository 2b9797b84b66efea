import { HaloError } from '../../core/failure/errors.ts';
import { canRetry } from '../../core/run/actions.ts';
import { controlCommand, type AllFlags, type Selectable } from '../options/control-command.ts';
import { parseSince, parseState } from '../options/filter-runs.ts';
import { addSettings, settingsFor, type SettingsFlags } from '../options/run-options.ts';

const HELP = `
Examples:
  halo retry 2dhe
  halo retry 2dhe --story US-002
  halo retry 2dhe --story US-002 --new-tests
  halo retry 2dhe -c budget.story_usd=5 -c limits.wall=90m
  halo retry --all --since 2h --state INFRASTRUCTURE    # what an outage ended

Settings apply from the next attempt on; the journal records who changed them.

Exit codes:
  0 retried    2 no such run or story    6 nothing to retry

See also: halo status, halo logs, halo resume`;

interface Flags extends SettingsFlags {
  newTests?: true;
}

export const define = controlCommand<Flags>({
  description:
    'Continues a run that has ended: stories that failed, were cancelled or need a human get new attempts; passed stories stay. The run keeps its settings: only -c changes them. With --story, retries one such story, also in an active run. With --all, retries all of your runs that failed since a time, after a confirmation.',
  help: HELP,
  word: 'retried',
  options: (command) =>
    addSettings(command)
      .option('--new-tests', 'discard the locked tests of tests first, and write new ones')
      .option(
        '--since <time>',
        'with --all: only runs that ended after a date (2030-01-31), a time of day (03:12) or a time ago (2h)',
      )
      .option(
        '--state <state>',
        'with --all: only runs in this state of halo ls, e.g. INFRASTRUCTURE (default: failed)',
        parseState,
      ),
  all: {
    verb: 'retry',
    what: 'runs that failed since --since',
    confirms: false,
    select: selectFailed,
  },
  prepare: async (flags, cli) => {
    const settings = await settingsFor(flags, cli);
    const options = { ...settings, ...(flags.newTests && { newTests: true }) };
    return (operations, runId, story) => operations.retry({ runId, story, ...options });
  },
});

/** Runs that ended after `--since`, by default with a failure. Throws USAGE without it: old runs would start again. */
function selectFailed({ since, state = 'failed' }: AllFlags): Selectable & { state: string } {
  if (since === undefined)
    throw new HaloError('USAGE', 'halo retry --all needs --since.', {
      hint: 'Name the time from which on runs have failed, such as --since 2h.',
    });
  const from = parseSince(since, new Date());
  return { ended: true, state, affects: (run) => (run.endedAt ?? '') >= from && canRetry(run) === true };
}
