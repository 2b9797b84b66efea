import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { NO_USAGE } from '../../../src/core/agent.ts';
import { foldRun } from '../../../src/core/journal/fold-run.ts';
import type { JournalEntry, JournalEvent } from '../../../src/core/journal/events.ts';
import { toTrace, type TraceContext } from '../../../src/features/telemetry/core/to-trace.ts';
import { attempted, created, failed, passed } from '../../support/journal.ts';

const hash = (text: string) => createHash('sha256').update(text).digest('hex');
const START = Date.UTC(2030, 0, 1);
const END = { type: 'run.ended', stopReason: 'SUCCESS', detail: '' } as const;
const of = { story: 'US-001', attempt: 1 };

/** Events a second apart. */
function journal(...entries: JournalEntry[]): JournalEvent[] {
  return entries.map((entry, index) => ({
    v: 1,
    seq: index + 1,
    at: new Date(START + index * 1000).toISOString(),
    ...entry,
  }));
}

function traceOf(events: JournalEvent[], seq = events.length, more: Partial<TraceContext> = {}) {
  const trace = toTrace(foldRun(events)!, events, { seq, hash, version: '1.2.3', ...more });
  return trace?.resourceSpans[0]?.scopeSpans[0]?.spans ?? [];
}

const [started, ended] = [attempted('US-001')[0]!, passed('US-001').at(-1)!];
const usage = { ...NO_USAGE, requests: 1, inputTokens: 70, cachedTokens: 20, outputTokens: 30, costUsd: 0.25 };

describe('the trace of a run', () => {
  const events = journal(
    created('r'),
    { type: 'run.started' },
    started,
    { type: 'phase.started', phase: 'agent', ...of },
    { type: 'model.used', model: 'm', told: 'all', usage, tokens: 100, ms: 400, ...of },
    { type: 'phase.ended', phase: 'agent', ms: 2000, ...of },
    ended,
    END,
  );

  it('has a span for the run, the attempt, each phase and each model request', () => {
    const spans = traceOf(events);
    const [root, attempt] = spans;
    expect(spans.map(({ name, kind }) => [name, kind])).toEqual([
      [expect.stringMatching(/^RUN /), 2],
      ['US-001', 1],
      ['invoke_agent agent', 1],
      ['chat m', 3],
    ]);
    expect(root).toMatchObject({ status: { code: 1 } });
    expect(root).not.toHaveProperty('parentSpanId');
    expect(attempt?.parentSpanId).toBe(root?.spanId);
    expect(spans.slice(2).map(({ parentSpanId }) => parentSpanId)).toEqual([attempt?.spanId, spans[2]?.spanId]);
    expect(new Set(spans.map(({ traceId }) => traceId))).toEqual(new Set([expect.stringMatching(/^[0-9a-f]{32}$/)]));
    expect(new Set(spans.map(({ spanId }) => spanId)).size).toBe(4);
    const model = spans[3]!;
    expect(BigInt(model.endTimeUnixNano) - BigInt(model.startTimeUnixNano)).toBe(400_000_000n);
    expect(model.endTimeUnixNano).toBe(`${BigInt(START + 4000) * 1_000_000n}`);
    expect(model.attributes).toContainEqual({ key: 'gen_ai.usage.input_tokens', value: { intValue: '70' } });
    expect(model.attributes).toContainEqual({ key: 'halo.cost_usd', value: { doubleValue: 0.25 } });
    expect(root?.attributes).toContainEqual({ key: 'cicd.pipeline.result', value: { stringValue: 'success' } });
  });

  it('says for which engine, agent and model an attempt started, if those are not of the run', () => {
    const choice = { agent: 'claude', model: 'large', by: 'story' } as const;
    const own = events.map((event) =>
      event.type === 'story.started' ? { ...event, choice, engine: { name: 'b-2', id: '' } } : event,
    );
    const model = 'claude, large (its fields in the PRD)';
    expect(traceOf(own)[1]?.attributes).toEqual(
      expect.arrayContaining([
        { key: 'halo.engine', value: { stringValue: 'b-2' } },
        { key: 'halo.model', value: { stringValue: model } },
      ]),
    );
  });

  it.each([
    ['openai', 'openai'],
    ['anthropic', 'anthropic'],
    ['google', 'gcp.gemini'],
  ] as const)('has what the conventions require of an agent and its requests, with the API of %s', (api, provider) => {
    const page = 'https://halo.test/#/run/r';
    const [root, attempt, agent, chat] = traceOf(events, events.length, { api, page }).map(({ attributes }) =>
      Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]])),
    );
    const genAi = { 'gen_ai.provider.name': provider, 'gen_ai.agent.name': 'agent' };
    expect(root).toMatchObject({ 'cicd.pipeline.run.url.full': page });
    expect(attempt).toMatchObject({ 'cicd.pipeline.task.run.url.full': `${page}/story/US-001` });
    expect(agent).toMatchObject({ ...genAi, 'gen_ai.operation.name': 'invoke_agent' });
    expect(chat).toMatchObject({ ...genAi, 'gen_ai.operation.name': 'chat', 'gen_ai.request.model': 'm' });
    expect(chat).toMatchObject({ 'gen_ai.usage.input_tokens': '70', 'gen_ai.usage.cache_read.input_tokens': '20' });
  });

  it('names the type of the error of each span that failed, and of no other', () => {
    const spans = traceOf(journal(created('r'), ...failed('US-001'), { ...END, stopReason: 'ATTEMPTS_EXHAUSTED' }));
    const types = spans.map(({ name, attributes }) => [
      name,
      attributes.find(({ key }) => key === 'error.type')?.value,
    ]);
    expect(types[0]?.[1]).toEqual({ stringValue: 'ATTEMPTS_EXHAUSTED' });
    expect(types[1]).toEqual(['US-001', { stringValue: 'GATE_FAILED' }]);
    expect(types.flatMap(([name, type]) => (type === undefined ? [name] : []))).toEqual([
      'prepare',
      'invoke_agent agent',
    ]);
    const isTyped = traceOf(events).some(({ attributes }) => attributes.some(({ key }) => key === 'error.type'));
    expect(isTyped).toBe(false);
  });

  it('has each model request once, below its own attempt', () => {
    const used = (attempt: number): JournalEntry => {
      return { type: 'model.used', model: 'm', told: 'all', usage, tokens: 100, ms: 0, story: 'US-001', attempt };
    };
    const spans = traceOf(
      journal(
        created('r'),
        started,
        used(1),
        failed('US-001').at(-1)!,
        { ...started, attempt: 2 } as JournalEntry,
        used(2),
        { ...ended, attempt: 2 } as JournalEntry,
        END,
      ),
    );
    const [first, second] = spans.filter(({ name }) => name === 'US-001');
    const requests = spans.filter(({ name }) => name === 'chat m');
    expect(requests.map(({ parentSpanId }) => parentSpanId)).toEqual([first?.spanId, second?.spanId]);
  });

  it('is the same each time, and another one after the run was continued', () => {
    expect(traceOf(events)).toEqual(traceOf(events));
    const more = journal(
      ...(events as JournalEntry[]),
      { type: 'run.retried', by: 'ada', stories: ['US-002'] },
      ...failed('US-002'),
      { ...END, stopReason: 'ATTEMPTS_EXHAUSTED' },
    );
    const [first, second] = [traceOf(more, events.length), traceOf(more)];
    expect(first.map(({ name }) => name)).toEqual(traceOf(events).map(({ name }) => name));
    expect(second.map(({ name }) => name).slice(0, 2)).toEqual([expect.stringMatching(/^RUN /), 'US-002']);
    expect(second[0]?.traceId).not.toBe(first[0]?.traceId);
    expect(second.map(({ status }) => status.code).slice(0, 2)).toEqual([2, 2]);
  });

  it('ends an attempt without an end with the run, and no span ends before it begins', () => {
    const spans = traceOf(journal(created('r'), ...attempted('US-001'), { ...END, stopReason: 'USER_ABORT' }));
    expect(spans[1]?.attributes).toContainEqual({
      key: 'cicd.pipeline.task.run.result',
      value: { stringValue: 'cancellation' },
    });
    for (const { startTimeUnixNano, endTimeUnixNano } of spans)
      expect(BigInt(endTimeUnixNano)).toBeGreaterThanOrEqual(BigInt(startTimeUnixNano));
  });

  it('is missing for an event of another type', () => {
    expect(traceOf(events, 3)).toEqual([]);
  });
});
