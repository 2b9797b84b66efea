import { NO_USAGE } from '../../core/agent.ts';
import { parseUntrustedJson } from '../../lib/parse-json.ts';
import type { ModelOperation } from '../model/model-operations.ts';
import { createUsageReader, type UsageReport, type UsageReader } from './read-usage.ts';

/** A longer line or body is not metered, which limits the memory of the gateway. */
const MAX_BUFFER = 16 * 1024 * 1024;

/** Reads the token usage of a response while it is streamed. */
export interface TokenMeter {
  push(chunk: Buffer): void;
  /** The minimum output tokens so far: a stream has at most one event per token. */
  outputSoFar(): number;
  /** The usage as one request. Call it once, at the end. */
  end(): UsageReport;
}

const NOTHING_REPORTED: UsageReport = { usage: { ...NO_USAGE, requests: 1 }, last: false };

/** A stream event with output, in each of the APIs. */
const DELTA = /"(?:[a-z_.]*\.delta|content_block_delta|delta)"/;

/** Creates a meter. It buffers the current line of an event stream, or a whole JSON body. */
export function createTokenMeter(format: ModelOperation['responseFormat'], contentType: string): TokenMeter {
  const reader = createUsageReader(format);
  return contentType.includes('text/event-stream') ? meterStream(reader) : meterDocument(reader);
}

function meterStream(reader: UsageReader): TokenMeter {
  let reported = NOTHING_REPORTED;
  let deltas = 0;
  const line = createBuffer();
  const endLine = () => {
    const text = line.recording();
    if (text?.startsWith('data:') !== true) return;
    if (DELTA.test(text)) deltas += 1;
    if (text.includes('"usage')) reported = reader.event(parseUntrustedJson(text.slice(5))) ?? reported;
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
    outputSoFar: () => Math.max(deltas, reported.usage.outputTokens),
    end() {
      endLine();
      return reported;
    },
  };
}

function meterDocument(reader: UsageReader): TokenMeter {
  const body = createBuffer();
  return {
    push: (chunk) => body.add(chunk),
    outputSoFar: () => 0,
    end: () => reader.document(parseUntrustedJson(body.recording() ?? '')) ?? NOTHING_REPORTED,
  };
}

/** Collects up to MAX_BUFFER bytes; `take` empties it and returns undefined when there were more. */
function createBuffer() {
  let chunks: Buffer[] = [];
  let size = 0;
  return {
    add(chunk: Buffer) {
      size += chunk.length;
      if (size > MAX_BUFFER) chunks = [];
      else if (chunk.length > 0) chunks.push(chunk);
    },
    recording(): string | undefined {
      const text = size > MAX_BUFFER ? undefined : Buffer.concat(chunks).toString('utf8');
      chunks = [];
      size = 0;
      return text;
    },
  };
}
