import type { ModelApi } from '../../../core/agent.ts';
import { foldAttempts, type PhaseSpan } from '../../../core/journal/attempts.ts';
import type { JournalEvent } from '../../../core/journal/events.ts';
import { describeStart } from '../../../core/journal/start-facts.ts';
import type { RunState } from '../../../core/run/state.ts';

/** A span in the JSON form of the OpenTelemetry protocol: https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding */
interface OtlpSpan {
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

/** What a trace has that the journal does not say. */
export interface TraceContext {
  /** The `run.ended` event that the trace ends with. */
  seq: number;
  /** Returns the SHA-256 of a text, hex. */
  hash: (text: string) => string;
  /** Of halo. */
  version: string;
  /** What the agent of the run speaks; undefined if it uses no model. */
  api?: ModelApi | undefined;
  /** The page of the run, if there is a server with an address. */
  page?: string | undefined;
}

/** The names of the conventions for providers of models. A server with the API of one counts as it. */
const PROVIDERS: Record<ModelApi, string> = { openai: 'openai', anthropic: 'anthropic', google: 'gcp.gemini' };

const INTERNAL = 1;
const SERVER = 2;
const CLIENT = 3;
const OK = 1;
const ERROR = 2;

/**
 * The trace of a run from its start, or the end before, to the end of the context: a span for the run, each attempt, phase
 * and model request, with the attributes of the conventions for CI/CD and generative AI
 * (https://opentelemetry.io/docs/specs/semconv/cicd/, https://opentelemetry.io/docs/specs/semconv/gen-ai/). Its ids follow
 * from the run, so that it is the same when it is sent again. Undefined if there is no such end.
 */
export function toTrace(
  run: RunState,
  events: readonly JournalEvent[],
  { seq, hash, version, api, page }: TraceContext,
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
      ...(page !== undefined && { 'cicd.pipeline.run.url.full': page }),
      ...errorType(end.stopReason),
    }),
    status: end.stopReason === 'SUCCESS' ? { code: OK } : { code: ERROR, message: end.stopReason },
  };
  const genAi = {
    'gen_ai.agent.name': run.agent ?? 'agent',
    ...(api !== undefined && { 'gen_ai.provider.name': PROVIDERS[api] }),
  };
  const spans = [root, ...attemptSpans(own, { traceId, spanId, end: end.at, genAi, page })];
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
  /** The attributes that spans about the agent share. */
  genAi: Record<string, string>;
  page: string | undefined;
}

type ModelUsed = Extract<JournalEvent, { type: 'model.used' }>;

/** A span for each start of each attempt. */
function attemptSpans(events: readonly JournalEvent[], facts: TraceFacts): OtlpSpan[] {
  const { spanId, end, page } = facts;
  const requests = groupRequests(events);
  return foldAttempts(events).flatMap((record) => {
    const { story, attempt, starts, phases, agent } = record;
    const started = Object.fromEntries(describeStart(record).map(({ kind, text }) => [`halo.${kind}`, text]));
    return starts.flatMap((start, index) => {
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
          ...started,
          ...(page !== undefined && {
            'cicd.pipeline.task.run.url.full': `${page}/story/${encodeURIComponent(story)}`,
          }),
          ...(outcome?.stopReason !== undefined && {
            'halo.stop_reason': outcome.stopReason,
            ...errorType(outcome.stopReason),
          }),
        }),
        status:
          outcome?.verdict === 'passed' ? { code: OK } : { code: ERROR, message: outcome?.stopReason ?? 'stopped' },
      };
      const isOwn = (at: string) => at >= start.at && (next === undefined || at < next);
      const used = (requests.get(`${attempt} ${story}`) ?? []).filter(({ at }) => isOwn(at));
      const own = { ...facts, genAi: genAiOf(facts.genAi, agent?.agent), parent, name };
      const ownPhases = phases.filter(({ from }) => isOwn(from));
      return [span, ...phaseSpans(ownPhases, own), ...modelSpans(used, ownPhases, own)];
    });
  });
}

/** The requests of each attempt, by its number and story. */
function groupRequests(events: readonly JournalEvent[]): Map<string, ModelUsed[]> {
  const groups = new Map<string, ModelUsed[]>();
  for (const event of events) {
    if (event.type !== 'model.used') continue;
    const key = `${event.attempt} ${event.story}`;
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [event]);
    else group.push(event);
  }
  return groups;
}

/** The attributes of an attempt with this agent; the provider is only known of the agent of the run. */
function genAiOf(ofRun: TraceFacts['genAi'], agent: string | undefined): TraceFacts['genAi'] {
  const { 'gen_ai.agent.name': name } = ofRun;
  return agent === undefined || agent === name ? ofRun : { 'gen_ai.agent.name': agent };
}

interface AttemptFacts extends TraceFacts {
  parent: string;
  name: string;
}

/** The run of the agent is a span of its own kind in the conventions for generative AI. */
function phaseSpans(phases: readonly PhaseSpan[], facts: AttemptFacts): OtlpSpan[] {
  const { traceId, spanId, parent, end, genAi } = facts;
  return phases.map(({ phase, from, to = end, failed }, index) => ({
    traceId,
    spanId: spanId(phaseName(facts, phase, index)),
    parentSpanId: parent,
    name: phase === 'agent' ? `invoke_agent ${genAi['gen_ai.agent.name'] ?? ''}` : phase,
    kind: INTERNAL,
    ...between(from, to),
    attributes: attributesOf({
      'halo.phase': phase,
      ...(phase === 'agent' && { 'gen_ai.operation.name': 'invoke_agent', ...genAi }),
      ...(failed === true && { 'error.type': '_OTHER' }),
    }),
    status: { code: failed === true ? ERROR : 0 },
  }));
}

function phaseName({ name }: AttemptFacts, phase: string, index: number): string {
  return `${name}:${phase}:${index}`;
}

/** Requests during a phase are below it. */
function modelSpans(events: readonly ModelUsed[], phases: readonly PhaseSpan[], facts: AttemptFacts): OtlpSpan[] {
  const { traceId, spanId, parent, name, end, genAi } = facts;
  return events.map(({ seq, at, model, usage, ms = 0 }) => {
    const index = phases.findIndex(({ from, to = end }) => from <= at && at <= to);
    const phase = phases[index];
    return {
      traceId,
      spanId: spanId(`${name}:${seq}`),
      parentSpanId: phase === undefined ? parent : spanId(phaseName(facts, phase.phase, index)),
      name: `chat ${model}`,
      kind: CLIENT,
      ...between(new Date(Date.parse(at) - ms).toISOString(), at),
      attributes: attributesOf({
        'gen_ai.operation.name': 'chat',
        ...genAi,
        'gen_ai.request.model': model,
        'gen_ai.usage.input_tokens': usage.inputTokens,
        'gen_ai.usage.cache_read.input_tokens': usage.cachedTokens,
        'gen_ai.usage.output_tokens': usage.outputTokens,
        ...(usage.costUsd !== undefined && { 'halo.cost_usd': usage.costUsd }),
      }),
      status: { code: 0 },
    };
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

/** The attribute of spans that have failed. */
function errorType(reason: string): Record<string, string> {
  return reason === 'SUCCESS' ? {} : { 'error.type': reason };
}

function attributesOf(values: Readonly<Record<string, string | number>>): OtlpAttribute[] {
  return Object.entries(values).map(([key, value]) => {
    if (typeof value === 'string') return { key, value: { stringValue: value.slice(0, 1_000) } };
    return { key, value: Number.isInteger(value) ? { intValue: String(value) } : { doubleValue: value } };
  });
}
