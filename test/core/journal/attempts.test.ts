import { describe, expect, it } from 'vitest';
import { addUsage, NO_USAGE, type Usage } from '../../../src/core/agent.ts';
import { attemptMs, foldAttempts, totalUsage } from '../../../src/core/journal/attempts.ts';
import type { JournalEntry, JournalEvent } from '../../../src/core/journal/events.ts';
import { foldRun } from '../../../src/core/journal/fold-run.ts';
import { countEvents, noTotals, type CountedRun } from '../../../src/features/telemetry/core/metric-totals.ts';
import { CostReader, groupCosts } from '../../../src/features/reports/core/cost-report.ts';
import { historyText } from '../../../src/core/report/history.ts';
import { summarizeRun } from '../../../src/core/report/run-summary.ts';
import { effortsOf } from '../../../src/core/report/story-samples.ts';
import { reviewRun } from '../../../src/core/review/review.ts';
import { progressText } from '../../../src/store/run/run-record.ts';
import { addEvents, followNothing } from '../../../src/tui/top/followed-run.ts';
import { paintPlain } from '../../../src/tui/paint.ts';
import { runPanel } from '../../../src/tui/top/run-panel.ts';
import { commandsOf, RunJournal } from '../../../src/web/run/run-journal.ts';
import { BASE, COMMIT, created, journalOf } from '../../support/journal.ts';
import { start } from '../../tui/top/top-world.ts';
import fc from '../../support/fast-check.ts';

const REF = { story: 'US-001', attempt: 1 };
const RUN = created('1ngmzav58d67nr7', 1);
const END: JournalEntry = { type: 'run.ended', stopReason: 'SUCCESS', detail: '' };

const started: JournalEntry = { type: 'story.started', ...REF, epoch: 1, base: BASE };
const gates: JournalEntry = { type: 'phase.started', ...REF, phase: 'gates' };
const gatesEnded: JournalEntry = { type: 'phase.ended', ...REF, phase: 'gates', ms: 2_000 };
const merged: JournalEntry = { type: 'story.merged', ...REF, commit: COMMIT, onto: BASE, merged: COMMIT };

function gate(log: string, exitCode = 0): JournalEntry[] {
  const command = 'npm test';
  return [
    { type: 'gate.started', ...REF, command },
    { type: 'gate.ended', ...REF, command, exitCode, ms: 1_000, log },
  ];
}

function usage(costUsd: number | undefined, requests = 1): Usage {
  return { requests, inputTokens: 10, cachedTokens: 0, outputTokens: 1, ...(costUsd !== undefined && { costUsd }) };
}

function model(costUsd: number): JournalEntry {
  return { type: 'model.used', ...REF, model: 'm', told: 'all', usage: usage(costUsd), tokens: 11 };
}

function passed(used: Usage = NO_USAGE): JournalEntry {
  return {
    type: 'story.ended',
    ...REF,
    verdict: 'passed',
    stopReason: 'SUCCESS',
    summary: 'Done.',
    usage: used,
    commit: COMMIT,
  };
}

const postponed: JournalEntry = {
  type: 'story.postponed',
  ...REF,
  model: 'm',
  by: 'rate',
  why: '',
  notBefore: '2030-01-01T00:00:00.000Z',
};

const held: JournalEntry = {
  type: 'story.ended',
  ...REF,
  verdict: 'needs_human',
  stopReason: 'NEEDS_HUMAN',
  summary: 'waits',
  usage: NO_USAGE,
  held: { commit: COMMIT, paths: [] },
};

const JOURNALS: { what: string; entries: JournalEntry[]; gates: number; costUsd?: number; seconds: number }[] = [
  {
    what: 'a story whose gates run again after a merge',
    entries: [
      started,
      gates,
      ...gate('gates/1.log'),
      gatesEnded,
      merged,
      gates,
      ...gate('gates/onto-1/1.log'),
      passed(),
    ],
    ...{ gates: 1, seconds: 9 },
  },
  {
    what: 'a story whose gates run again after a refactoring',
    entries: [started, gates, ...gate('gates/1.log'), gatesEnded, gates, ...gate('refactored/1.log'), passed()],
    ...{ gates: 1, seconds: 8 },
  },
  {
    what: 'a story whose first start was stopped without counted responses, and whose second start was metered',
    entries: [
      started,
      { type: 'story.stopped', ...REF, usage: usage(0.5) },
      started,
      model(0.3),
      gates,
      ...gate('gates/1.log'),
      passed(usage(0.3)),
    ],
    ...{ gates: 1, costUsd: 0.8, seconds: 6 },
  },
  {
    what: 'a story that an infrastructure failure interrupted after its gates',
    entries: [
      started,
      model(0.2),
      gates,
      ...gate('gates/1.log', 1),
      { type: 'story.disturbed', ...REF, class: 'infrastructure', stopReason: 'INFRASTRUCTURE', summary: 'engine' },
      started,
      model(0.2),
      gates,
      ...gate('gates/1.log'),
      passed(usage(0.2)),
    ],
    ...{ gates: 1, costUsd: 0.4, seconds: 10 },
  },
  {
    what: 'a story that was approved, merged, and landed',
    entries: [
      started,
      model(0.4),
      gates,
      ...gate('gates/1.log'),
      held,
      { type: 'approval.given', ...REF, commit: COMMIT, by: 'ann' },
      started,
      merged,
      gates,
      ...gate('gates/onto-1/1.log'),
      passed(),
    ],
    ...{ gates: 1, costUsd: 0.4, seconds: 10 },
  },
  {
    what: 'a story that waited twice for its model, the second time without a start',
    entries: [
      started,
      model(0.1),
      postponed,
      postponed,
      started,
      model(0.1),
      gates,
      ...gate('gates/1.log'),
      passed(usage(0.1)),
    ],
    ...{ gates: 1, costUsd: 0.2, seconds: 7 },
  },
  {
    what: 'a story whose worker died before its gates',
    entries: [started, model(0.1), started, model(0.1), gates, ...gate('gates/1.log'), passed(usage(0.1))],
    ...{ gates: 1, costUsd: 0.2, seconds: 5 },
  },
];

describe.each(JOURNALS)('$what', ({ entries, gates: count, costUsd, seconds }) => {
  const events = journalOf([RUN, ...entries, END]);
  const state = required(foldRun(events));
  const [review] = required(reviewRun(events)).stories;
  const [effort] = effortsOf(state, events);

  it('has the gates of its last round everywhere, and those before with their round in the dashboard', () => {
    const [section = ''] = historyText(events).split('\n## ').slice(-1);
    expect(countOf(section, '- gate: `npm test` passed')).toBe(count);
    expect(countOf(progressText(state, events), '- gate `npm test`: passed')).toBe(count);
    expect(review?.gates).toHaveLength(count);
    const top = { ...start(), run: addEvents(followNothing(state.runId), events.slice(0, -2)) };
    expect(countOf(runPanel(top, state.runId, paintPlain).join('\n'), '✓ npm test')).toBe(count);
    const [attempt] = dashboard(events).attempts;
    const shown = required(attempt && commandsOf(attempt)).filter(({ kind }) => kind === 'gate');
    expect(shown.filter(({ round }) => round === attempt?.round)).toHaveLength(count);
  });

  it('costs the same everywhere', () => {
    const reader = new CostReader();
    events.forEach((event) => reader.read(event));
    expect({
      state: state.usage.costUsd,
      review: review?.usage.costUsd,
      summary: summarizeRun(events, '').usage.costUsd,
      report: groupCosts(reader.costs(), 'run').total.usage.costUsd,
      effort: effort?.costUsd,
      dashboard: totalUsage(dashboard(events).attempts.flatMap((each) => each.usage)).costUsd,
    }).toEqual({
      state: costUsd,
      review: costUsd,
      summary: costUsd,
      report: costUsd,
      effort: costUsd,
      dashboard: costUsd,
    });
  });

  it('took the same time everywhere: that of its starts, without the waits between them', () => {
    const now = '2031-01-01T00:00:00.000Z';
    expect({
      review: review?.ms,
      summary: summarizeRun(events, now).attempts[0]?.ms,
      effort: effort?.ms,
      dashboard: attemptMs(required(dashboard(events).attempts[0]), now),
    }).toEqual({ review: seconds * 1000, summary: seconds * 1000, effort: seconds * 1000, dashboard: seconds * 1000 });
    expect(historyText(events)).toContain(`- attempt: 1, ${seconds}.0s`);
  });
});

describe('an attempt whose worker died', () => {
  const agent: JournalEntry = { type: 'phase.started', ...REF, phase: 'agent' };
  const agentEnded: JournalEntry = { type: 'phase.ended', ...REF, phase: 'agent', ms: 1_000 };
  const landing: JournalEntry = { type: 'phase.started', ...REF, phase: 'land' };
  const summaryAfter = (before: JournalEntry[], ...after: JournalEntry[]) => {
    const later = journalOf([RUN, ...before, ...after]).map((event) =>
      event.seq > before.length + 1 ? { ...event, at: event.at.replace('2030-01-01', '2030-01-02') } : event,
    );
    return summarizeRun(later, '2031-01-01T00:00:00.000Z').attempts[0];
  };

  it('does not run until another worker starts it again', () => {
    const summary = summaryAfter([started, agent], started, agent, agentEnded, passed());
    expect(summary).toMatchObject({ ms: 3_000, phases: { agent: 1_000 } });
  });

  it('ran until its last phase, if its commit had landed or no other worker starts it', () => {
    const recovered = { ...passed(), recovered: true } as JournalEntry;
    expect(summaryAfter([started, agent, agentEnded, landing], recovered)).toMatchObject({
      ms: 3_000,
      phases: { agent: 1_000, land: 0 },
      endedAt: '2030-01-02T00:00:05.000Z',
    });
    const { commit: _, ...failed } = passed() as JournalEntry & { commit?: string };
    const givenUp = {
      ...failed,
      verdict: 'failed',
      stopReason: 'INFRASTRUCTURE',
      failure: { class: 'infrastructure', rule: 'halt', cause: 'worker-died' },
    } as JournalEntry;
    expect(summaryAfter([started, agent], givenUp)).toMatchObject({ ms: 1_000, phases: { agent: 0 } });
  });
});

describe('the summary of a run', () => {
  it('has no end once a decision about a story has reopened the run', () => {
    const approved: JournalEntry = { type: 'approval.given', ...REF, commit: COMMIT, by: 'ann' };
    const ended: JournalEntry = { ...END, stopReason: 'NEEDS_HUMAN' };
    expect(summarizeRun(journalOf([RUN, started, held, ended]), '').stopReason).toBe('NEEDS_HUMAN');
    const summary = summarizeRun(journalOf([RUN, started, held, ended, approved, started]), '');
    expect(summary).not.toHaveProperty('endedAt');
    expect(summary).not.toHaveProperty('stopReason');
  });
});

describe('the usage of generated journals', () => {
  const entry = fc.constantFrom<JournalEntry>(
    started,
    model(0.1),
    passed(usage(0.4)),
    passed(usage(undefined)),
    { type: 'story.stopped', ...REF, usage: usage(0.8) },
    { type: 'story.disturbed', ...REF, class: 'infrastructure', stopReason: 'INFRASTRUCTURE', summary: '' },
    { type: 'story.returned', ...REF },
    postponed,
    held,
  );

  it('is the same in the state, the review, the summary, the cost report and the metrics', () => {
    fc.assert(
      fc.property(fc.array(entry, { maxLength: 10 }), fc.array(entry, { maxLength: 10 }), fc.boolean(), (...parts) => {
        const [first, second, isLate] = parts;
        const again = [started, ...second].map((each) => ({ ...each, attempt: 2 }) as JournalEntry);
        // The last response of the first attempt can arrive when the second one runs.
        const late = isLate ? [...again.slice(0, 3), model(0.2), ...again.slice(3)] : again;
        const events = journalOf([RUN, started, ...first, ...late]);
        const reader = new CostReader();
        events.forEach((event) => reader.read(event));
        const totals = noTotals();
        const counted: CountedRun = { seq: 0, metered: [] };
        countEvents(totals, counted, events);
        const requests = Object.values(totals.counters.model_requests_total ?? {}).reduce((sum, each) => sum + each, 0);
        const folded = foldAttempts(events).reduce((sum, { usage: used }) => addUsage(sum, totalUsage(used)), NO_USAGE);
        const expected = required(foldRun(events)).usage;
        expect(folded).toEqual(expected);
        expect(summarizeRun(events, '').usage).toEqual(expected);
        expect(groupCosts(reader.costs(), 'run').total.usage).toEqual(expected);
        expect(required(reviewRun(events)).stories[0]?.usage).toEqual(expected);
        expect(requests).toBe(expected.requests);
      }),
      { numRuns: 300, seed: 20 },
    );
  });
});

function dashboard(events: readonly JournalEvent[]): RunJournal {
  const journal = new RunJournal();
  journal.add(events);
  return journal;
}

function countOf(text: string, part: string): number {
  return text.split(part).length - 1;
}

function required<T>(value: T | undefined): T {
  if (value === undefined) throw new Error('missing');
  return value;
}
