import type { IncomingMessage, ServerResponse } from 'node:http';
import { Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { openMasker } from '../lib/secrets/masker.ts';
import { answerError, errorBody } from './answers.ts';
import { modelAnswerHeaders } from './headers.ts';
import { hideSecret } from './hide-secret.ts';
import type { Ledger } from './ledger.ts';
import { createMeter } from './meter.ts';
import type { ModelHandler, ModelRequest, ModelRoute } from './model-route.ts';
import { describeNetworkError } from './network-error.ts';
import { causeOf, ERROR_BYTES, readProviderError } from './provider-error.ts';
import { openProvider, type Provider } from './provider.ts';
import { createRecorder, type Take } from './recorder.ts';

/** A take for when nothing is recorded. */
const NO_TAKE: Take = { start: () => {}, push: () => {}, end: () => Promise.resolve() };

/** Answers by asking the provider, with the key that only the gateway knows. Throws CONFIG_INVALID, DISK_FAILED. */
export async function createLive(route: ModelRoute, ledger: Ledger): Promise<ModelHandler> {
  const key = route.key === '' ? undefined : route.key;
  const { masker = openMasker() } = route;
  if (key !== undefined) masker.learn([key]);
  const provider = openProvider({ ...route, key });
  const recorder =
    route.mode === 'record'
      ? await createRecorder({ path: route.cassette, api: route.api, masker }, ledger)
      : undefined;
  return {
    answer: (request, res) => serve({ provider, ledger, key, take: recorder?.begin(request) ?? NO_TAKE, request, res }),
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
  take: Take;
  request: ModelRequest;
  res: ServerResponse;
}

async function serve(service: Service): Promise<void> {
  const { provider, ledger, request, res } = service;
  const abort = new AbortController();
  res.once('close', () => {
    if (!res.writableFinished) abort.abort();
  });
  try {
    const answer = await provider.ask(request, abort.signal);
    const refusal = findRefusal(answer, provider.name);
    if (refusal === undefined) await passOn(service, answer);
    else {
      answer.destroy();
      await refuse(service, refusal);
    }
  } catch (error) {
    if (res.destroyed) return note(service, 'failed', 499);
    const sentence = `The model provider ${provider.name} could not be reached: ${describeNetworkError(error)}.`;
    ledger.reportProblem({ sentence, cause: 'unreachable' });
    note(service, 'failed', 502);
    answerError(res, 502, sentence);
  }
}

/** Streams the answer through, metering and recording what the client gets, at the speed at which it reads. */
async function passOn({ provider, ledger, key, take, request, res }: Service, answer: IncomingMessage): Promise<void> {
  const status = answer.statusCode ?? 502;
  const meter = createMeter(request.operation.answers, answer.headers['content-type'] ?? '');
  if (status < 400) ledger.clearProblem();
  let errorText = '';
  note({ ledger, request }, 'served', status);
  take.start(status, answer.headers);
  const tap = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      meter.push(chunk);
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
  ledger.addUsage(meter.end());
  await take.end(complete);
}

interface Refusal {
  status: number;
  sentence: string;
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

async function refuse(service: Service, { status, sentence }: Refusal): Promise<void> {
  const { ledger, take, res } = service;
  ledger.reportProblem({ sentence, ...causeOf(status) });
  note(service, 'failed', status);
  take.start(status, { 'content-type': 'application/json' });
  take.push(Buffer.from(errorBody(sentence)));
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
