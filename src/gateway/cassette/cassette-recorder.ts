import type { IncomingHttpHeaders } from 'node:http';
import type { ModelApi } from '../../core/agent.ts';
import type { Masker } from '../../lib/secrets/masker.ts';
import { errorCode } from '../error-responses.ts';
import type { ModelRequest } from '../model/model-route.ts';
import type { RequestLog } from '../request-log.ts';
import { createCassette, type CassetteMessage, type CassetteWriter, type Exchange } from './cassette.ts';
import { fingerprintRequest } from './request-fingerprint.ts';

const MAX_BODY = 64 * 1024 * 1024;
const KEPT_HEADERS = ['content-type', 'retry-after'];

interface RecorderParts {
  path: string;
  masker: Masker;
  /** Whether to record the times of the events of a stream. */
  timed: boolean;
  log: RequestLog;
}

/** Records to a new cassette at `path`. Later write errors are reported as problems of the gateway. Throws DISK_FAILED. */
export async function createCassetteRecorder({
  api,
  ...parts
}: RecorderParts & { api: ModelApi }): Promise<CassetteRecorder> {
  return new CassetteRecorder(await createCassette(parts.path, { api }), parts);
}

class CassetteRecorder {
  private readonly cassette: CassetteWriter;
  private readonly parts: RecorderParts;
  private count = 0;
  /** The texts of all messages, as in the JSON of a request. */
  private readonly needles: string[] = [];
  /** Messages that no request had so far. `nth`: a request with the message has its text so often. */
  private outstanding: { message: Omit<CassetteMessage, 'after'>; needle: string; nth: number }[] = [];

  constructor(cassette: CassetteWriter, parts: RecorderParts) {
    this.cassette = cassette;
    this.parts = parts;
  }

  /** The agent got a message; the next request that contains `sent` decides where it is in the cassette. */
  expect(message: Omit<CassetteMessage, 'after'>, sent: string): void {
    const needle = JSON.stringify(sent.trim()).slice(1, -1);
    this.needles.push(needle);
    this.outstanding.push({ message, needle, nth: this.needles.filter((each) => each === needle).length });
  }

  begin(request: ModelRequest): ExchangeRecording {
    if (this.outstanding.length > 0) this.findMessages(JSON.stringify(request.body));
    const { masker, timed } = this.parts;
    const { method, path } = request.operation;
    const facts = { method, path, ...fingerprintRequest(request, masker) };
    return new ExchangeRecording(this, { seq: ++this.count, request: facts, masker, timed });
  }

  private findMessages(body: string): void {
    const found = this.outstanding.filter(({ needle, nth }) => body.split(needle, nth + 1).length > nth);
    this.outstanding = this.outstanding.filter((each) => !found.includes(each));
    for (const { message } of found) {
      const text = this.parts.masker.text(message.text);
      void this.orReport(this.cassette.write({ message: { ...message, text, after: this.count } }));
    }
  }

  write(exchange: Exchange): Promise<void> {
    return this.orReport(this.cassette.write(exchange));
  }

  close(): Promise<void> {
    return this.orReport(this.cassette.close());
  }

  /** Reports a problem that concerns the cassette. */
  report(sentence: string): void {
    this.parts.log.reportProblem({ sentence }, 'lasting');
  }

  private async orReport(writing: Promise<void>): Promise<void> {
    try {
      await writing;
    } catch (error) {
      this.report(`The cassette ${this.parts.path} could not be written (${errorCode(error) ?? 'unknown'}).`);
    }
  }
}

interface ExchangeFacts extends Pick<Exchange, 'seq' | 'request'>, Pick<RecorderParts, 'masker' | 'timed'> {}

/** Records one exchange while its response is streamed. */
export class ExchangeRecording {
  private readonly recorder: CassetteRecorder;
  private readonly facts: ExchangeFacts;
  private readonly timing: StreamTiming | undefined;
  private readonly chunks: Buffer[] = [];
  private size = 0;
  private response: Pick<Exchange['response'], 'status' | 'headers'> | undefined;

  constructor(recorder: CassetteRecorder, facts: ExchangeFacts) {
    this.recorder = recorder;
    this.facts = facts;
    this.timing = facts.timed ? createStreamTiming(() => performance.now()) : undefined;
  }

  start(status: number, headers: IncomingHttpHeaders): void {
    this.response = { status, headers: keptHeaders(headers) };
  }

  push(chunk: Buffer): void {
    this.size += chunk.length;
    this.timing?.note(this.size);
    if (this.size <= MAX_BODY) this.chunks.push(Buffer.from(chunk));
  }

  /** Writes the exchange, unless no response had started. */
  async end(complete: boolean): Promise<void> {
    const { seq, request, masker } = this.facts;
    if (this.response === undefined) return;
    if (this.size > MAX_BODY) {
      this.recorder.report(`Request ${seq} could not be recorded: its response is larger than ${MAX_BODY} bytes.`);
      return;
    }
    const bytes = Buffer.concat(this.chunks);
    const times = this.timing === undefined ? {} : { times: this.timing.times(bytes) };
    const body = masker.text(bytes.toString('utf8'));
    await this.recorder.write({ seq, request, response: { ...this.response, body, complete, ...times } });
  }
}

function keptHeaders(headers: IncomingHttpHeaders): Record<string, string> {
  return Object.fromEntries(
    KEPT_HEADERS.flatMap((name) => {
      const value = headers[name];
      return typeof value === 'string' ? [[name, value]] : [];
    }),
  );
}

/** The timing of a streamed response, recorded while it arrives. */
interface StreamTiming {
  /** Records the time at which the response had this many bytes in total. */
  note(bytes: number): void;
  /** For each event of the body, in order, the ms between the request and the end of the event. */
  times(body: Buffer): number[];
}

/** `now` returns ms. */
function createStreamTiming(now: () => number): StreamTiming {
  const begun = now();
  const marks: { bytes: number; ms: number }[] = [];
  return {
    note: (bytes) => marks.push({ bytes, ms: Math.round(now() - begun) }),
    times(body) {
      let end = 0;
      let at = 0;
      return splitEvents(body.toString('latin1')).map((event) => {
        end += event.length;
        while (at < marks.length - 1 && (marks[at]?.bytes ?? 0) < end) at += 1;
        return marks[at]?.ms ?? 0;
      });
    },
  };
}

/** Splits a stream into events, each with its terminating empty line. A document is one event. */
export function splitEvents(body: string): string[] {
  return body.split(/(?<=\n\r?\n)/);
}
