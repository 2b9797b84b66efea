import type { AgentActivity, AgentId, AgentOutcome } from '../core/agent.ts';
import type { ModelApi } from '../core/model-api.ts';

/** What an agent is to do, in terms of no agent. */
export interface AgentIntent {
  /** Model name for agents that take one. */
  model: string;
  /** The provider behind the gateway's model route. */
  api: ModelApi | undefined;
  /** Where the gateway's model route is inside the sandbox, e.g. http://127.0.0.1:4000/v1; undefined: no model route. */
  modelUrl: string | undefined;
  /** What the gateway takes for a key: it goes with the attempt, and is no secret from the agent. */
  modelKey: string;
  /** A writable folder of the agent's own. */
  home: string;
  /** The user's command line, for the `command` agent. */
  commandLine: string | undefined;
}

/** How to start an agent inside the sandbox. */
export interface AgentLaunch {
  /** POSIX shell script; the prompt is on its stdin. */
  script: string;
  env: Record<string, string>;
  /** Files written before the start: absolute path inside the sandbox (below `home`) to content. */
  files: Record<string, string>;
}

/** What a line of output means to people; `answerText` is a candidate for the final answer (the last one counts). */
export interface ParsedLine {
  activities: AgentActivity[];
  answerText?: string;
  /** The agent's own final error message. */
  error?: string;
  /** What the agent was not permitted to do, as its program says it. */
  denied?: string;
}

/** Never throws: a line that is no event gives no activity. */
export type LineReader = (line: string) => ParsedLine;

export interface AgentEnd {
  exitCode: number | undefined;
  answerText: string | undefined;
  error: string | undefined;
  /** Last bytes of stderr, as text. */
  stderrTail: string;
}

/** How an agent's program tells of itself, for the record of a run. */
export interface AgentAbout {
  /** POSIX shell script. */
  script: string;
  /** What its output says. Never throws. */
  read(output: string): { features: string[]; help: string };
}

/** A pure translator between halo and one agent CLI: it never spawns, reads or writes anything. */
export interface AgentAdapter {
  id: AgentId;
  /** Name of the program as people know it. */
  title: string;
  /** Files in the root of the repository with guidance for agents that it does not read by itself: the prompt carries them. */
  guidanceFiles: readonly string[];
  launch(intent: AgentIntent): AgentLaunch;
  /** Absent for a program that has nothing to tell. */
  about?: AgentAbout;
  /** A reader for the lines of one run, in order. */
  createReader(): LineReader;
  /** What `ParsedLine.denied` is, for a program that says so on stderr alone. */
  deniedIn?(stderrTail: string): string | undefined;
  outcome(end: AgentEnd): AgentOutcome;
}
