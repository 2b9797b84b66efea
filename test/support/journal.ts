import { randomBytes } from 'node:crypto';
import type { RetryRule } from '../../src/core/failure/failure.ts';
import type { FailureNote } from '../../src/core/journal/event-parts.ts';
import type { JournalEntry, JournalEvent } from '../../src/core/journal/events.ts';
import { foldRun } from '../../src/core/journal/fold-run.ts';
import { storyKey } from '../../src/core/run/story-key.ts';
import type { RunState } from '../../src/core/run/state.ts';
import { newRunId } from '../../src/lib/run-id.ts';

export const BASE = '0123456789abcdef0123456789abcdef01234567';
export const COMMIT = 'abcdef0123456789abcdef0123456789abcdef01';
const USAGE = { requests: 3, inputTokens: 12_345, cachedTokens: 4_000, outputTokens: 678 };

/** Entries as a journal has them: numbered from 1, a second apart. */
export function journalOf(entries: readonly JournalEntry[]): JournalEvent[] {
  return entries.map((entry, index) => ({
    v: 1,
    seq: index + 1,
    at: new Date(Date.UTC(2030, 0, 1, 0, 0, index)).toISOString(),
    ...entry,
  }));
}

/** The state of a run with these entries. */
export function stateOf(...entries: JournalEntry[]): RunState {
  const state = foldRun(journalOf(entries));
  if (state === undefined) throw new Error('These entries do not begin with run.created.');
  return state;
}

/** The first entry of a run with these stories, or with so many: US-001, US-002, ... */
export function created(
  runId = newRunId(new Date(), randomBytes),
  stories: number | readonly string[] = 2,
): JournalEntry & { type: 'run.created' } {
  const ids =
    typeof stories === 'number' ? Array.from({ length: stories }, (_, index) => `US-00${index + 1}`) : stories;
  return {
    type: 'run.created',
    runId,
    repo: { source: '/home/me/shop', mirror: 'shop-1', branch: 'main', base: BASE },
    prdPath: '/home/me/shop/prd.json',
    prdIsHere: false,
    user: 'me',
    priority: 0,
    attempts: 2,
    parallel: 1,
    onFailure: 'stop',
    prd: {
      dialect: 'ralph',
      project: 'shop',
      description: '',
      hash: 'f00',
      specHash: 'ba5',
      warnings: [],
      context: [],
      stories: ids.map((id, index) => ({
        id,
        storyKey: storyKey(id),
        title: `Story number ${index + 1}`,
        description: '',
        acceptance: [],
        priority: index + 1,
        status: 'pending',
        notes: '',
        dependsOn: [],
        extra: {},
      })),
    },
  };
}

/** A story's attempt from its start up to the gates. */
export function attempted(story: string, attempt = 1): JournalEntry[] {
  const ref = { story, attempt };
  return [
    { type: 'story.started', ...ref, epoch: attempt, base: BASE },
    { type: 'phase.started', ...ref, phase: 'prepare' },
    { type: 'phase.ended', ...ref, phase: 'prepare', ms: 400 },
    { type: 'phase.started', ...ref, phase: 'agent' },
    { type: 'agent.activity', ...ref, activity: { kind: 'say', text: 'Looking at the tests first.' } },
    { type: 'agent.activity', ...ref, activity: { kind: 'run', command: 'npm test' } },
    {
      type: 'agent.activity',
      ...ref,
      activity: { kind: 'ran', command: 'npm test', exitCode: 1, output: '2 failed\n' },
    },
    { type: 'agent.activity', ...ref, activity: { kind: 'edit', path: 'src/cart.ts', change: 'update' } },
    { type: 'phase.ended', ...ref, phase: 'agent', ms: 3000 },
    { type: 'phase.started', ...ref, phase: 'gates' },
    { type: 'gate.started', ...ref, command: 'npm test' },
  ];
}

/** One story landed, its gate passed. */
export function passed(story: string): JournalEntry[] {
  const ref = { story, attempt: 1 };
  return [
    ...attempted(story),
    { type: 'gate.ended', ...ref, command: 'npm test', exitCode: 0, ms: 1200, log: 'gates/1.log' },
    {
      type: 'story.ended',
      ...ref,
      verdict: 'passed',
      stopReason: 'SUCCESS',
      summary: 'Adds the cart.',
      usage: USAGE,
      commit: COMMIT,
    },
  ];
}

/** A failure of a gate, with which the next attempt is retried by this rule. */
export function gateFailure(rule: RetryRule): FailureNote {
  return { class: 'gate', rule, sign: { error: 'npm test exited with …', changed: true, denied: false, kind: 'gate' } };
}

type Failed = JournalEntry & { type: 'story.ended'; verdict: 'failed' };

/** The entries with other ends of the attempts that failed. */
export function failing(entries: readonly JournalEntry[], change: Partial<Failed>): JournalEntry[] {
  return entries.map((entry) =>
    entry.type === 'story.ended' && entry.verdict === 'failed' ? { ...entry, ...change } : entry,
  );
}

/** One story whose gate failed. It has two attempts. */
export function failed(story: string, attempt = 1, rule: RetryRule = attempt < 2 ? 'hint' : 'halt'): JournalEntry[] {
  const ref = { story, attempt };
  const summary = 'npm test exited with 1';
  const failure = gateFailure(rule);
  return [
    ...attempted(story, attempt),
    { type: 'gate.ended', ...ref, command: 'npm test', exitCode: 1, ms: 1200, log: 'gates/1.log' },
    { type: 'story.ended', ...ref, verdict: 'failed', stopReason: 'GATE_FAILED', summary, usage: USAGE, failure },
  ];
}

/** One story whose gate named 7 failed tests; texts are hostile. */
export function failedWithTests(story: string): JournalEntry[] {
  const place = 'test/page.test.js:3';
  const tests = [1, 2, 3, 4, 5].map((n) => ({ name: `test ${n}\u001b[2J`, place, message: `is ${n}\u202e\nnot 0` }));
  return failed(story).map((entry) =>
    entry.type === 'gate.ended' ? { ...entry, failed: { count: 7, tests } } : entry,
  );
}

/** One story whose proven commit waits for a person. */
export function held(story: string, paths = ['.github/workflows/ci.yml']): JournalEntry[] {
  const ref = { story, attempt: 1 };
  const summary = `the gates pass, but it changes protected paths: ${paths.join(', ')}`;
  return [
    ...attempted(story),
    {
      type: 'story.ended',
      ...ref,
      verdict: 'needs_human',
      stopReason: 'NEEDS_HUMAN',
      summary,
      usage: USAGE,
      held: { commit: COMMIT, paths },
    },
    { type: 'run.ended', stopReason: 'NEEDS_HUMAN', detail: `${story}: ${summary}`, story },
  ];
}

/** One story that ended with a question, and with it the run. */
export function asked(story: string, question = 'Which currency?'): JournalEntry[] {
  const ref = { story, attempt: 1 };
  const end = { verdict: 'needs_human', stopReason: 'NEEDS_HUMAN', summary: question, usage: USAGE } as const;
  return [
    ...attempted(story),
    { type: 'story.ended', ...ref, ...end },
    { type: 'run.ended', stopReason: 'NEEDS_HUMAN', detail: `${story}: ${question}`, story },
  ];
}

/** A whole run that ended well. */
export function succeeded(runId: string): JournalEntry[] {
  return [
    created(runId, 1),
    { type: 'run.started' },
    ...passed('US-001'),
    { type: 'run.ended', stopReason: 'SUCCESS', detail: '1 of 1 stories passed' },
  ];
}
