import { foldAttempts, type PhaseSpan } from '../journal/attempts.ts';
import type { JournalEvent } from '../journal/events.ts';
import type { RunState } from '../run/state.ts';

/** A span in the JSON form of the OpenTelemetry protocol: https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding */
export interface OtlpSpan {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  name: string;
  kind: number;
  /** ns since 1970, as text. */
  startTimeUnixNano: string;
  endTimeUnixNano: string;
  attributes: OtlpAttribute[];
  status: { code: number; message?: string };
}

interface OtlpAttribute {
  key: string;
  value: { stringValue: string } | { intValue: string } | { doubleValue: number };
}

/** The body of a request to `/v1/traces`. */
export interface OtlpTraces {
  resourceSpans: {
    resource: { attributes: OtlpAttribute[] };
    scopeSpans: { scope: { name: string; version: string }; spans: OtlpSpan[] }[];
  }[];
}

/** Returns the SHA-256 of a text, hex. */
type HashText = (text: string) => string;

const INTERNAL = 1;
const SERVER = 2;
const CLIENT = 3;
const OK = 1;
const ERROR = 2;

/**
 * The trace of a run from its start, or the end before, to the end with this `seq`: a span for the run, each attempt, phase
 * and model request, with the attributes of the conventions for CI/CD and generative AI
 * (https://opentelemetry.io/docs/specs/semconv/cicd/, https://opentelemetry.io/docs/specs/semconv/gen-ai/). Its ids follow
 * from the run, so that it is the same when it is sent again. Undefined if there is no such end.
 */
export function toTrace(
  run: RunState,
  events: readonly JournalEvent[],
  { seq, hash, version }: { seq: number; hash: HashText; version: string },
): OtlpTraces | undefined {
  const end = events.find((event) => event.seq === seq && event.type === 'run.ended');
  if (end?.type !== 'run.ended') return undefined;
  const before = events.findLast((event) => event.type === 'run.ended' && event.seq < seq)?.seq ?? 0;
  const own = events.filter((event) => event.seq > before && event.seq <= seq);
  const first = own.find(({ type }) => type !== 'run.created') ?? end;
  const traceId = hash(`${run.runId}:${seq}`).slice(0, 32);
  const spanId = (name: string) => hash(`${traceId}:${name}`).slice(0, 16);
  const root: OtlpSpan = {
    traceId,
    spanId: spanId('run'),
    name: `RUN ${run.project}`,
    kind: SERVER,
    ...between(first.at, end.at),
    attributes: attributesOf({
      'cicd.pipeline.name': run.project,
      'cicd.pipeline.run.id': run.runId,
      'cicd.pipeline.result': resultOf(end.stopReason),
      'vcs.repository.name':
        run.repo.source
          .split(/[/:]/)
          .at(-1)
          ?.replace(/\.git$/, '') ?? '',
      'vcs.ref.head.name': `halo/${run.runId}`,
      'halo.stop_reason': end.stopReason,
      'enduser.id': run.user,
    }),
    status: end.stopReason === 'SUCCESS' ? { code: OK } : { code: ERROR, message: end.stopReason },
  };
  const spans = [root, ...attemptSpans(own, { traceId, spanId, end: end.at, agent: run.agent ?? 'agent' })];
  return {
    resourceSpans: [
      {
        resource: { attributes: attributesOf({ 'service.name': 'halo', 'service.version': version }) },
        scopeSpans: [{ scope: { name: 'halo', version }, spans }],
      },
    ],
  };
}

interface TraceFacts {
  traceId: string;
  spanId: (name: string) => string;
  /** When the run ended. ISO 8601 */
  end: string;
  agent: string;
}

/** A span for each start of each attempt. */
function attemptSpans(events: readonly JournalEvent[], facts: TraceFacts): OtlpSpan[] {
  const { spanId, end } = facts;
  return foldAttempts(events).flatMap(({ story, attempt, starts, phases }) =>
    starts.flatMap((start, index) => {
      const name = `${story}#${attempt}@${start.seq}`;
      const parent = spanId(name);
      const next = starts[index + 1]?.at;
      const outcome = start.end?.verdict === 'interrupted' ? undefined : start.end;
      const span: OtlpSpan = {
        traceId: facts.traceId,
        spanId: parent,
        parentSpanId: spanId('run'),
        name: story,
        kind: INTERNAL,
        ...between(start.at, start.end?.at ?? next ?? end),
        attributes: attributesOf({
          'cicd.pipeline.task.name': story,
          'cicd.pipeline.task.run.id': `${story}/${attempt}`,
          'cicd.pipeline.task.run.result':
            outcome?.stopReason === undefined ? 'cancellation' : resultOf(outcome.stopReason),
          'halo.attempt': attempt,
          ...(outcome?.stopReason === undefined ? {} : { 'halo.stop_reason': outcome.stopReason }),
        }),
        status:
          outcome?.verdict === 'passed' ? { code: OK } : { code: ERROR, message: outcome?.stopReason ?? 'stopped' },
      };
      const isOwn = (at: string) => at >= start.at && (next === undefined || at < next);
      const used = events.filter(
        (event) => event.type === 'model.used' && event.story === story && event.attempt === attempt && isOwn(event.at),
      );
      const own = { ...facts, parent, name };
      return [
        span,
        ...phaseSpans(
          phases.filter(({ from }) => isOwn(from)),
          own,
        ),
        ...modelSpans(used, own),
      ];
    }),
  );
}

interface AttemptFacts extends TraceFacts {
  parent: string;
  name: string;
}

function phaseSpans(phases: readonly PhaseSpan[], { traceId, spanId, parent, name, end }: AttemptFacts): OtlpSpan[] {
  return phases.map(({ phase, from, to = end, failed }, index) => ({
    traceId,
    spanId: spanId(`${name}:${phase}:${index}`),
    parentSpanId: parent,
    name: phase,
    kind: INTERNAL,
    ...between(from, to),
    attributes: attributesOf({ 'halo.phase': phase }),
    status: { code: failed === true ? ERROR : 0 },
  }));
}

function modelSpans(
  events: readonly JournalEvent[],
  { traceId, spanId, parent, name, agent }: AttemptFacts,
): OtlpSpan[] {
  return events.flatMap((event) => {
    if (event.type !== 'model.used') return [];
    const { model, usage, ms = 0 } = event;
    return [
      {
        traceId,
        spanId: spanId(`${name}:${event.seq}`),
        parentSpanId: parent,
        name: `chat ${model}`,
        kind: CLIENT,
        ...between(new Date(Date.parse(event.at) - ms).toISOString(), event.at),
        attributes: attributesOf({
          'gen_ai.operation.name': 'chat',
          'gen_ai.request.model': model,
          'gen_ai.agent.name': agent,
          'gen_ai.usage.input_tokens': usage.inputTokens,
          'gen_ai.usage.output_tokens': usage.outputTokens,
          ...(usage.costUsd === undefined ? {} : { 'halo.cost_usd': usage.costUsd }),
        }),
        status: { code: 0 },
      },
    ];
  });
}

function between(from: string, to: string): Pick<OtlpSpan, 'startTimeUnixNano' | 'endTimeUnixNano'> {
  const [start, end] = [Date.parse(from), Date.parse(to)];
  const nanos = (ms: number) => `${BigInt(ms) * 1_000_000n}`;
  return { startTimeUnixNano: nanos(Math.min(start, end)), endTimeUnixNano: nanos(end) };
}

/** The results that the conventions for CI/CD name. */
function resultOf(reason: string): string {
  if (reason === 'SUCCESS') return 'success';
  if (reason === 'USER_ABORT') return 'cancellation';
  if (reason === 'TIMEOUT') return 'timeout';
  return ['INFRASTRUCTURE', 'UNKNOWN_ERROR', 'ENGINE_ERROR'].includes(reason) ? 'error' : 'failure';
}

function attributesOf(values: Readonly<Record<string, string | number>>): OtlpAttribute[] {
  return Object.entries(values).map(([key, value]) => {
    if (typeof value === 'string') return { key, value: { stringValue: value.slice(0, 1_000) } };
    return { key, value: Number.isInteger(value) ? { intValue: String(value) } : { doubleValue: value } };
  });
}
