import type { IncomingMessage, ServerResponse } from 'node:http';
import { Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { openMasker } from '../lib/secrets/masker.ts';
import { NO_USAGE, type Usage } from '../core/agent.ts';
import { admit, HOLD_MS, type Refusal } from './admit.ts';
import type { Allowance, Grant } from './allowance.ts';
import { answerError, errorBody } from './error-responses.ts';
import { modelAnswerHeaders } from './headers.ts';
import { hideSecret } from './model/hide-secret.ts';
import type { Ledger } from './ledger.ts';
import { createMeter } from './usage/token-meter.ts';
import type { ModelHandler, ModelRequest, ModelRoute } from './model/model-route.ts';
import { describeNetworkError, neverLeft } from './network-error.ts';
import { readPause } from './model/retry-after.ts';
import { causeOf, ERROR_BYTES, readProviderError } from './model/provider-error.ts';
import { openProvider, type Provider } from './model/upstream-provider.ts';
import { createRecorder, type Take } from './cassette/cassette-recorder.ts';
import { limitAnswer } from './usage/estimate-max-tokens.ts';

/** A take for when nothing is recorded. */
const NO_TAKE: Take = { start: () => {}, push: () => {}, end: () => Promise.resolve() };

const NOTHING_USED: Usage = { ...NO_USAGE, requests: 1 };

/** An allowance without limits. */
const EVERYTHING: Allowance = {
  reserve: () =>
    Promise.resolve({
      kind: 'granted',
      grant: { outputTokens: Infinity, settle: (usage) => Promise.resolve({ usage }) },
    }),
  cool: () => Promise.resolve(),
};

/** Answers by asking the provider, with the key that only the gateway knows. Throws CONFIG_INVALID, DISK_FAILED. */
export async function createLive(route: ModelRoute, ledger: Ledger): Promise<ModelHandler> {
  const key = route.key === '' ? undefined : route.key;
  const { masker = openMasker() } = route;
  if (key !== undefined) masker.learn([key]);
  const provider = openProvider({ ...route, key });
  const overrun = new AbortController();
  const recorder =
    route.mode === 'record'
      ? await createRecorder({ path: route.cassette, api: route.api, masker, timed: route.timed === true }, ledger)
      : undefined;
  return {
    answer(request, res) {
      const allowance = route.allowance ?? EVERYTHING;
      const take = recorder?.begin(request) ?? NO_TAKE;
      return serve({ provider, ledger, key, allowance, overrun, take, request, res });
    },
    async close() {
      provider.close();
      await recorder?.close();
    },
  };
}

interface Service {
  provider: Provider;
  ledger: Ledger;
  key: string | undefined;
  allowance: Allowance;
  /** Ends all answers that are under way when a budget is overdrawn. */
  overrun: AbortController;
  take: Take;
  request: ModelRequest;
  res: ServerResponse;
}

async function serve(service: Service): Promise<void> {
  const { request, res, ledger, allowance, overrun } = service;
  const abort = new AbortController();
  res.once('close', () => {
    if (!res.writableFinished) abort.abort();
  });
  const signal = AbortSignal.any([abort.signal, overrun.signal]);
  const patience = { ms: HOLD_MS };
  for (;;) {
    const grant = await admit({ allowance, request, ledger, patience, signal }).catch(() => undefined);
    if (grant === undefined) {
      note(service, 'failed', 499);
      return void res.destroy();
    }
    if ('sentence' in grant) return refuse(service, grant);
    const answer = await askProvider(service, grant, signal);
    if (answer === undefined) return;
    // Providers limit the counting of tokens on its own: its pause is the agent's alone.
    const pauseMs = request.operation.free ? undefined : readPause(answer);
    if (pauseMs !== undefined) await allowance.cool(request.model, pauseMs);
    if (pauseMs === undefined || pauseMs > patience.ms || allowance === EVERYTHING)
      return reply(service, answer, grant);
    answer.destroy();
    await settle(service, grant, { usage: NOTHING_USED, told: 'all' });
  }
}

/** Counts what a request used; when that overdraws a budget, no other answer may go on either. */
async function settle({ ledger, overrun }: Service, grant: Grant, { usage, told }: Spent): Promise<Usage> {
  const settled = await grant.settle(usage, told);
  if (settled.overrun !== undefined) {
    ledger.reportProblem({ sentence: settled.overrun }, 'overrun');
    overrun.abort();
  }
  return settled.usage;
}

interface Spent {
  usage: Usage;
  told: 'all' | 'part';
}

/** Undefined: there is no answer, and the client knows. */
async function askProvider(service: Service, grant: Grant, signal: AbortSignal): Promise<IncomingMessage | undefined> {
  const { provider, ledger, request, res } = service;
  let asked = false;
  try {
    signal.throwIfAborted();
    asked = true;
    return await provider.ask(limitAnswer(request, grant.outputTokens), signal);
  } catch (error) {
    // What never left costs nothing; of all else nobody knows.
    const told = asked && !neverLeft(error) ? 'part' : 'all';
    ledger.addUsage(await settle(service, grant, { usage: NOTHING_USED, told }));
    if (res.destroyed) note(service, 'failed', 499);
    else {
      const sentence = `The model provider ${provider.name} could not be reached: ${describeNetworkError(error)}.`;
      ledger.reportProblem({ sentence, cause: 'unreachable' });
      note(service, 'failed', 502);
      answerError(res, 502, sentence);
    }
    return undefined;
  }
}

async function reply(service: Service, answer: IncomingMessage, grant: Grant): Promise<void> {
  const refusal = findRefusal(answer, service.provider.name);
  if (refusal === undefined) return passOn(service, answer, grant);
  answer.destroy();
  await settle(service, grant, { usage: NOTHING_USED, told: 'all' });
  return refuse(service, refusal);
}

/** Streams the answer through, metering and recording what the client gets, at the speed at which it reads. */
async function passOn(service: Service, answer: IncomingMessage, grant: Grant): Promise<void> {
  const { provider, ledger, key, take, request, res } = service;
  const status = answer.statusCode ?? 502;
  const meter = createMeter(request.operation.answers, answer.headers['content-type'] ?? '');
  if (status < 400) ledger.clearProblem();
  let errorText = '';
  note({ ledger, request }, 'served', status);
  take.start(status, answer.headers);
  const tap = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      meter.push(chunk);
      if (meter.outputSoFar() > grant.outputTokens) return done(new Error('the answer is longer than it may be'));
      take.push(chunk);
      if (status >= 400 && errorText.length < ERROR_BYTES) errorText += chunk.toString();
      done(null, chunk);
    },
  });
  res.writeHead(status, modelAnswerHeaders(answer.headers, key));
  res.flushHeaders();
  let complete = false;
  try {
    await (key === undefined ? pipeline(answer, tap, res) : pipeline(answer, hideSecret(key), tap, res));
    complete = true;
  } catch {
    res.destroy();
  }
  if (status >= 400) ledger.reportProblem(readProviderError({ provider: provider.name, status, body: errorText }));
  const { usage, last } = meter.end();
  // A refused request costs nothing.
  ledger.addUsage(await settle(service, grant, { usage, told: last || status >= 400 ? 'all' : 'part' }));
  await take.end(complete);
}

/** Answers that are not passed on, because they may hold the key or lead elsewhere. */
function findRefusal(answer: IncomingMessage, provider: string): Refusal | undefined {
  const status = answer.statusCode ?? 0;
  if (status === 401 || status === 403)
    return { status, sentence: `The model provider ${provider} refused the key (HTTP status ${status}).` };
  if (status >= 300 && status < 400)
    return {
      status: 502,
      sentence: `The model provider ${provider} answered with a redirect (HTTP status ${status}).`,
    };
  if (!['identity', undefined].includes(answer.headers['content-encoding']))
    return {
      status: 502,
      sentence: `The model provider ${provider} sent a compressed answer, which was not asked for.`,
    };
  return undefined;
}

async function refuse(service: Service, { status, sentence, retryAfter }: Refusal): Promise<void> {
  const { ledger, take, res } = service;
  ledger.reportProblem({ sentence, ...causeOf(status) });
  note(service, 'failed', status);
  take.start(status, { 'content-type': 'application/json' });
  take.push(Buffer.from(errorBody(sentence)));
  if (retryAfter !== undefined && !res.headersSent) res.setHeader('retry-after', retryAfter);
  answerError(res, status, sentence);
  await take.end(true);
}

function note(
  { ledger, request }: Pick<Service, 'ledger' | 'request'>,
  outcome: 'served' | 'failed',
  status: number,
): void {
  ledger.record({ method: request.operation.method, target: request.url, outcome, status });
}
