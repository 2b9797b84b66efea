import type { ParsedLine } from '../../../agents/adapter.ts';

/** What the output of an agent says about its run. */
export interface AgentRun {
  /** Characters of its lines; undefined if it printed none. */
  output: number | undefined;
  /** The last candidate for its answer. */
  answerText: string | undefined;
  /** Its own last error message. */
  error: string | undefined;
  /** The first action that its own permission rules denied. */
  denied: string | undefined;
  /** The last denied action, if the agent did nothing after it. */
  blockedBy: string | undefined;
}

/** The run of an agent that has printed nothing. */
export const NO_OUTPUT: AgentRun = {
  output: undefined,
  answerText: undefined,
  error: undefined,
  denied: undefined,
  blockedBy: undefined,
};

/** Adds a line of output, of `length` characters, to what is known of a run. */
export function collectAgentRun(run: AgentRun, length: number, line: ParsedLine): AgentRun {
  const acted = line.activities.some(({ kind }) => kind === 'ran' || kind === 'edit');
  return {
    output: (run.output ?? 0) + length,
    answerText: line.answerText ?? run.answerText,
    error: line.error ?? run.error,
    denied: run.denied ?? line.denied,
    blockedBy: line.denied ?? (acted ? undefined : run.blockedBy),
  };
}
