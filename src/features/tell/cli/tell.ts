import type { HaloError } from '../../../core/failure/errors.ts';
import { canMessage } from '../../../core/run/actions.ts';
import { MESSAGE_WORDS, messageRoute, messageState } from '../../../core/run/messages.ts';
import type { RunState, StoryState } from '../../../core/run/state.ts';
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
      tell(run, { story, text }, { flags, cli }),
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

/** One word after the run is the text, unless it is given elsewhere, is the id of a story, or has no space and so names one. */
function splitWords({ story, text }: Words, { file, edit }: Flags, { stories }: Pick<RunState, 'stories'>): Words {
  const isAlone = text === undefined && file === undefined && edit === undefined;
  const isText = isAlone && story?.includes(' ') === true && !stories.some(({ id }) => id === story);
  return isText ? { text: story } : { story, text };
}

async function tell(run: string, words: Words, { flags, cli }: { flags: Flags; cli: Cli }): Promise<void> {
  const { file, edit, json } = flags;
  const result = await cli.withRun(run, async (operations, runId) => {
    const { state } = await operations.getRun({ runId });
    const { story: named, text } = splitWords(words, flags, state);
    const story = chooseStory(state, named);
    const allowed = canMessage(state, story);
    const where = routeSentence(state, story, messageRoute(story));
    const message = await readMessage({ text, file, edit }, () => Promise.resolve(where), cli);
    if (message === undefined) return showMessages(story, allowed === true ? where : allowed, { json, cli });
    if (allowed === true) await cli.note(where);
    const result = await operations.tell({ runId, story: story.id, text: message });
    const isAsAnnounced = result.changed && result.route === messageRoute(story) && !json;
    return isAsAnnounced ? { ...result, says: `to story ${story.id}` } : result;
  });
  if (result !== undefined) await printControlResult(result, { word: 'sent', json: json === true, cli });
}

/** Where a message would go, or why it would be refused, and what has become of earlier ones. */
async function showMessages(
  story: StoryState,
  where: string | HaloError,
  { json, cli }: { json: true | undefined; cli: Cli },
): Promise<void> {
  const route = typeof where === 'string' ? messageRoute(story) : null;
  if (json) return cli.printJson({ story: story.id, route, messages: messagesOf(story) });
  const says = typeof where === 'string' ? [where] : [where.message, ...(where.hint === undefined ? [] : [where.hint])];
  await cli.print(...says, ...messageLines(story));
}

function messagesOf(story: StoryState) {
  return (story.messages ?? []).map((message) => ({ ...message, state: messageState(story, message) }));
}

function messageLines(story: StoryState): string[] {
  return messagesOf(story).map(
    ({ by, at, text, state }) => `${at}  ${safeLine(by)}, ${MESSAGE_WORDS[state]}: ${safeLine(text, 200)}`,
  );
}
