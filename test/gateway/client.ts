import { request, type IncomingHttpHeaders, type IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { text } from 'node:stream/consumers';

import { TOKEN } from './fixture.ts';

export interface Asked {
  method?: string;
  path?: string;
  headers?: Record<string, string>;
  body?: unknown;
}

export interface Answer {
  status: number;
  headers: IncomingHttpHeaders;
  /** Status, headers and body as one text, to search for what must not be there. */
  all: string;
  body: string;
}

/** Sends one request to a gateway's socket and reads the answer whole; a JSON model request when nothing else is said. */
export async function ask(socketPath: string, asked: Asked = {}): Promise<Answer> {
  const res = await open(socketPath, asked);
  const body = await text(res);
  const all = `${res.statusCode} ${res.statusMessage} ${res.rawHeaders.join(' ')}\n${body}`;
  return { status: res.statusCode ?? 0, headers: res.headers, all, body };
}

/** The same, up to the headers. */
export function open(socketPath: string, asked: Asked = {}): Promise<IncomingMessage> {
  const { method = 'POST', path = '/v1/responses' } = asked;
  const headers = { authorization: `Bearer ${TOKEN}`, ...asked.headers };
  const body = 'body' in asked ? asked.body : { model: 'm', stream: true, input: [] };
  return new Promise((resolve, reject) => {
    const outgoing = request({ socketPath, method, path, headers, agent: false }, resolve);
    outgoing.on('error', reject);
    outgoing.end(body === undefined ? undefined : typeof body === 'string' ? body : JSON.stringify(body));
  });
}

/** Asks for a tunnel; the socket gives what follows the headers. */
export function connectTo(socketPath: string, target: string): Promise<{ status: number; socket: Socket }> {
  return new Promise((resolve, reject) => {
    const outgoing = request({ socketPath, method: 'CONNECT', path: target, agent: false });
    outgoing.on('error', reject);
    outgoing.on('connect', (res, socket: Socket, head: Buffer) => {
      socket.unshift(head);
      resolve({ status: res.statusCode ?? 0, socket });
    });
    outgoing.end();
  });
}
