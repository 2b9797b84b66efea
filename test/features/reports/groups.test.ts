import { describe, expect, it } from 'vitest';
import type { Usage } from '../../../src/core/agent.ts';
import type { JournalEntry } from '../../../src/core/journal/events.ts';
import { foldRun } from '../../../src/core/journal/fold-run.ts';
import { toAuditEntry } from '../../../src/features/reports/core/audit-report.ts';
import {
  COST_GROUPS,
  CostReader,
  groupCosts,
  parseCostGroups,
} from '../../../src/features/reports/core/cost-report.ts';
import { errorSignature } from '../../../src/core/failure/breaker.ts';
import { FailureReader, groupErrors } from '../../../src/features/reports/core/error-report.ts';
import { attempted, COMMIT, created, failed, failing, gateFailure, journalOf, passed } from '../../support/journal.ts';

const RUN = '0tbq1aaaaaaaaaaa';
const usage = (inputTokens: number, costUsd?: number): Usage => ({
  requests: 1,
  inputTokens,
  cachedTokens: 0,
  outputTokens: 1,
  ...(costUsd !== undefined && { costUsd }),
});
const used = (story: string, attempt: number, model: string, amount: Usage): JournalEntry => ({
  type: 'model.used',
  story,
  attempt,
  model,
  told: 'all',
  usage: amount,
  tokens: amount.inputTokens,
});

function costsOf(entries: readonly JournalEntry[], since?: string) {
  const reader = new CostReader(since);
  for (const event of journalOf(entries)) reader.read(event);
  return reader.costs();
}

describe('the costs of a run', () => {
  const metered = [
    { ...created(RUN, 2), user: 'ada', agent: 'codex' },
    ...attempted('US-001'),
    used('US-001', 1, 'large', usage(100, 0.5)),
    used('US-001', 1, 'small', usage(10, 0.01)),
    used('US-001', 1, 'large', usage(100, 0.25)),
    ...failed('US-001', 1).slice(-1),
    ...attempted('US-001', 2).slice(0, 1),
    used('US-001', 2, 'large', usage(7, 0.1)),
  ];

  it('are counted per response of a model, so that the sums of attempts are not counted again', () => {
    const report = groupCosts(costsOf(metered), 'model');
    expect(report.rows.map(({ key, attempts, usage: { costUsd } }) => [key, attempts, costUsd])).toEqual([
      ['large', 2, 0.85],
      ['small', 1, 0.01],
    ]);
    expect(report.total).toMatchObject({ runs: 1, attempts: 2, usage: { requests: 4, costUsd: 0.86 } });
  });

  it('are those of the state of the run, in each grouping and for each kind of end', () => {
    const stopped: JournalEntry = { type: 'story.stopped', story: 'US-001', attempt: 2, usage: usage(7, 0.1) };
    const unmetered: JournalEntry = { type: 'story.stopped', story: 'US-002', attempt: 1, usage: usage(3, 0.2) };
    for (const entries of [
      metered,
      [...metered, stopped],
      [...metered, stopped, unmetered],
      [created(), ...passed('US-001')],
    ])
      for (const by of COST_GROUPS)
        expect(groupCosts(costsOf(entries), by).total.usage).toEqual(foldRun(journalOf(entries))?.usage);
  });

  it('are grouped by run, story, repository, user, agent, model and day', () => {
    const keys = (by: (typeof COST_GROUPS)[number]) => groupCosts(costsOf(metered), by).rows.map(({ key }) => key);
    expect(COST_GROUPS.map(keys)).toEqual([
      [RUN],
      [`${RUN} US-001`],
      ['shop'],
      ['/home/me/shop'],
      ['ada'],
      ['codex'],
      ['large', 'small'],
      ['2030-01-01'],
    ]);
  });

  it('are grouped by several values in the given order', () => {
    const report = groupCosts(costsOf(metered), 'user', 'model');
    expect(report.by).toBe('user,model');
    expect(report.rows.map(({ key, keys, usage: { costUsd } }) => [key, keys, costUsd])).toEqual([
      ['ada large', ['ada', 'large'], 0.85],
      ['ada small', ['ada', 'small'], 0.01],
    ]);
  });

  it('belong to the agent that was started, which may change between attempts', () => {
    const launched: JournalEntry = { type: 'agent.launched', story: 'US-001', attempt: 2, agent: 'claude' };
    const entries = [...metered.slice(0, -1), launched, ...metered.slice(-1)];
    expect(groupCosts(costsOf(entries), 'agent').rows.map(({ key, attempts }) => [key, attempts])).toEqual([
      ['codex', 1],
      ['claude', 1],
    ]);
  });

  it('are not grouped by values that are unknown or named twice', () => {
    expect(parseCostGroups('repo,day')).toEqual(['repo', 'day']);
    expect(['', 'colour', 'repo,repo', 'repo,', 'repo, day'].map(parseCostGroups)).toEqual(Array(5).fill(undefined));
  });

  it('leave out what was used before a time', () => {
    expect(groupCosts(costsOf(metered, '2031-01-01T00:00:00.000Z'), 'run').rows).toEqual([]);
  });
});

describe('the errors of runs', () => {
  const failuresOf = (
    runId: string,
    entries: readonly JournalEntry[],
    facts: Partial<JournalEntry & { type: 'run.created' }> = {},
  ) => {
    const reader = new FailureReader();
    for (const event of journalOf([{ ...created(runId), ...facts }, ...entries])) reader.read(event);
    return reader.failures;
  };

  it('are one group where they differ only in numbers, with the latest as the sample', () => {
    const summary = (seconds: number) => `npm test did not end within ${seconds} s`;
    const failure = gateFailure('hint');
    const ended = (attempt: number): JournalEntry => ({
      ...{ type: 'story.ended', story: 'US-001', attempt, verdict: 'failed', stopReason: 'TIMEOUT' },
      ...{
        summary: summary(attempt),
        usage: usage(1),
        failure: { ...failure, sign: { ...failure.sign, error: errorSignature(summary(attempt)) } },
      },
    });
    const failures = [
      ...failuresOf(RUN, [ended(1), ended(2), ...failed('US-002')]),
      ...failuresOf('0tbq2bbbbbbbbbbb', [ended(3)]),
    ];
    expect(groupErrors(failures)).toMatchObject([
      { count: 3, stopReason: 'TIMEOUT', runs: [RUN, '0tbq2bbbbbbbbbbb'], latest: { error: summary(2), attempt: 2 } },
      { count: 1, stopReason: 'GATE_FAILED', latest: { runId: RUN, story: 'US-002' } },
    ]);
  });

  it('name each story once, with its project, title, person and latest attempt', () => {
    const failures = [
      ...failuresOf(RUN, [...failed('US-001'), ...failed('US-001', 2), ...failed('US-002')]),
      ...failuresOf('0tbq2bbbbbbbbbbb', failed('US-001'), { user: 'ada' }),
    ];
    const [group, ...others] = groupErrors(failures);
    expect(others).toEqual([]);
    const named = group?.stories.map(({ runId, story, title, attempt, user, project, repo }) =>
      [runId, story, title, attempt, user, project, repo].join(' '),
    );
    const shop = 'shop /home/me/shop';
    expect(named?.sort()).toEqual([
      `${RUN} US-001 Story number 1 2 me ${shop}`,
      `${RUN} US-002 Story number 2 1 me ${shop}`,
      `0tbq2bbbbbbbbbbb US-001 Story number 1 1 ada ${shop}`,
    ]);
  });

  it('are groups of their repository if a command failed and the cause is not known', () => {
    const blog = { repo: { source: '/home/me/blog', mirror: 'blog-1', branch: 'main', base: COMMIT } };
    const both = (...entries: JournalEntry[]) =>
      groupErrors([...failuresOf(RUN, entries), ...failuresOf('0tbq2bbbbbbbbbbb', entries, blog)]).map(
        ({ count }) => count,
      );
    const ends = (end: Parameters<typeof failing>[1]) => failing(failed('US-001'), end);
    expect(both(...failed('US-001'))).toEqual([1, 1]);
    for (const summary of ['`npm test` exited with 1', 'gate exited 1: `npm run lint`', 'setup exited 2: `npm ci`'])
      expect(both(...ends({ summary }))).toEqual([1, 1]);
    const summary = 'setup exited 1; registry.example is not reachable: setup `npm ci`';
    const sign = { error: `GATE_FAILED: ${summary}`, changed: undefined, denied: false, kind: 'environment' };
    const failure = { class: 'environment', cause: 'network-missing', rule: 'halt', sign } as const;
    expect(both(...ends({ summary, failure }))).toEqual([2]);
    expect(both(...ends({ summary, failure: { ...failure, cause: 'setup-failed' } }))).toEqual([1, 1]);
    expect(both(...ends({ summary: 'the agent did not end', stopReason: 'TIMEOUT' }))).toEqual([2]);
  });

  it('are grouped by the names of failed tests, in any order', () => {
    const naming = (attempt: number, ...names: string[]) => {
      const tests = names.map((name) => ({ name, message: 'is 1' }));
      return failed('US-001', attempt).map((entry) =>
        entry.type === 'gate.ended' ? { ...entry, failed: { count: tests.length, tests } } : entry,
      );
    };
    const { sign, ...failure } = gateFailure('hint');
    const slow = { ...failure, sign: { ...sign, error: 'too slow' } };
    const failures = failuresOf(RUN, [
      ...naming(1, 'adds 2', 'sums'),
      ...naming(2, 'sums', 'adds 2'),
      ...naming(3, 'adds 3'),
      // This attempt failed for another reason than its tests.
      ...failing(naming(4, 'adds 3'), { stopReason: 'TIMEOUT', summary: 'too slow', failure: slow }),
      ...failed('US-001', 5),
    ]);
    expect(groupErrors(failures).map(({ count, signature }) => [count, signature])).toEqual([
      [2, '`npm test`: adds 2, sums'],
      [1, 'npm test exited with …'],
      [1, 'too slow'],
      [1, '`npm test`: adds 3'],
    ]);
  });

  it('include interruptions by infrastructure, and neither successes nor stories that need a person', () => {
    const disturbed: JournalEntry = {
      ...{ type: 'story.disturbed', story: 'US-001', attempt: 1, class: 'infrastructure' },
      ...{ stopReason: 'INFRASTRUCTURE', summary: 'Docker does not answer' },
    };
    expect(groupErrors(failuresOf(RUN, [disturbed, ...passed('US-002')]))).toMatchObject([
      { count: 1, class: 'infrastructure', signature: 'Docker does not answer' },
    ]);
  });
});

describe('the audit', () => {
  const auditOf = (entries: readonly JournalEntry[]) =>
    journalOf(entries).flatMap((event) => toAuditEntry(event, { runId: RUN, repo: '/shop' }) ?? []);

  it('lists decisions with who made them and the commit, and not the work in between', () => {
    const entries = auditOf([
      { ...created(RUN), user: 'ada' },
      ...passed('US-001'),
      { type: 'run.approved', by: 'grace', tip: COMMIT },
      { type: 'run.landed', branch: 'main', from: '0'.repeat(40), to: COMMIT },
    ]);
    expect(entries.map(({ type, by, commit }) => [type, by, commit])).toEqual([
      ['run.created', 'ada', undefined],
      ['story.started', undefined, undefined],
      ['story.ended', undefined, COMMIT],
      ['run.approved', 'grace', COMMIT],
      ['run.landed', undefined, COMMIT],
    ]);
  });

  it('has lines that a terminal does not obey', () => {
    const [entry] = auditOf([{ type: 'run.rejected', by: '\u001b[2Jeve', tip: COMMIT, reason: 'no\u202e\nway' }]);
    expect(entry?.text).not.toMatch(/[\u0000-\u001f\u202e]/);
  });
});
