import type { IncomingHttpHeaders } from 'node:http';
import { createCassette, type Exchange } from './cassette.ts';
import type { RequestLog } from '../request-log.ts';
import type { ModelApi } from '../../core/agent.ts';
import type { Masker } from '../../lib/secrets/masker.ts';
import type { ModelRequest } from '../model/model-route.ts';
import { errorCode } from '../network-error.ts';
import { fingerprintRequest } from './request-fingerprint.ts';
import { createStreamTiming } from './stream-timing.ts';

const MAX_BODY = 64 * 1024 * 1024;
const KEPT_HEADERS = ['content-type', 'retry-after'];

/** Records one exchange while its response is streamed. */
export interface ExchangeRecording {
  start(status: number, headers: IncomingHttpHeaders): void;
  push(chunk: Buffer): void;
  /** Writes the exchange, unless no response had started. */
  end(complete: boolean): Promise<void>;
}

export interface CassetteRecorder {
  begin(request: ModelRequest): ExchangeRecording;
  close(): Promise<void>;
}

/** Records to a new cassette at `path`. Later write errors are reported as problems of the gateway. Throws DISK_FAILED. */
export async function createCassetteRecorder(
  { path, api, masker, timed }: { path: string; api: ModelApi; masker: Masker; timed: boolean },
  log: RequestLog,
): Promise<CassetteRecorder> {
  const cassette = await createCassette(path, { api });
  let count = 0;
  const orReport = async (writing: Promise<void>) => {
    try {
      await writing;
    } catch (error) {
      const sentence = `The cassette ${path} could not be written (${errorCode(error) ?? 'unknown'}).`;
      log.reportProblem({ sentence }, 'lasting');
    }
  };
  return {
    close: () => orReport(cassette.close()),
    begin(request) {
      const seq = ++count;
      const facts = {
        method: request.operation.method,
        path: request.operation.path,
        ...fingerprintRequest(request, masker),
      };
      const pace = timed ? createStreamTiming(() => performance.now()) : undefined;
      const chunks: Buffer[] = [];
      let size = 0;
      let response: Omit<Exchange['response'], 'body' | 'complete' | 'times'> | undefined;
      return {
        start(status, headers) {
          response = { status, headers: keptHeaders(headers) };
        },
        push(chunk) {
          size += chunk.length;
          pace?.note(size);
          if (size <= MAX_BODY) chunks.push(Buffer.from(chunk));
        },
        async end(complete) {
          if (response === undefined) return;
          if (size > MAX_BODY) {
            const sentence = `Request ${seq} could not be recorded: its response is larger than ${MAX_BODY} bytes.`;
            log.reportProblem({ sentence }, 'lasting');
            return;
          }
          const bytes = Buffer.concat(chunks);
          const times = pace === undefined ? {} : { times: pace.times(bytes) };
          const body = masker.text(bytes.toString('utf8'));
          await orReport(cassette.write({ seq, request: facts, response: { ...response, body, complete, ...times } }));
        },
      };
    },
  };
}

function keptHeaders(headers: IncomingHttpHeaders): Record<string, string> {
  return Object.fromEntries(
    KEPT_HEADERS.flatMap((name) => {
      const value = headers[name];
      return typeof value === 'string' ? [[name, value]] : [];
    }),
  );
}
