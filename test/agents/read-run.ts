import { expect } from 'vitest';
import type { AgentAdapter } from '../../src/agents/adapter.ts';
import type { AgentActivity, AgentOutcome } from '../../src/core/agent.ts';

/** Reads a whole run of an agent as a worker does: line by line, the last answer and the last error count. */
export function readRun(
  adapter: AgentAdapter,
  run: { stdout: string; stderrTail: string; exitCode: number | undefined },
): { activities: AgentActivity[]; outcome: AgentOutcome; denied: string | undefined } {
  const read = adapter.createReader();
  const activities: AgentActivity[] = [];
  let answerText: string | undefined;
  let error: string | undefined;
  let denied: string | undefined;
  for (const line of run.stdout.split('\n')) {
    const parsed = read(line);
    activities.push(...parsed.activities);
    answerText = parsed.answerText ?? answerText;
    error = parsed.error ?? error;
    denied ??= parsed.denied;
  }
  const outcome = adapter.outcome({ exitCode: run.exitCode, answerText, error, stderrTail: run.stderrTail });
  return { activities, outcome, denied: denied ?? adapter.findDenial?.(run.stderrTail) };
}

/** Looks for a part of what was denied; undefined: nothing was. */
export function expectDenied(denied: string | undefined, wanted: string | undefined): void {
  expect(denied).toEqual(wanted === undefined ? undefined : (expect.stringContaining(wanted) as string));
}

/** Compares the kind, and looks for a part of the summary or of the error. */
export function expectOutcome(outcome: AgentOutcome, wanted: { kind: string; says?: string }): void {
  const said = outcome.kind === 'answer' ? outcome.answer.summary : outcome.error;
  expect({ kind: outcome.kind, said }).toEqual({
    kind: wanted.kind,
    said: expect.stringContaining(wanted.says ?? '') as string,
  });
}
