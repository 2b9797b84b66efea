import { NO_USAGE } from '../../core/agent.ts';
import { parseForeignJson } from '../../lib/parse-json.ts';
import type { ModelOperation } from '../model/model-operations.ts';
import { createUsageReader, type Told, type UsageReader } from './read-usage.ts';

/** A longer line or body is not metered: nothing may make the gateway buffer without end. */
const MAX_BUFFER = 16 * 1024 * 1024;

/** Reads the tokens that a response used while its bytes pass by. */
export interface Meter {
  push(chunk: Buffer): void;
  /** The fewest tokens that the answer has so far: a stream has at most one event for each. */
  outputSoFar(): number;
  /** Tokens seen, as one request; call it once, at the end. */
  end(): Told;
}

const NOTHING_TOLD: Told = { usage: { ...NO_USAGE, requests: 1 }, last: false };

/** An event that brings a piece of the answer, in each of the APIs. */
const DELTA = /"(?:[a-z_.]*\.delta|content_block_delta|delta)"/;

/** Of an event stream only the current line is kept, of a JSON body the whole. */
export function createMeter(answers: ModelOperation['answers'], contentType: string): Meter {
  const reader = createUsageReader(answers);
  return contentType.includes('text/event-stream') ? meterStream(reader) : meterDocument(reader);
}

function meterStream(reader: UsageReader): Meter {
  let told = NOTHING_TOLD;
  let deltas = 0;
  const line = createBuffer();
  const endLine = () => {
    const text = line.take();
    if (text?.startsWith('data:') !== true) return;
    if (DELTA.test(text)) deltas += 1;
    if (text.includes('"usage')) told = reader.event(parseForeignJson(text.slice(5))) ?? told;
  };
  return {
    push(chunk) {
      let from = 0;
      for (let at = chunk.indexOf(10); at >= 0; at = chunk.indexOf(10, from)) {
        line.add(chunk.subarray(from, at));
        endLine();
        from = at + 1;
      }
      line.add(chunk.subarray(from));
    },
    outputSoFar: () => Math.max(deltas, told.usage.outputTokens),
    end() {
      endLine();
      return told;
    },
  };
}

function meterDocument(reader: UsageReader): Meter {
  const body = createBuffer();
  return {
    push: (chunk) => body.add(chunk),
    outputSoFar: () => 0,
    end: () => reader.document(parseForeignJson(body.take() ?? '')) ?? NOTHING_TOLD,
  };
}

/** Collects up to MAX_BUFFER bytes; `take` empties it, and gives undefined when there were more. */
function createBuffer() {
  let chunks: Buffer[] = [];
  let size = 0;
  return {
    add(chunk: Buffer) {
      size += chunk.length;
      if (size > MAX_BUFFER) chunks = [];
      else if (chunk.length > 0) chunks.push(chunk);
    },
    take(): string | undefined {
      const text = size > MAX_BUFFER ? undefined : Buffer.concat(chunks).toString('utf8');
      chunks = [];
      size = 0;
      return text;
    },
  };
}
