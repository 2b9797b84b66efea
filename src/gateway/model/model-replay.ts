import type { ServerResponse } from 'node:http';
import { basename } from 'node:path';
import { sendError } from '../error-responses.ts';
import { readCassette, type Exchange } from '../cassette/cassette.ts';
import {
  describeDifference,
  findFirstDifference,
  fingerprintRequest,
  stripVolatile,
  type RequestFingerprint,
} from '../cassette/request-fingerprint.ts';
import type { RequestLog } from '../request-log.ts';
import { createTokenMeter } from '../usage/token-meter.ts';
import { openMasker, type Masker } from '../../lib/secrets/masker.ts';
import type { DeliverMessage, ModelHandler, ModelRequest, ModelRoute } from './model-route.ts';
import { splitEvents } from '../cassette/cassette-recorder.ts';
import { sleep } from '../../lib/async.ts';

/**
 * Replays a cassette: the n-th request receives the n-th response. After the first mismatch all requests are refused, so
 * that a retry cannot reach later responses. Smaller differences are only recorded. Throws CASSETTE_MISSING.
 */
export async function createReplayHandler(
  { cassette, masker = openMasker(), timed = false }: Pick<ModelRoute, 'cassette' | 'masker' | 'timed'>,
  log: RequestLog,
): Promise<ModelHandler> {
  const { exchanges, messages } = await readCassette(cassette);
  const name = basename(cassette);
  let count = 0;
  let mismatch: string | undefined;
  let deliver: DeliverMessage | undefined;
  const deliverAfter = async (response: number) => {
    for (const { after, ...message } of messages) if (after === response) await deliver?.(message);
  };
  return {
    replayMessages(to) {
      deliver = to;
      void deliverAfter(0);
    },
    close: () => Promise.resolve(),
    async respond(request, res) {
      const exchange = exchanges[count];
      count += 1;
      const { method } = request.operation;
      mismatch ??= findMismatch(request, exchange, { name, count, total: exchanges.length, log, masker });
      if (mismatch !== undefined || exchange === undefined) {
        const sentence = mismatch ?? 'Replay: the cassette has no more responses.';
        log.reportProblem({ sentence }, 'lasting');
        log.recordDivergence(sentence, true);
        log.record({ method, target: request.url, outcome: 'failed', status: 400 });
        sendError(res, 400, sentence);
        return;
      }
      await deliverAfter(count);
      const { status, headers, body, complete, times } = exchange.response;
      const meter = createTokenMeter(request.operation.responseFormat, headers['content-type'] ?? '');
      meter.push(Buffer.from(body));
      log.addUsage(meter.end().usage);
      log.record({ method, target: request.url, outcome: 'served', status });
      res.writeHead(status, headers);
      if (timed && times !== undefined) await writePaced(res, body, times);
      else res.write(body);
      if (complete) res.end();
      else res.write('', () => res.destroy());
    },
  };
}

/** Writes each event at its recorded time. Stops when the client disconnects. */
async function writePaced(res: ServerResponse, body: string, times: readonly number[]): Promise<void> {
  const begun = performance.now();
  const gone = new AbortController();
  res.once('close', () => gone.abort());
  for (const [index, event] of splitEvents(body).entries()) {
    const due = times[index] ?? times.at(-1) ?? 0;
    await sleep(Math.max(0, due - (performance.now() - begun)), gone.signal);
    if (gone.signal.aborted) return;
    res.write(event);
  }
}

interface ReplayPosition {
  name: string;
  count: number;
  total: number;
  log: RequestLog;
  masker: Masker;
}

function findMismatch(
  request: ModelRequest,
  exchange: Exchange | undefined,
  position: ReplayPosition,
): string | undefined {
  const { name, count, total, log, masker } = position;
  const where = `request ${count}`;
  if (exchange === undefined) return `Replay: the agent makes ${where}, but the cassette ${name} holds only ${total}.`;
  const { method, path } = request.operation;
  const recorded = exchange.request;
  if (recorded.method !== method || recorded.path !== path)
    return `Replay: ${where} is ${method} ${path}, but the cassette ${name} has ${recorded.method} ${recorded.path} there.`;
  const facts = fingerprintRequest(request, masker);
  if (facts.model !== recorded.model)
    return `Replay: ${where} asks for the model "${facts.model}", but the cassette ${name} was recorded with "${recorded.model}".`;
  const difference = describeFirst(recorded, facts);
  if (facts.toolResults !== recorded.toolResults)
    return (
      `Replay: ${where} carries ${facts.toolResults} tool results, but the cassette ${name} has ` +
      `${recorded.toolResults} there; they differ ${difference ?? 'in nothing else'}.`
    );
  if (difference !== undefined) log.recordDivergence(`Request ${count} differs from the recorded one, ${difference}.`);
  return undefined;
}

function describeFirst(recorded: Exchange['request'], facts: RequestFingerprint): string | undefined {
  // The bodies of a cassette may have been removed for archiving.
  if (recorded.body === null || recorded.digest === facts.digest) return undefined;
  const found = findFirstDifference(
    stripVolatile(recorded.body),
    stripVolatile(JSON.parse(JSON.stringify(facts.body))),
  );
  return found === undefined ? undefined : describeDifference(found);
}
