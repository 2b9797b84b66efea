import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable, Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { NO_USAGE, type Usage } from '../../core/agent.ts';
import type { Connections } from '../../lib/network/connections.ts';
import { secretEncodings } from '../../lib/secrets/encodings.ts';
import { openMasker } from '../../lib/secrets/masker.ts';
import { compileMatcher } from '../../lib/secrets/multi-pattern-matcher.ts';
import { createCassetteRecorder, type ExchangeRecording } from '../cassette/cassette-recorder.ts';
import { describeNetworkError, errorBody, failedBeforeSending, sendError } from '../error-responses.ts';
import { modelResponseHeaders } from '../headers.ts';
import type { RequestLog } from '../request-log.ts';
import type { BudgetPort, Reservation } from '../usage/budget-port.ts';
import { limitOutput, MAX_WAIT_MS, reserveBudget, type Refusal } from '../usage/reserve-budget.ts';
import { createTokenMeter } from '../usage/token-meter.ts';
import type { ModelHandler, ModelRequest, ModelRoute } from './model-route.ts';
import {
  ERROR_BYTES,
  failureCauseOf,
  KeyRefusals,
  mayRequestPause,
  PAUSE_STATUSES,
  readErrorBody,
  readProviderError,
  readRetryAfter,
  type ProviderResponse,
} from './provider-error.ts';
import { createProviderClient, type ProviderClient } from './upstream-provider.ts';

type Recording = Pick<ExchangeRecording, 'start' | 'push' | 'end'>;

/** Used when nothing is recorded. */
const NO_RECORDING: Recording = { start: () => {}, push: () => {}, end: () => Promise.resolve() };

const UNPAID = 402;

const NOTHING_USED: Usage = { ...NO_USAGE, requests: 1 };

/** Costs nothing. */
const SETTLED: Reservation = { outputTokens: Infinity, key: 0, settle: (usage) => Promise.resolve({ usage }) };

/** A budget without limits. */
const UNLIMITED_BUDGET: BudgetPort = {
  longestPauseMs: Infinity,
  reserve: () =>
    Promise.resolve({
      kind: 'granted',
      reservation: SETTLED,
    }),
  pauseKey: () => Promise.resolve(),
};

/** Forwards model requests to the provider with its keys, which only the gateway knows. Throws CONFIG_INVALID, DISK_FAILED. */
export async function createLiveHandler(
  route: ModelRoute,
  log: RequestLog,
  connections: Connections,
): Promise<ModelHandler> {
  const { masker = openMasker(), providerKeys: keys } = route;
  masker.learn(keys);
  const provider = createProviderClient(route, connections);
  const overrun = new AbortController();
  const recorder =
    route.mode === 'record'
      ? await createCassetteRecorder({ path: route.cassette, api: route.api, masker, timed: route.timed === true, log })
      : undefined;
  return {
    recordMessage: (message, sent) => recorder?.expect(message, sent),
    respond(request, res) {
      const budget = route.budget ?? UNLIMITED_BUDGET;
      const recording = recorder?.begin(request) ?? NO_RECORDING;
      return serve({ provider, log, keys, budget, overrun, recording, request, res });
    },
    async close() {
      await recorder?.close();
    },
  };
}

interface Service {
  provider: ProviderClient;
  log: RequestLog;
  keys: readonly string[];
  budget: BudgetPort;
  /** Aborts all active responses when a budget is overdrawn. */
  overrun: AbortController;
  recording: Recording;
  request: ModelRequest;
  res: ServerResponse;
}

async function serve(service: Service): Promise<void> {
  const { request, res, log, budget, keys, overrun } = service;
  const abort = new AbortController();
  res.once('close', () => {
    if (!res.writableFinished) abort.abort();
  });
  const signal = AbortSignal.any([abort.signal, overrun.signal]);
  const patience = { ms: MAX_WAIT_MS };
  const refusals = new KeyRefusals(budget, { model: request.model, keys: keys.length });
  for (;;) {
    const asking = { budget, request, log, patience, signal, avoid: refusals.avoid };
    const reservation = await reserveBudget(asking).catch(() => undefined);
    if (reservation === undefined) {
      note(service, 'failed', 499);
      return void res.destroy();
    }
    if ('sentence' in reservation)
      return refusals.last === undefined ? sendRefusal(service, reservation) : reply(service, refusals.last, SETTLED);
    const raw = await askProvider(service, reservation, signal);
    if (raw === undefined) return;
    const response = await readPauseBody(raw);
    const pauseMs = isCountLimited(request, response) ? undefined : readRetryAfter(response);
    const { key } = reservation;
    if (pauseMs !== undefined) await budget.pauseKey({ model: request.model, key, ms: pauseMs, why: 'provider' });
    const isForAgent = pauseMs !== undefined && pauseMs > patience.ms && pauseMs <= budget.longestPauseMs;
    const mayChange = !isCountLimited(request, response) && keys.length > 1;
    const isLast =
      pauseMs === undefined ? !(mayChange && (await refusals.add(response, key))) : isForAgent && !mayChange;
    if (isLast || budget === UNLIMITED_BUDGET) return reply(service, response, reservation);
    if (response.body === undefined) response.stream.destroy();
    await settle(service, reservation, { usage: NOTHING_USED, reported: 'all' });
  }
}

/** Token counting has its own rate limit at the provider, which concerns only this agent. */
function isCountLimited({ operation }: ModelRequest, { statusCode = 0 }: ProviderResponse): boolean {
  return operation.free && PAUSE_STATUSES.includes(statusCode);
}

/** Reads the body of a response if that is where the provider may request a pause, or if another key is tried first. */
async function readPauseBody(response: IncomingMessage): Promise<ProviderResponse> {
  const { statusCode, headers } = response;
  if (!mayRequestPause(response) && statusCode !== UNPAID) return { statusCode, headers, stream: response };
  const body = await readErrorBody(response);
  return { statusCode, headers, stream: Readable.from([body]), body: body.toString('utf8') };
}

/** Settles the usage of a request. When that overdraws a budget, all other responses are aborted. */
async function settle({ log, overrun }: Service, reservation: Reservation, { usage, reported }: Spent): Promise<Usage> {
  const settled = await reservation.settle(usage, reported);
  if (settled.overrun !== undefined) {
    log.reportProblem(settled.overrun, 'overrun');
    overrun.abort();
  }
  return settled.usage;
}

interface Spent {
  usage: Usage;
  reported: 'all' | 'part';
}

/** Returns undefined when there is no response; the client has then received an error. */
async function askProvider(
  service: Service,
  reservation: Reservation,
  signal: AbortSignal,
): Promise<IncomingMessage | undefined> {
  const { provider, log, keys, request, res } = service;
  let asked = false;
  try {
    signal.throwIfAborted();
    asked = true;
    return await provider.ask(limitOutput(request, reservation.outputTokens), keys[reservation.key], signal);
  } catch (error) {
    // A request that was never sent costs nothing. Otherwise the cost is unknown.
    const reported = asked && !failedBeforeSending(error) ? 'part' : 'all';
    log.addUsage(await settle(service, reservation, { usage: NOTHING_USED, reported }));
    if (res.destroyed) note(service, 'failed', 499);
    else {
      const sentence = `The model provider ${provider.name} could not be reached: ${describeNetworkError(error)}.`;
      log.reportProblem({ sentence, cause: 'unreachable' });
      note(service, 'failed', 502);
      sendError(res, 502, sentence);
    }
    return undefined;
  }
}

async function reply(service: Service, response: ProviderResponse, reservation: Reservation): Promise<void> {
  const refusal = findRefusal(response, service.provider.name);
  if (refusal === undefined) return passOn(service, response, reservation);
  response.stream.destroy();
  await settle(service, reservation, { usage: NOTHING_USED, reported: 'all' });
  return sendRefusal(service, refusal);
}

/** Streams the response to the client with back-pressure, and meters and records it. */
async function passOn(service: Service, response: ProviderResponse, reservation: Reservation): Promise<void> {
  const { provider, log, keys, recording, request, res } = service;
  const status = response.statusCode ?? 502;
  const meter = createTokenMeter(request.operation.responseFormat, response.headers['content-type'] ?? '');
  if (status < 400) log.clearProblem();
  let errorText = '';
  note({ log, request }, 'served', status);
  recording.start(status, response.headers);
  const tap = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      meter.push(chunk);
      if (meter.outputSoFar() > reservation.outputTokens)
        return done(new Error('the response exceeds its token limit'));
      recording.push(chunk);
      if (status >= 400 && errorText.length < ERROR_BYTES) errorText += chunk.toString();
      done(null, chunk);
    },
  });
  res.writeHead(status, modelResponseHeaders(response.headers, keys));
  res.flushHeaders();
  let complete = false;
  try {
    const { stream } = response;
    await (keys.length === 0 ? pipeline(stream, tap, res) : pipeline(stream, hideSecrets(keys), tap, res));
    complete = true;
  } catch (error) {
    // Not if the agent ended it, or a budget did.
    if (error === response.stream.errored && !isAbort(error)) {
      const sentence = `The model provider ${provider.name} broke off a response: ${describeNetworkError(error)}.`;
      log.reportProblem({ sentence, cause: 'provider-failed' });
    }
    res.destroy();
  }
  if (status >= 400) log.reportProblem(readProviderError({ provider: provider.name, status, body: errorText }));
  const { usage, last } = meter.end();
  // A request that the provider refused costs nothing.
  log.addUsage(await settle(service, reservation, { usage, reported: last || status >= 400 ? 'all' : 'part' }));
  await recording.end(complete);
}

function isAbort(error: unknown): boolean {
  return error instanceof Error && error.name === 'AbortError';
}

/** Finds responses that must not be forwarded, because they may contain the key or redirect the client. */
function findRefusal(response: ProviderResponse, provider: string): Refusal | undefined {
  const status = response.statusCode ?? 0;
  if (status === 401 || status === 403)
    return { status, sentence: `The model provider ${provider} refused the key (HTTP status ${status}).` };
  if (status >= 300 && status < 400)
    return {
      status: 502,
      sentence: `The model provider ${provider} responded with a redirect (HTTP status ${status}).`,
    };
  if (!['identity', undefined].includes(response.headers['content-encoding']))
    return {
      status: 502,
      sentence: `The model provider ${provider} sent a compressed response, which was not requested.`,
    };
  return undefined;
}

async function sendRefusal(service: Service, { status, sentence, retryAfter, logged }: Refusal): Promise<void> {
  const { log, recording, res } = service;
  if (!logged) log.reportProblem({ sentence, ...failureCauseOf(status) });
  note(service, 'failed', status);
  recording.start(status, { 'content-type': 'application/json' });
  recording.push(Buffer.from(errorBody(sentence)));
  if (retryAfter !== undefined && !res.headersSent) res.setHeader('retry-after', retryAfter);
  sendError(res, status, sentence);
  await recording.end(true);
}

function note({ log, request }: Pick<Service, 'log' | 'request'>, outcome: 'served' | 'failed', status: number): void {
  log.record({ method: request.operation.method, target: request.url, outcome, status });
}

/**
 * Replaces secrets, in all their common encodings and also across chunk borders, by asterisks of the same length. Bytes
 * are held back only while they could be the start of a secret, so that the stream is not delayed.
 */
function hideSecrets(secrets: readonly string[]): Transform {
  const needles = compileMatcher(secrets.flatMap(secretEncodings));
  let pending = Buffer.alloc(0);
  const hide = (data: Buffer): Buffer => {
    let copy: Buffer | undefined;
    needles.find(data, (from, to) => void (copy ??= Buffer.from(data)).fill('*', from, to));
    return copy ?? data;
  };
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      const data = hide(pending.length === 0 ? chunk : Buffer.concat([pending, chunk]));
      const sure = needles.beginning(data);
      pending = Buffer.from(data.subarray(sure));
      done(null, data.subarray(0, sure));
    },
    flush(done) {
      done(null, pending);
    },
  });
}
