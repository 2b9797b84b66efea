import type { RunView } from '../../api/operations/runs.ts';
import { isWorking, workText } from '../../view/story-words.ts';
import { runWords } from '../../view/run-words.ts';
import { whyRunWaits } from '../../view/waiting.ts';
import { defined } from '../../lib/guards.ts';
import { safeLine } from '../../core/text/safe-text.ts';
import type { Cli, Define } from '../cli.ts';
import { showEvents } from '../logs/show-events.ts';
import { RUN_ARGUMENT } from '../options/resolve-run.ts';
import { stoppable } from '../run/run-until-signal.ts';

export const define: Define = (command, cli) => {
  command
    .description(
      'Shows live what the agents of a run do: one line for each thought, command, file, gate and model response with its cost. Ends with the run.',
    )
    .argument(...RUN_ARGUMENT)
    .option('--json', 'the events of the journal from now on, one per line')
    .addHelpText('after', HELP)
    .action((runId: string | undefined, flags: { json?: true }) => watch(runId, flags.json === true, cli));
};

const HELP = `
Examples:
  halo watch
  halo watch 2dhe
  halo watch 2dhe --json | jq 'select(.type == "model.used") | .usage.costUsd'

Ctrl-C stops watching, not the run.

See also: halo logs, halo status --watch, halo top`;

/** The last lines of what has happened before. */
const EARLIER_LINES = 5;

async function watch(reference: string | undefined, json: boolean, cli: Cli): Promise<void> {
  await stoppable(cli, (signal) =>
    cli.withRun(reference, async (operations, id) => {
      const view = await operations.getRun({ runId: id });
      if (!json) await cli.note(...nowLines(view).map((line) => cli.paintErr('strong', line)), '');
      const how = { json, live: true, full: false, timestamps: false, since: undefined };
      const tail = json ? 0 : EARLIER_LINES;
      await showEvents({ operations, runs: [view.state], signal, follow: true, tail, ...how }, cli);
    }),
  );
}

/** What each running story does now, else why none runs. */
function nowLines(view: RunView): string[] {
  const { state, heldBy } = view;
  const now = new Date().toISOString();
  const running = state.stories.filter((story) => isWorking(story, state));
  if (running.length > 0)
    return running.map((story) => `${safeLine(story.id)}  ${workText(story, state, now)}: ${safeLine(story.title)}`);
  const why = whyRunWaits(view);
  return [`${state.runId}  ${why.length === 0 ? runWords({ ...state, ...defined({ heldBy }) }).text : why.join('; ')}`];
}
