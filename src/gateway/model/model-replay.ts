import type { ServerResponse } from 'node:http';
import { basename } from 'node:path';
import { answerError } from '../error-responses.ts';
import { readCassette, type Exchange } from '../cassette/cassette.ts';
import { describeDifference, firstDifference } from '../cassette/json-diff.ts';
import type { Ledger } from '../ledger.ts';
import { createMeter } from '../usage/token-meter.ts';
import { openMasker, type Masker } from '../../lib/secrets/masker.ts';
import type { ModelHandler, ModelRequest, ModelRoute } from './model-route.ts';
import { requestFacts, type RequestFacts } from '../cassette/request-fingerprint.ts';
import { splitEvents } from '../cassette/stream-timing.ts';
import { sleep } from '../../lib/sleep.ts';
import { steady } from '../cassette/strip-volatile.ts';

/**
 * Answers from a cassette, the n-th request with the n-th exchange. After the first mismatch everything is refused:
 * an agent that tries again must not reach later answers. Smaller differences are only noted. Throws CASSETTE_MISSING.
 */
export async function createReplay(
  { cassette, masker = openMasker(), timed = false }: Pick<ModelRoute, 'cassette' | 'masker' | 'timed'>,
  ledger: Ledger,
): Promise<ModelHandler> {
  const exchanges = await readCassette(cassette);
  const name = basename(cassette);
  let count = 0;
  let mismatch: string | undefined;
  return {
    close: () => Promise.resolve(),
    async answer(request, res) {
      const exchange = exchanges[count];
      count += 1;
      const { method } = request.operation;
      mismatch ??= findMismatch(request, exchange, { name, count, total: exchanges.length, ledger, masker });
      if (mismatch !== undefined || exchange === undefined) {
        const sentence = mismatch ?? 'Replay: nothing is left to answer with.';
        ledger.reportProblem({ sentence }, 'lasting');
        ledger.record({ method, target: request.url, outcome: 'failed', status: 400 });
        answerError(res, 400, sentence);
        return;
      }
      const { status, headers, body, complete, times } = exchange.response;
      const meter = createMeter(request.operation.answers, headers['content-type'] ?? '');
      meter.push(Buffer.from(body));
      ledger.addUsage(meter.end().usage);
      ledger.record({ method, target: request.url, outcome: 'served', status });
      res.writeHead(status, headers);
      if (timed && times !== undefined) await writePaced(res, body, times);
      else res.write(body);
      if (complete) res.end();
      else res.write('', () => res.destroy());
    },
  };
}

/** Writes each event when it came at first; a client that leaves ends the waiting. */
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

interface Place {
  name: string;
  count: number;
  total: number;
  ledger: Ledger;
  masker: Masker;
}

function findMismatch(request: ModelRequest, exchange: Exchange | undefined, place: Place): string | undefined {
  const { name, count, total, ledger, masker } = place;
  const where = `request ${count}`;
  if (exchange === undefined) return `Replay: the agent makes ${where}, but the cassette ${name} holds only ${total}.`;
  const { method, path } = request.operation;
  const recorded = exchange.request;
  if (recorded.method !== method || recorded.path !== path)
    return `Replay: ${where} is ${method} ${path}, but the cassette ${name} has ${recorded.method} ${recorded.path} there.`;
  const facts = requestFacts(request, masker);
  if (facts.model !== recorded.model)
    return `Replay: ${where} asks for the model "${facts.model}", but the cassette ${name} was recorded with "${recorded.model}".`;
  const difference = describeFirst(recorded, facts);
  if (facts.toolResults !== recorded.toolResults)
    return (
      `Replay: ${where} carries ${facts.toolResults} tool results, but the cassette ${name} has ` +
      `${recorded.toolResults} there; they differ ${difference ?? 'in nothing else'}.`
    );
  if (difference !== undefined) ledger.noteDivergence(`Request ${count} differs from the recorded one, ${difference}.`);
  return undefined;
}

function describeFirst(recorded: Exchange['request'], facts: RequestFacts): string | undefined {
  // A cassette that is to be kept may do without the bodies.
  if (recorded.body === null || recorded.digest === facts.digest) return undefined;
  const found = firstDifference(steady(recorded.body), steady(JSON.parse(JSON.stringify(facts.body))));
  return found === undefined ? undefined : describeDifference(found);
}
