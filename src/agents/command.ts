import type { AgentOutcome } from '../core/agent.ts';
import { HaloError } from '../core/failure/errors.ts';
import { shellQuote } from '../lib/text.ts';
import type { AgentAdapter, AgentEnd, AgentIntent, AgentLaunch } from './adapter.ts';
import { createSignalReader, parseCommandLine, readSignalAnswer } from './answer.ts';
import { modelVariables } from './model-variables.ts';
import { explainEnd } from './outcome.ts';

const BRACE = '{'.charCodeAt(0);

/** Any program as an agent: prompt on stdin, answer in the file HALO_RESULT or on a line of stdout. */
export const command: AgentAdapter = {
  id: 'command',
  title: 'The agent command',
  guidanceFiles: ['AGENTS.md'],
  launch: launchCommand,
  createReader: (expected) => (expected?.form === 'signals' ? createSignalReader(expected) : parseCommandLine),
  isTalk: (lines, form) => form === 'json' && !lines.includes(BRACE),
  outcome: readCommandOutcome,
};

/** Runs the user's command line by sh. Throws CONFIG_INVALID when none is configured. */
function launchCommand(intent: AgentIntent): AgentLaunch {
  if (intent.commandLine === undefined || intent.commandLine.trim() === '')
    throw new HaloError('CONFIG_INVALID', 'The agent "command" has no command line.', {
      hint: 'Set `run` in the table [agents.command] of halo.toml.',
    });
  return {
    script: writeScript(intent.commandLine),
    env: {
      HALO_RESULT: `${intent.home}/result.json`,
      ...(intent.modelUrl === undefined ? {} : modelVariables(intent, intent.modelUrl)),
    },
    files: {},
  };
}

/** The result file becomes the last line of stdout, on a separate line even if the output of the command did not end with one. */
function writeScript(commandLine: string): string {
  return `sh -c ${shellQuote(commandLine)}
code=$?
if [ -f "$HALO_RESULT" ]; then
  echo
  tr '\\r\\n' '  ' < "$HALO_RESULT"
  echo
fi
exit "$code"
`;
}

const PLACES = 'A program must be an executable file in the commit of the run, named by its path, or in the image.';

/** A command must exit 0 and give an answer. */
function readCommandOutcome(end: AgentEnd): AgentOutcome {
  if (end.exitCode !== 0) {
    const ended = explainEnd('The agent command', end);
    return ended.cause === undefined ? ended : { ...ended, error: `${ended.error}. ${PLACES}` };
  }
  if (end.answerText === undefined)
    return {
      kind: 'invalid',
      error:
        'The agent command gave no answer that its prompt asks for: a line such as STORY_DONE: <id> with agents.command.answer = "signals", else {"status":"ok","summary":"…"} as a line or in the file $HALO_RESULT.',
    };
  return readSignalAnswer(end.answerText);
}
