import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyError } from 'fastify';
import { ERRORS, HaloError, toHaloError } from '../../core/failure/errors.ts';
import type { StopReason } from '../../core/failure/stop-reason.ts';
import { WRONG_PLACE } from './request-credential.ts';

/** What fastify refuses by itself, such as a body that is too large, is bad usage. */
export function fromFastify(error: FastifyError | HaloError): HaloError {
  if (error instanceof HaloError) return error;
  if (error.statusCode !== undefined && error.statusCode < 500) return new HaloError('USAGE', error.message);
  return toHaloError(error);
}

/** The HTTP status for an error. */
export function statusOf({ code, cause }: HaloError): number {
  switch (code) {
    case 'USAGE':
      return 400;
    case 'API_REFUSED':
      return cause === WRONG_PLACE ? 403 : 401;
    case 'ACCESS_DENIED':
      return 403;
    case 'TOO_MANY_REQUESTS':
      return 429;
    case 'USER_UNKNOWN':
    case 'RUN_NOT_FOUND':
    case 'STORY_NOT_FOUND':
    case 'ARTIFACT_UNREADABLE':
      return 404;
    case 'LAND_REFUSED':
    case 'UNCONFIRMED':
    case 'CONTROL_REFUSED':
    case 'CONFLICT':
    case 'DIRTY_WORKTREE':
      return 409;
    default:
      return statusOfReason(ERRORS[code]);
  }
}

function statusOfReason(reason: StopReason | undefined): number {
  if (reason === 'MISSING_DEPENDENCY') return 503;
  return reason === 'INFRASTRUCTURE' || reason === 'UNKNOWN_ERROR' ? 500 : 422;
}

type Broken = Error & { code?: string };

/**
 * Answers what is not a complete request. A program on another port of this machine can set cookies that are too large for
 * any request; with `clearsCookies`, the browser drops them, so that the next request succeeds.
 */
export function answerBrokenRequest({ clearsCookies }: { clearsCookies: boolean }) {
  return (error: Broken, socket: Socket): void => {
    if (error.code === 'ECONNRESET' || socket.destroyed) return;
    const status = brokenStatus(error);
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

function brokenStatus({ code }: Broken): number {
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return 408;
  return code === 'HPE_HEADER_OVERFLOW' ? 431 : 400;
}
