import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** One answer of a forge, as its API reference documents it. */
export interface RecordedAnswer {
  /** `GET /path?query`. */
  request: string;
  status: number;
  /** `{now}` in a value is the time in seconds. */
  headers?: Record<string, string>;
  /** The body that the request must have. */
  sent?: unknown;
  /** JSON, or text of another type. */
  body?: unknown;
}

export interface ReplayForge {
  url: string;
  /** `GET /path?query status` of each request. */
  log: string[];
  close(): Promise<void>;
}

/**
 * A forge with real HTTP on this machine that has only these answers: those of one request in their order, the last one
 * again and again. It answers 599 to any other request.
 */
export async function openReplayForge(answers: readonly RecordedAnswer[]): Promise<ReplayForge> {
  const log: string[] = [];
  const left = [...answers];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const name = `${request.method} ${request.url}`;
      const text = Buffer.concat(chunks).toString('utf8');
      const sent = text === '' ? undefined : JSON.stringify(JSON.parse(text));
      const fits = (each: RecordedAnswer) => each.request === name && JSON.stringify(each.sent) === sent;
      const index = left.findIndex(fits);
      const answer = left[index];
      if (answer !== undefined && left.filter(fits).length > 1) left.splice(index, 1);
      log.push(`${name} ${answer?.status ?? 599}`);
      if (answer === undefined) return response.writeHead(599).end(`{"message":${JSON.stringify(`${name} ${sent}`)}}`);
      const now = String(Math.ceil(Date.now() / 1000));
      const headers = Object.entries(answer.headers ?? {}).map(([key, value]) => [key, value.replace('{now}', now)]);
      response.writeHead(answer.status, Object.fromEntries(headers) as Record<string, string>);
      response.end(typeof answer.body === 'string' ? answer.body : JSON.stringify(answer.body));
    });
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    log,
    async close() {
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    },
  };
}
