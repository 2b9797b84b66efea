import { describe, expect, it } from 'vitest';
import type { ParsedLine } from '../../../src/agents/adapter.ts';
import { resolveConfig } from '../../../src/config/resolve.ts';
import type { AgentActivity, AgentAnswer, AgentOutcome } from '../../../src/core/agent.ts';
import { HaloError } from '../../../src/core/failure/errors.ts';
import type { SandboxExit } from '../../../src/sandbox/sandbox.ts';
import { AttemptEnded } from '../../../src/worker/attempt/attempt-outcome.ts';
import { openRunCollector, type AgentRun } from '../../../src/worker/attempt/phases/collect-agent-run.ts';
import { judgeAgentRun, type AgentEndFacts } from '../../../src/worker/attempt/phases/judge-agent-run.ts';

const say: AgentActivity = { kind: 'say', text: 'Looking.' };
const edit: AgentActivity = { kind: 'edit', path: 'a.ts', change: 'add' };
const ran: AgentActivity = { kind: 'ran', command: 'ls', exitCode: 0, output: '' };

const NO_OUTPUT = openRunCollector({ read: () => ({ activities: [] }) }).run();

describe('a run collector', () => {
  const line = (parsed: Partial<ParsedLine>): ParsedLine => ({ activities: [], ...parsed });

  it.each<[string, Partial<ParsedLine>[], Partial<AgentRun>]>([
    ['no line leaves everything open', [], {}],
    ['lines are counted in bytes', [{}, { activities: [say] }], { output: 20 }],
    [
      'the last candidate is the answer',
      [{ answerText: 'a' }, { answerText: 'b' }, {}],
      { output: 30, answerText: 'b' },
    ],
    ['the last error counts', [{ error: 'a' }, { error: 'b' }], { output: 20, error: 'b' }],
    [
      'the first denied action is kept, and the last one blocks',
      [{ denied: 'rm' }, { denied: 'curl' }],
      { output: 20, denied: 'rm', blockedBy: 'curl' },
    ],
    [
      'a message after a denied action changes nothing',
      [{ denied: 'rm' }, { activities: [say] }],
      {
        output: 20,
        denied: 'rm',
        blockedBy: 'rm',
      },
    ],
    [
      'an edit after a denied action unblocks',
      [{ denied: 'rm' }, { activities: [edit] }],
      { output: 20, denied: 'rm' },
    ],
    [
      'a command after a denied action unblocks',
      [{ denied: 'rm' }, { activities: [ran] }],
      { output: 20, denied: 'rm' },
    ],
    [
      'an action that is denied in the line that reports it blocks',
      [{ activities: [ran], denied: 'rm' }],
      { output: 10, denied: 'rm', blockedBy: 'rm' },
    ],
  ])('%s', (_name, lines, run) => {
    const script = lines.map(line);
    const collector = openRunCollector({ read: () => script.shift()! });
    while (script.length > 0) collector.add([Buffer.from('012345678\n')]);
    expect(collector.run()).toEqual({ ...NO_OUTPUT, ...run });
  });

  const talk = (text: string): AgentActivity => ({ kind: 'say', text });
  const read = (text: string) => line({ activities: [text === 'edit' ? edit : talk(text)] });

  it('returns consecutive messages as one, of limited length', () => {
    const collector = openRunCollector({ read });
    expect(collector.add([Buffer.from('a\nb\nedit\nc')])).toEqual([talk('a\nb'), edit, talk('c')]);
    const long = 'x'.repeat(4_000);
    expect(collector.add([Buffer.from(`${long}\nleft out\nedit`)])).toEqual([talk(long), edit]);
  });

  it('reads no more lines than a message has if all are messages, and counts all of them', () => {
    let reads = 0;
    const counting = (text: string) => {
      reads += 1;
      return read(text);
    };
    const collector = openRunCollector({ read: counting, isTalk: (lines) => !lines.includes('edit') });
    const long = 'x'.repeat(4_000);
    const lines = `${long}\n${'y\n'.repeat(1000)}`;
    expect(collector.add([Buffer.from(lines)])).toEqual([talk(long)]);
    expect(reads).toBe(1);
    expect(collector.run().output).toBe(lines.length);
    expect(collector.add([Buffer.from('a\nedit')])).toEqual([talk('a'), edit]);
  });
});

describe('judgeAgentRun', () => {
  const { config } = resolveConfig({ cwd: '/' });
  const EXIT: SandboxExit = { ended: 'exited', exitCode: 0, outOfMemory: 'no', forksRefused: false, ms: 1 };
  const answer = (status: AgentAnswer['status']): AgentOutcome => ({
    kind: 'answer',
    answer: { status, summary: 'Adds it.' },
  });

  interface Case {
    outcome?: AgentOutcome;
    run?: Partial<AgentRun>;
    exit?: Partial<SandboxExit>;
    facts?: Partial<AgentEndFacts>;
  }
  const judge = ({ outcome = answer('ok'), run, exit, facts }: Case) =>
    judgeAgentRun(
      { ...NO_OUTPUT, ...run },
      {
        exit: { ...EXIT, ...exit },
        stderrTail: 'the end of stderr',
        stopped: undefined,
        problem: undefined,
        config,
        adapter: { outcome: () => outcome },
        ...facts,
      },
    );

  const invalid: AgentOutcome = { kind: 'invalid', error: 'no answer' };
  const failed: AgentOutcome = { kind: 'error', error: 'it crashed', cause: 'context-overflow' };
  const budget = { cause: 'budget', sentence: 'The story has used its budget.' } as const;
  const fault = { cause: 'fault', sentence: 'Redis is away.' } as const;
  const keyRefused = { cause: 'key-refused', sentence: 'The provider refused the key.' } as const;
  const model = { ...config.model, keyEnv: 'MY_KEY' };

  it.each<[string, Case]>([
    ['an `ok` answer', {}],
    ['an `ok` answer, although the budget stopped a later request', { facts: { stopped: budget } }],
    ['an `ok` answer after a problem of the gateway', { facts: { problem: keyRefused } }],
  ])('%s is accepted', (_name, facts) => {
    expect(judge(facts)).toEqual({ answer: { status: 'ok', summary: 'Adds it.' } });
  });

  it.each<[string, Case, object]>([
    [
      'hazard 14: an agent that was refused further processes, and failed',
      { outcome: failed, exit: { exitCode: 1, forksRefused: true } },
      {
        stopReason: 'ENGINE_ERROR',
        summary: 'it crashed; the system refused it further processes (limits.pids = 512)',
      },
    ],
    [
      'hazard 14: an agent that gave no answer after it could not fork',
      { outcome: invalid, facts: { stderrTail: 'sh: 1: Cannot fork' } },
      {
        stopReason: 'INVALID_OUTPUT',
        summary: 'no answer, probably for lack of processes (limits.pids = 512)',
      },
    ],
    [
      'an agent that needs a person',
      { outcome: answer('needs_human') },
      { stopReason: 'NEEDS_HUMAN', summary: 'Adds it.' },
    ],
    [
      'an agent that gave up',
      { outcome: answer('failed') },
      { stopReason: 'ENGINE_ERROR', cause: 'gave-up', summary: 'the agent gave up: Adds it.' },
    ],
    [
      'an agent that gave up after a denied action',
      { outcome: answer('failed'), run: { blockedBy: 'rm -r /' } },
      {
        cause: 'permission-denied',
        summary: 'the agent gave up: Adds it.\nIts own rules did not permit it: rm -r /',
      },
    ],
    [
      'an invalid answer',
      { outcome: invalid, run: { answerText: 'what it said' } },
      { stopReason: 'INVALID_OUTPUT', summary: 'no answer', tail: 'what it said' },
    ],
    ['no answer', { outcome: invalid }, { stopReason: 'INVALID_OUTPUT', tail: 'the end of stderr' }],
    ['no answer after a denied action', { outcome: invalid, run: { blockedBy: 'rm' } }, { cause: 'permission-denied' }],
    ['an error', { outcome: failed }, { stopReason: 'ENGINE_ERROR', cause: 'context-overflow', summary: 'it crashed' }],
    [
      'an error after a problem of the gateway',
      { outcome: failed, facts: { problem: { sentence: 'The network is away' } } },
      { cause: 'context-overflow', summary: 'The network is away' },
    ],
    [
      'an error after a refused key',
      { outcome: failed, facts: { problem: keyRefused, config: { ...config, model } } },
      { cause: 'key-refused', summary: 'The provider refused the key. Check MY_KEY where the worker runs.' },
    ],
    [
      'an error after the budget was used up',
      { outcome: failed, facts: { stopped: budget, problem: keyRefused } },
      { stopReason: 'BUDGET_EXCEEDED', summary: budget.sentence },
    ],
    [
      'no answer after the budget was used up',
      { outcome: invalid, facts: { stopped: budget } },
      { stopReason: 'BUDGET_EXCEEDED' },
    ],
    [
      'a question after the budget was used up',
      { outcome: answer('needs_human'), facts: { stopped: budget } },
      { stopReason: 'BUDGET_EXCEEDED' },
    ],
    [
      'a timeout',
      { exit: { ended: 'wall', exitCode: undefined } },
      { stopReason: 'TIMEOUT', tail: 'the end of stderr' },
    ],
    [
      'a timeout after the budget was used up',
      { exit: { ended: 'idle' }, facts: { stopped: budget } },
      { stopReason: 'BUDGET_EXCEEDED' },
    ],
    ['too much output', { exit: { ended: 'output' } }, { stopReason: 'ENGINE_ERROR', cause: 'agent-overflow' }],
    ['too little memory', { exit: { outOfMemory: 'yes' } }, { stopReason: 'OUT_OF_MEMORY' }],
    ['the end of the attempt', { exit: { ended: 'aborted' } }, { stopReason: 'USER_ABORT' }],
    [
      'the end of the attempt after the budget was used up',
      { exit: { ended: 'aborted' }, facts: { stopped: budget } },
      { stopReason: 'USER_ABORT' },
    ],
  ])('%s ends the attempt', (_name, facts, outcome) => {
    const { end } = judge(facts);
    expect(end).toBeInstanceOf(AttemptEnded);
    expect((end as AttemptEnded).outcome).toMatchObject(outcome);
  });

  it('an unknown budget is a fault of the worker, not of the story', () => {
    const { end } = judge({ outcome: failed, facts: { stopped: fault } });
    expect(end).toBeInstanceOf(HaloError);
    expect(end).toMatchObject({ code: 'BUDGET_UNKNOWN', message: fault.sentence });
  });

  it.each<[string, Case, AgentAnswer['status'] | undefined]>([
    ['a question is kept', { outcome: answer('needs_human') }, 'needs_human'],
    ['a refusal is kept', { outcome: answer('failed') }, 'failed'],
    ['a refusal without budget is dropped', { outcome: answer('failed'), facts: { stopped: budget } }, undefined],
    ['an invalid answer is dropped', { outcome: invalid }, undefined],
    ['the answer of an agent that ran out of memory is dropped', { exit: { outOfMemory: 'yes' } }, undefined],
  ])('%s', (_name, facts, status) => expect(judge(facts).answer?.status).toBe(status));
});
