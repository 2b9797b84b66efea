import { basename } from 'node:path';
import { answerError } from './answers.ts';
import { readCassette, type Exchange } from './cassette.ts';
import type { Ledger } from './ledger.ts';
import { createMeter } from './meter.ts';
import { MODEL_METHOD, MODEL_PATH, type ModelHandler, type ModelRequest } from './model-route.ts';
import { requestFacts } from './normalise.ts';

/**
 * Answers from a cassette, the n-th request with the n-th exchange. After the first mismatch everything is refused:
 * an agent that tries again must not reach later answers. Throws CASSETTE_MISSING.
 */
export async function createReplay(cassette: string, ledger: Ledger): Promise<ModelHandler> {
  const exchanges = await readCassette(cassette);
  const name = basename(cassette);
  let count = 0;
  let mismatch: string | undefined;
  return {
    close: () => Promise.resolve(),
    answer(request, res) {
      const exchange = exchanges[count];
      count += 1;
      mismatch ??= findMismatch(request, exchange, { name, count, total: exchanges.length });
      if (mismatch !== undefined || exchange === undefined) {
        const sentence = mismatch ?? 'Replay: nothing is left to answer with.';
        ledger.reportProblem(sentence, 'lasting');
        ledger.record({ method: MODEL_METHOD, target: MODEL_PATH, outcome: 'failed', status: 400 });
        answerError(res, 400, sentence);
        return Promise.resolve();
      }
      const { status, headers, body, complete } = exchange.response;
      const meter = createMeter(headers['content-type'] ?? '');
      meter.push(Buffer.from(body));
      ledger.addUsage(meter.end());
      ledger.record({ method: MODEL_METHOD, target: MODEL_PATH, outcome: 'served', status });
      res.writeHead(status, headers);
      if (complete) res.end(body);
      else res.write(body, () => res.destroy());
      return Promise.resolve();
    },
  };
}

interface Place {
  name: string;
  count: number;
  total: number;
}

function findMismatch(request: ModelRequest, exchange: Exchange | undefined, place: Place): string | undefined {
  const { name, count, total } = place;
  if (exchange === undefined)
    return `Replay: the agent makes request ${count}, but the cassette ${name} holds only ${total}.`;
  const { method, path, model, toolResults } = exchange.request;
  if (method !== MODEL_METHOD || path !== MODEL_PATH)
    return `Replay: request ${count} is ${MODEL_METHOD} ${MODEL_PATH}, but the cassette ${name} has ${method} ${path} there.`;
  const facts = requestFacts(request);
  if (facts.model !== model)
    return `Replay: request ${count} asks for the model "${facts.model}", but the cassette ${name} was recorded with "${model}".`;
  if (facts.toolResults !== toolResults)
    return `Replay: request ${count} carries ${facts.toolResults} tool results, but the cassette ${name} has ${toolResults} there.`;
  return undefined;
}
