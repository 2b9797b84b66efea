import type { ServerResponse } from 'node:http';

/** Ends a request with an error in the format of the model APIs, which every agent can show. */
export function sendError(res: ServerResponse, status: number, message: string): void {
  if (res.headersSent || res.destroyed) {
    res.destroy();
    return;
  }
  res.writeHead(status, { 'content-type': 'application/json' });
  res.end(errorBody(message));
}

export function errorBody(message: string): string {
  return JSON.stringify({ type: 'error', error: { message, type: 'halo_gateway', code: null, param: null } });
}

/** Ends a proxy request with a reason in plain text. */
export function sendText(res: ServerResponse, status: number, reason: string): void {
  if (res.headersSent || res.destroyed) {
    res.destroy();
    return;
  }
  res.writeHead(status, { 'content-type': 'text/plain; charset=utf-8', connection: 'close' });
  res.end(`${reason}\n`);
}
