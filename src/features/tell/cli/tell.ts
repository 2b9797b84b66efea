import { MESSAGE_WORDS, messageRoute, messageState } from '../../../core/run/messages.ts';
import type { StoryState } from '../../../core/run/state.ts';
import { safeLine } from '../../../core/text/safe-text.ts';
import type { Cli, Define } from '../../../cli/cli.ts';
import { printControlResult } from '../../../cli/options/control-command.ts';
import { readMessage } from '../../../cli/options/read-message.ts';
import { chooseStory, routeSentence } from '../../../core/run/message-target.ts';

interface Flags {
  file?: string;
  edit?: true;
  json?: true;
}

export const define: Define = (command, cli) => {
  command
    .description(
      'Sends a message to the agent of a story. An agent that takes messages reads it while it works, after its current step; for all others, it is in the next prompt of the story. Every later prompt of the story has it, too. Without a text, prints where a message would go, and what has become of earlier ones.',
    )
    .argument('<run>', 'id of a run, or its unique beginning')
    .argument('[story]', 'the story (default: the only one in progress, or the only one that is left)')
    .argument('[text]', 'the message, at most 8,000 characters')
    .option('--file <file>', 'the message from a file; `-`: from stdin')
    .option('--edit', 'write the message in $VISUAL or $EDITOR')
    .option('--json', 'print the result as JSON')
    .addHelpText('after', HELP)
    .action((run: string, story: string | undefined, text: string | undefined, flags: Flags) =>
      tell(run, splitWords({ story, text }, flags), { flags, cli }),
    );
};

const HELP = `
Examples:
  halo tell 2dhe
  halo tell 2dhe "Use the port of the old service, 8080."
  halo tell 2dhe US-002 "Leave the old function in place."
  halo tell 2dhe US-002 --file note.md

Exit codes:
  0 sent    2 no such run or story, or an unusable text    6 no agent will work on the story

See also: halo answer, halo reject --feedback, halo watch`;

interface Words {
  story?: string | undefined;
  text?: string | undefined;
}

/** One word after the run is the text, unless it is given elsewhere, or has no space and so names a story. */
function splitWords({ story, text }: Words, { file, edit }: Flags): Words {
  const isText = text === undefined && file === undefined && edit === undefined && story?.includes(' ') === true;
  return isText ? { text: story } : { story, text };
}

async function tell(
  run: string,
  { story: named, text }: Words,
  { flags, cli }: { flags: Flags; cli: Cli },
): Promise<void> {
  const { file, edit, json } = flags;
  const result = await cli.withRun(run, async (operations, runId) => {
    const { state } = await operations.getRun({ runId });
    const story = chooseStory(state, named);
    const where = routeSentence(state, story, messageRoute(story));
    const message = await readMessage({ text, file, edit }, () => Promise.resolve(where), cli);
    if (message === undefined) return showMessages(story, where, { json, cli });
    await cli.note(where);
    const result = await operations.tell({ runId, story: story.id, text: message });
    const isAsAnnounced = result.changed && result.route === messageRoute(story) && !json;
    return isAsAnnounced ? { ...result, says: `to story ${story.id}` } : result;
  });
  if (result !== undefined) await printControlResult(result, { word: 'sent', json: json === true, cli });
}

/** Where a message would go, and what has become of earlier ones. */
async function showMessages(
  story: StoryState,
  where: string,
  { json, cli }: { json: true | undefined; cli: Cli },
): Promise<void> {
  if (json) return cli.printJson({ story: story.id, route: messageRoute(story), messages: messagesOf(story) });
  await cli.print(where, ...messageLines(story));
}

function messagesOf(story: StoryState) {
  return (story.messages ?? []).map((message) => ({ ...message, state: messageState(story, message) }));
}

function messageLines(story: StoryState): string[] {
  return messagesOf(story).map(
    ({ by, at, text, state }) => `${at}  ${safeLine(by)}, ${MESSAGE_WORDS[state]}: ${safeLine(text, 200)}`,
  );
}
