import type { AgentOptions } from '../core/agent-options.ts';
import type { AgentActivity, AgentId, AgentOutcome, ModelApi } from '../core/agent.ts';
import type { Listening } from '../core/run/messages.ts';

/** Input of an agent, independent of the agent. */
export interface AgentIntent {
  /** Model name for agents that take one. */
  model: string;
  /** The provider behind the gateway's model route. */
  api: ModelApi | undefined;
  /** Where the gateway's model route is inside the sandbox, e.g. http://127.0.0.1:4000/v1; undefined: no model route. */
  modelUrl: string | undefined;
  /** The token of the attempt, which the gateway accepts in place of an API key. Not a secret from the agent. */
  gatewayToken: string;
  /** A writable folder for the agent. */
  home: string;
  /** The version of its program, if it is another one than that of halo's image. */
  version?: string | undefined;
  /** Options of the program, which the configuration has checked. */
  options: AgentOptions;
  /** What the agent answers with: the end of a story (default), the tests that it wrote for one, a plan, or a review. */
  answers?: 'story' | 'tests' | 'plan' | 'review';
  /** A folder that further attempts at the story have as well; undefined: the session is not kept. */
  sessionDir?: string | undefined;
  /** The program is started so that its input is that of a `LiveSession`. */
  live?: true;
  /** The user's command line, for the `command` agent and those of the Agent Client Protocol. */
  commandLine: string | undefined;
}

/** How to start an agent inside the sandbox. */
export interface AgentLaunch {
  /** POSIX shell script; the prompt is on its stdin. */
  script: string;
  env: Record<string, string>;
  /** The folder of the session, if the program uses it. */
  sessionDir?: string | undefined;
  /** Files written before the start: absolute path inside the sandbox (below `home`) to content. */
  files: Record<string, string>;
}

/** The meaning of a line of output. `answerText` is a candidate for the final answer; the last one counts. */
export interface ParsedLine {
  activities: AgentActivity[];
  answerText?: string;
  /** The agent's own final error message. */
  error?: string;
  /** The action that the agent was not permitted to do, in the words of its program. */
  denied?: string;
}

/** A message of a person to an agent that works. `text`: as the agent is to read it, set off as data. */
export interface LiveMessage {
  /** A UUID. */
  id: string;
  text: string;
}

/** What a line of output means for the messages of a session. */
export interface LiveSign {
  /** The ids of messages that the program has, and gives to its model later. */
  received?: readonly string[];
  /** The ids of messages that are now part of the conversation with the model. */
  taken?: readonly string[];
  /** No turn runs, and none starts unless the program gets another message: its input can end. */
  idle?: true;
  /** From now on it takes messages, and reads them then; for a session that does not from its start. */
  listens?: Listening;
  /** What its input needs now, such as an answer. */
  write?: string;
}

/**
 * A conversation with one process of an agent over its stdin and stdout. It only translates: halo writes what it returns, in
 * order, keeps the input open until `idle` while no message is outstanding, and never writes a message twice. Everything that
 * `read` gets may be forged by the program.
 */
export interface LiveSession {
  /** Takes messages from its start on; otherwise `listens` says when. */
  listens: boolean;
  /** `read` gets only lines that contain one of these texts. */
  marks: readonly string[];
  /** How the input begins. */
  begin(prompt: string): string;
  /** A message as part of the input. It must not destroy the work of a turn that runs. */
  tell(message: LiveMessage): string;
  /** Never throws. */
  read(line: string): LiveSign;
}

/** The answer that the prompt asked for. */
export interface ExpectedAnswer {
  /** The id of the story. */
  story: string;
  /** `signals`: lines such as `STORY_DONE: US-001`, for agents without a schema for the answer. */
  form: 'json' | 'signals';
  /** The session only writes the tests of the story. */
  testsOnly?: boolean;
}

/** Never throws: a line that is not an event gives no activity. */
export type LineReader = (line: string) => ParsedLine;

export interface AgentEnd {
  exitCode: number | undefined;
  answerText: string | undefined;
  error: string | undefined;
  /** Last bytes of stderr, as text. */
  stderrTail: string;
}

/** How to ask an agent's program for its features and help, for the record of a run. */
export interface BuildDescription {
  /** POSIX shell script, for the version of halo's image or another one. */
  script: (version?: string) => string;
  /** Reads the output of the script. Never throws. */
  read(output: string): { features: string[]; help: string };
}

/** A pure translator between halo and one agent CLI: it never spawns, reads or writes anything. */
export interface AgentAdapter {
  id: AgentId | 'acp';
  /** Display name of the program. */
  title: string;
  /** Guidance files in the root of the repository that the program does not read itself: the prompt contains them. */
  guidanceFiles: readonly string[];
  /** The program gets halo’s schema for its answer, so it answers in JSON, whatever the configuration says. */
  hasAnswerSchema?: true;
  launch(intent: AgentIntent): AgentLaunch;
  /** Opens the session of a launch with `live`. Absent or undefined: the program takes no message while it works. */
  openSession?(intent: AgentIntent): LiveSession | undefined;
  /** Absent if the program has no such command. */
  describeBuild?: BuildDescription;
  /** A reader for the lines of one run, in order. */
  createReader(expected?: ExpectedAnswer): LineReader;
  /**
   * Whether each of these lines, in UTF-8, is a message: none can hold an answer of this form, an error or a denial. Only
   * the first messages are then read, so the reader must not remember lines.
   */
  isTalk?(lines: Buffer, form: ExpectedAnswer['form']): boolean;
  /** Finds `ParsedLine.denied` for a program that reports it only on stderr. */
  findDenial?(stderrTail: string): string | undefined;
  outcome(end: AgentEnd): AgentOutcome;
}

interface LaunchScript {
  /** Name of the agent in the error message. */
  title: string;
  /** Absolute path of its program inside the sandbox. */
  program: string;
  /** The version of the program, if it is another one than that of halo's image. */
  version?: string | undefined;
  /** Shell command line that starts it. */
  command: string;
  /** What the program must be: executable (default) or a file that `command` passes to an interpreter. */
  test?: '-x' | '-f';
}

/** POSIX shell script that starts an agent, or exits with 127 if its program is not in the sandbox. */
export function launchScript({ title, program, version, command, test = '-x' }: LaunchScript): string {
  return `if [ ! ${test} ${program} ]; then
  echo '${title} is not in this sandbox (looked for ${program}); ${remedy(version)}' >&2
  exit 127
fi
exec ${command}
`;
}

/**
 * POSIX shell that sets `session` to the UUID in the name of the first of these files, or else to nothing. `order`: flags of
 * `ls`. The agent has written them.
 */
export function findSession(files: string, order = '-d'): string {
  const id = '[0-9a-f]\\{8\\}\\(-[0-9a-f]\\{4\\}\\)\\{3\\}-[0-9a-f]\\{12\\}';
  return `session=$(ls ${order} ${files} 2>/dev/null | head -n 1 | sed -n 's/.*\\(${id}\\)\\.jsonl$/\\1/p')
`;
}

/** How a program gets into sandboxes again. */
function remedy(version: string | undefined): string {
  return version === undefined ? 'build the image again: halo image build' : 'install it again: halo agent update';
}

/** Shortens text to about `max` characters, most of them from the end, which usually contains the result. */
export function truncateMiddle(text: string, max = 4000): string {
  if (text.length <= max) return text;
  const head = Math.floor(max / 4);
  const tail = max - head;
  return `${text.slice(0, head)}\n… ${text.length - max} characters left out …\n${text.slice(-tail)}`;
}

/** The parsed line for an action that the agent was not permitted to do. */
export function denial(what: string): ParsedLine {
  return { activities: [{ kind: 'warn', text: truncateMiddle(`permission denied: ${what}`) }], denied: what };
}

/** A path of the sandbox, relative to the workspace if it is in it. */
export function fromWorkspace(path: string): string {
  return path.startsWith('/workspace/') ? path.slice('/workspace/'.length) : path;
}
