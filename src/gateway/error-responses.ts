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

const MEANINGS: Record<string, string> = {
  ECONNREFUSED: 'the connection was refused',
  ECONNRESET: 'the connection was reset',
  ENOTFOUND: 'its host name does not exist',
  EAI_AGAIN: 'its host name could not be resolved',
  ETIMEDOUT: 'it did not answer in time',
  EHOSTUNREACH: 'no route leads to it',
  ENETUNREACH: 'no route leads to it',
  EPROTO: 'its response is not valid HTTP',
};

/** Describes why a connection failed, as the end of a sentence: "the connection was refused (ECONNREFUSED)". */
export function describeNetworkError(error: unknown): string {
  const code = errorCode(error);
  if (code === undefined) return 'the connection failed';
  if (code === 'EPROXY') return (error as Error).message;
  const words =
    MEANINGS[code] ?? (/CERT|TLS|SSL|SIGNATURE|ISSUER/.test(code) ? 'its certificate is not trusted' : undefined);
  return `${words ?? 'the connection failed'} (${code})`;
}

/** Whether a connection failed before any part of the request was sent. */
export function failedBeforeSending(error: unknown): boolean {
  const code = errorCode(error) ?? '';
  return code === 'EPROXY' || (!['ECONNRESET', 'ETIMEDOUT', 'EPROTO'].includes(code) && code in MEANINGS);
}

export function errorCode(error: unknown): string | undefined {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === 'string' ? code : undefined;
}
