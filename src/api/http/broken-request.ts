import type { Socket } from 'node:net';
import { STATUS_CODES } from 'node:http';

type Broken = Error & { code?: string };

/**
 * Answers what is not a complete request. A program on another port of this machine can set cookies that are too large for
 * any request; with `clearsCookies`, the browser drops them, so that the next request succeeds.
 */
export function answerBrokenRequest({ clearsCookies }: { clearsCookies: boolean }) {
  return (error: Broken, socket: Socket): void => {
    if (error.code === 'ECONNRESET' || socket.destroyed) return;
    const status = statusOf(error);
    const isCleared = status === 431 && clearsCookies;
    const message = isCleared
      ? 'The cookies of this address were too large for the server. Load the page again, and sign in.'
      : `The server did not understand the request: ${STATUS_CODES[status]}.`;
    const body = `${JSON.stringify({ code: 'USAGE', message })}\n`;
    const head = [
      `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
      'content-type: application/json',
      `content-length: ${Buffer.byteLength(body)}`,
      'connection: close',
      ...(isCleared ? ['clear-site-data: "cookies"'] : []),
    ];
    if (socket.writable) socket.write(`${head.join('\r\n')}\r\n\r\n${body}`);
    socket.destroy(error);
  };
}

function statusOf({ code }: Broken): number {
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return 408;
  return code === 'HPE_HEADER_OVERFLOW' ? 431 : 400;
}
