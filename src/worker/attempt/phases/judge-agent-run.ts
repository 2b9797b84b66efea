import type { AgentAdapter } from '../../../agents/adapter.ts';
import type { Config, ModelSource } from '../../../config/config.ts';
import type { AgentAnswer, AgentOutcome } from '../../../core/agent.ts';
import { HaloError } from '../../../core/failure/errors.ts';
import { safeLine } from '../../../core/text/safe-text.ts';
import type { GatewayProblem, GatewayStop } from '../../../gateway/request-log.ts';
import type { SandboxExit } from '../../../sandbox/sandbox.ts';
import { describeKeySource } from '../../network/secret-reader.ts';
import {
  AttemptEnded,
  attemptFailed,
  describeRefusedForks,
  findExitFailure,
  withCause,
  withLimit,
} from '../attempt-outcome.ts';
import { defined } from '../../../lib/guards.ts';
import type { AgentRun } from './collect-agent-run.ts';

/** The facts other than its output that decide how an agent ended. */
export interface AgentEndFacts {
  exit: SandboxExit;
  /** The last bytes of stderr, as text. */
  stderrTail: string;
  /** Why the gateway stopped its model requests, and the last problem of the gateway. */
  stopped: GatewayStop | undefined;
  problem: GatewayProblem | undefined;
  config: Pick<Config, 'limits' | 'model'>;
  adapter: Pick<AgentAdapter, 'outcome'>;
}

/** The end of an agent: its answer, if it gave a valid one, and why the attempt ends, unless the answer is `ok`. */
export type AgentJudgement =
  | { answer: AgentAnswer; end?: undefined }
  | { answer: AgentAnswer | undefined; end: AttemptEnded | HaloError };

/**
 * Decides how an agent ended. What the gateway and the engine saw takes precedence over the agent's own message, which is
 * not trusted.
 */
export function judgeAgentRun(run: AgentRun, facts: AgentEndFacts): AgentJudgement {
  const { exit, stderrTail: tail, config, adapter } = facts;
  const stop = exit.ended === 'aborted' ? undefined : findGatewayStop(facts.stopped, tail);
  const limits = { what: 'the agent', limits: config.limits, overflow: 'agent-overflow' } as const;
  const early = (exit.ended === 'exited' ? undefined : stop) ?? findExitFailure(exit, limits, tail);
  if (early !== undefined) return { answer: undefined, end: early };
  const { answerText, error } = run;
  const outcome = adapter.outcome({ exitCode: exit.exitCode, answerText, error, stderrTail: tail });
  switch (outcome.kind) {
    case 'invalid': {
      const why = `${outcome.error}${describeRefusedForks(exit, config.limits, tail)}`;
      const end = blamePermission(run, attemptFailed('INVALID_OUTPUT', why, answerText ?? tail));
      return { answer: undefined, end: stop ?? end };
    }
    case 'error':
      return { answer: undefined, end: stop ?? explain(outcome, facts) };
    case 'answer':
      return judgeAnswer(outcome.answer, run, stop);
  }
}

/** Why a gateway stopped the agent's model requests, as the end of the attempt. */
export function findGatewayStop(stopped: GatewayStop | undefined, tail: string): AttemptEnded | HaloError | undefined {
  switch (stopped?.cause) {
    case undefined:
      return undefined;
    case 'budget':
    case 'overrun':
      return withLimit(stopped.limit, attemptFailed('BUDGET_EXCEEDED', stopped.sentence, tail));
    case 'fault':
      return new HaloError('BUDGET_UNKNOWN', stopped.sentence);
    case 'pause': {
      const { outcome } = withCause('rate-limited', attemptFailed('ENGINE_ERROR', stopped.sentence, tail));
      return new AttemptEnded({ ...outcome, pause: stopped.pause });
    }
  }
}

function judgeAnswer(answer: AgentAnswer, run: AgentRun, stop: AttemptEnded | HaloError | undefined): AgentJudgement {
  switch (answer.status) {
    case 'ok':
      return { answer };
    case 'needs_human': {
      const { summary, options } = answer;
      const asks = { verdict: 'needs_human', stopReason: 'NEEDS_HUMAN', summary } as const;
      const outcome = { ...asks, ...defined({ options }) };
      return stop === undefined ? { answer, end: new AttemptEnded(outcome) } : { answer: undefined, end: stop };
    }
    case 'failed': {
      const gaveUp = withCause('gave-up', attemptFailed('ENGINE_ERROR', `the agent gave up: ${answer.summary}`));
      return stop === undefined ? { answer, end: blamePermission(run, gaveUp) } : { answer: undefined, end: stop };
    }
  }
}

function explain(
  { error, cause }: AgentOutcome & { kind: 'error' },
  { exit, problem, config, stderrTail: tail }: AgentEndFacts,
): AttemptEnded {
  const why = `${error}${describeRefusedForks(exit, config.limits, tail)}`;
  if (problem === undefined) return withCause(cause, attemptFailed('ENGINE_ERROR', why, tail));
  const check = problem.cause === 'key-refused' ? ` Check ${keyPlaces(config.model)} where the worker runs.` : '';
  const sentence = check === '' ? problem.sentence : `${problem.sentence.replace(/\.?$/, '.')}${check}`;
  return withCause(problem.cause ?? cause, attemptFailed('ENGINE_ERROR', sentence, tail));
}

/** The places of the refused keys, for the error message. */
function keyPlaces(source: ModelSource): string {
  return [source, ...source.keys].map(describeKeySource).join(', ');
}

/** Marks a failure as caused by a denied permission, if there is one: another attempt would fail in the same way. */
function blamePermission({ blockedBy }: AgentRun, end: AttemptEnded): AttemptEnded {
  if (blockedBy === undefined) return end;
  const summary = `${end.outcome.summary}\nIts own rules did not permit it: ${safeLine(blockedBy, 300)}`;
  return withCause('permission-denied', new AttemptEnded({ ...end.outcome, summary }));
}
